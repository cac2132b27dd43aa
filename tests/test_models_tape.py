"""The tape of an episode: stored replies first, by number, over all the models that it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from trialogue.agents.models import Reply, Request, ScriptedModel, Tape, Tool, ToolCall, request_hash
from trialogue.agents.models.contract import Message
from trialogue.errors import ContextOverflow, ModelError


@dataclass
class Shelf:
    """Where a tape keeps what it is told."""

    stored: dict[int, tuple[str, Reply]] = field(default_factory=dict)
    used: list[tuple[int, str]] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)

    def tape(self, stored: Mapping[int, tuple[str, Reply]] | None = None) -> Tape:
        return Tape(
            dict(self.stored) if stored is None else stored,
            on_new=self.keep,
            on_reply=lambda number, reply: self.used.append((number, reply.text)),
            on_stale=self.stale.append,
        )

    def keep(self, number: int, request: Request, reply: Reply) -> None:
        self.stored[number] = (request_hash(request), reply)


def kept(*prompts: str) -> dict[int, tuple[str, Reply]]:
    return {n: (request_hash(Request(prompt)), Reply(f"stored {prompt}")) for n, prompt in enumerate(prompts)}


async def test_stored_replies_come_first_and_new_ones_are_stored_before_use() -> None:
    inner, shelf = ScriptedModel(["third", "fourth"], can_constrain=True), Shelf()
    model = shelf.tape(kept("p0", "p1")).recorded(inner)
    texts = [(await model.generate(Request(f"p{n}"))).text for n in range(4)]
    assert texts == ["stored p0", "stored p1", "third", "fourth"]
    assert [(number, reply.text) for number, (_, reply) in shelf.stored.items()] == [(2, "third"), (3, "fourth")]
    assert shelf.used == list(enumerate(texts))
    assert len(inner.requests) == 2
    assert (model.name, model.style, model.can_constrain, model.can_call_tools) == (
        *(inner.name, inner.style, inner.can_constrain, inner.can_call_tools),
    )
    assert model.conditions() == inner.conditions()
    await model.close()


async def test_a_reply_that_cannot_be_stored_is_not_used() -> None:
    used: list[int] = []

    def full(number: int, request: Request, reply: Reply) -> None:
        raise OSError("disk full")

    tape = Tape({}, on_new=full, on_reply=lambda number, _: used.append(number), on_stale=used.append)
    with pytest.raises(OSError, match="disk full"):
        await tape.recorded(ScriptedModel(["x"])).generate(Request("a"))
    assert used == []


async def test_stored_replies_are_for_the_requests_that_they_answered() -> None:
    shelf = Shelf()
    model = shelf.tape(kept("a", "b", "c")).recorded(ScriptedModel(["new 1", "new 2"]))
    requests = [Request("a"), Request("b", temperature=0.5), Request("c")]
    assert [(await model.generate(request)).text for request in requests] == ["stored a", "new 1", "new 2"]
    assert (shelf.stale, list(shelf.stored)) == ([1], [1, 2])


async def test_two_models_share_one_numbering() -> None:
    shelf = Shelf()
    tape = shelf.tape()
    player, person = tape.recorded(ScriptedModel(["a", "c"])), tape.recorded(ScriptedModel(["b"]))
    for model in (player, person, player):
        await model.generate(Request("p"))
    again = shelf.tape()
    player, person = again.recorded(ScriptedModel([])), again.recorded(ScriptedModel([]))
    assert [(await model.generate(Request("p"))).text for model in (player, person, player)] == ["a", "b", "c"]


async def test_a_call_that_was_under_way_when_the_run_was_killed_is_asked_alone() -> None:
    shelf = Shelf()
    stored = kept("a", "b", "c")
    del stored[1]
    inner = ScriptedModel(["new b"])
    model = shelf.tape(stored).recorded(inner)
    assert [(await model.generate(Request(p))).text for p in "abc"] == ["stored a", "new b", "stored c"]
    assert (shelf.stale, len(inner.requests)) == ([], 1)


async def test_concurrent_calls_keep_the_numbers_of_their_starts() -> None:
    async def slower_first(request: Request) -> str:
        await asyncio.sleep(0.03 if request.seed == 0 else 0.0)
        return f"reply {request.seed}"

    shelf = Shelf()
    model = shelf.tape().recorded(ScriptedModel(slower_first))
    await asyncio.gather(*(model.generate(Request("p", seed=seed)) for seed in range(3)))
    assert {number: reply.text for number, (_, reply) in shelf.stored.items()} == {n: f"reply {n}" for n in range(3)}


async def test_sc_03_samples_of_one_prompt_differ_and_replay_in_their_order_without_a_call() -> None:
    requests = [Request("p", temperature=0.7, seed=seed) for seed in range(5)]
    shelf, inner = Shelf(), ScriptedModel(["a", "b", "a", "c", "a"])
    model = shelf.tape().recorded(inner)
    assert [r.text for r in await asyncio.gather(*map(model.generate, requests))] == ["a", "b", "a", "c", "a"]
    again = shelf.tape().recorded(ScriptedModel([]))
    assert [r.text for r in await asyncio.gather(*map(again.generate, requests))] == ["a", "b", "a", "c", "a"]
    assert len(inner.requests) == 5


async def test_that_a_prompt_was_too_long_is_stored_and_replayed() -> None:
    shelf = Shelf()
    model = shelf.tape().recorded(ScriptedModel([ContextOverflow("8192 tokens are all"), "shorter"]))
    with pytest.raises(ContextOverflow, match="8192 tokens are all"):
        await model.generate(Request("long"))
    assert (await model.generate(Request("short"))).text == "shorter"
    again = shelf.tape().recorded(ScriptedModel([]))
    with pytest.raises(ContextOverflow, match="8192 tokens are all"):
        await again.generate(Request("long"))
    assert (await again.generate(Request("short"))).text == "shorter"
    assert shelf.stored[0][1].finish_reason == "overflow"


async def test_other_errors_are_not_stored() -> None:
    shelf = Shelf()
    model = shelf.tape().recorded(ScriptedModel([ModelError("timeout", "no answer")]))
    with pytest.raises(ModelError, match="no answer"):
        await model.generate(Request("p"))
    assert shelf.stored == {}


def test_hashes_of_requests_without_tools_are_as_they_were_before_there_were_any() -> None:
    text = Request("a prompt\n>", ("\n",), 60, 0.0, 7)
    assert request_hash(text) == "7fdb060899fd6efa10fa171e101abefac02ee6cc33de48e4375dc1a332b25de9"
    chat = (Message("system", "You play."), Message("user", "Your task is to: look."))
    as_chat = Request(chat, ("\nObservation:",), 200, 0.7, 11)
    assert request_hash(as_chat) == "059feecc711b81dee176e8c7972a40c0b0718bf9cbff03260f202cb30dcd9004"
    call = ToolCall("call_1", "look", "{}")
    hashes = {
        request_hash(Request((Message("assistant", ""),))),
        request_hash(Request((Message("assistant", "", (call,)),))),
        request_hash(Request((Message("tool", "", call_id="call_1"),))),
        request_hash(Request((Message("assistant", ""),), tools=(Tool("look", "look", ()),))),
    }
    assert len(hashes) == 4
