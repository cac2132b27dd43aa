"""The scripted model and the replaying wrapper obey the contract of a model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.agents.models import (
    Constraint,
    Message,
    Reply,
    Request,
    ScriptedModel,
    Tool,
    ToolCall,
    Usage,
    describe_models,
    make_model,
    request_hash,
)
from trialogue.agents.models.scripted import Scripted
from trialogue.errors import ContextOverflow, ModelError, UsageError


def echo(request: Request) -> Scripted:
    return f"> {request.prompt}" if isinstance(request.prompt, str) else None


async def test_replies_come_in_order_and_run_out_with_a_name() -> None:
    model = ScriptedModel(["look", None, Reply("x", "length", Usage(1, 2, 3), retries=2), ContextOverflow("full")])
    assert (await model.generate(Request("a b c"))) == Reply("look", usage=Usage(prompt=3, completion=1))
    assert (await model.generate(Request("a"))).text == ""
    assert (await model.generate(Request("a"))).usage.cached == 3
    with pytest.raises(ContextOverflow, match="full"):
        await model.generate(Request("a"))
    with pytest.raises(ModelError, match=r"request 5 came after the last of 4 replies.*the end of it") as caught:
        await model.generate(Request("the end of it"))
    assert caught.value.kind == "script"


async def test_a_mapping_answers_the_end_of_the_prompt() -> None:
    model = ScriptedModel({r"desk \d+\.\n>": "open desk 1", ">": "look"}, style="chat")
    asked = Request((Message("system", ">"), Message("user", "You are at desk 1.\n>")))
    assert (await model.generate(asked)).text == "open desk 1"
    assert (await model.generate(Request((Message("user", "desk 1.\n> x\n>"),)))).text == "look"
    with pytest.raises(ModelError, match="no pattern matches the end of request 3") as caught:
        await model.generate(Request((Message("user", "> end"),)))
    assert caught.value.kind == "script"


async def test_text_is_cut_at_stops_and_a_whole_reply_is_not() -> None:
    model = ScriptedModel(["look\n> go", Reply("look\n> go")])
    request = Request("a", stop=("\n", "k"))
    assert [(await model.generate(request)).text for _ in range(2)] == ["loo", "look\n> go"]


async def test_a_function_of_the_request_gives_the_same_at_any_concurrency() -> None:
    async def later(request: Request) -> Scripted:
        await asyncio.sleep(0.001 * (len(str(request.prompt)) % 7))
        return echo(request)

    model = ScriptedModel(later)
    prompts = ["x" * size for size in range(30)]
    replies = await asyncio.gather(*(model.generate(Request(prompt)) for prompt in prompts))
    assert [reply.text for reply in replies] == [f"> {prompt}" for prompt in prompts]


async def test_latency_is_waited() -> None:
    started = time.monotonic()
    await ScriptedModel(["x"], latency_s=0.05).generate(Request("a"))
    assert time.monotonic() - started >= 0.05


async def test_constraints_are_enforced_and_need_permission() -> None:
    constraint = Constraint(("look",), "think: ")
    model = ScriptedModel([" look", "think: where?", "dance"], can_constrain=True)
    assert (await model.generate(Request("a", constraint=constraint))).text == " look"
    assert (await model.generate(Request("a", constraint=constraint))).text == "think: where?"
    with pytest.raises(ModelError, match="'dance' is not allowed"):
        await model.generate(Request("a", constraint=constraint))
    with pytest.raises(UsageError, match="can_constrain"):
        await ScriptedModel(["look"]).generate(Request("a", constraint=constraint))
    with pytest.raises(UsageError, match="at least one choice"):
        await model.generate(Request("a", constraint=Constraint(())))


async def test_scripted_calls_come_as_they_are() -> None:
    call = ToolCall("call_1", "look", "{}")
    model = ScriptedModel([Reply("", "tool_calls", calls=(call,))], style="chat", can_call_tools=True)
    asked = Request((Message("user", "?"),), tools=(Tool("look", "look", ()),))
    assert (await model.generate(asked)).calls == (call,)
    assert model.conditions()["can_call_tools"] is True
    with pytest.raises(UsageError, match="tool calls need style 'chat'"):
        ScriptedModel([], can_call_tools=True)


async def test_the_wrong_kind_of_prompt_is_refused() -> None:
    with pytest.raises(UsageError, match="style 'chat'; got str as its prompt"):
        await ScriptedModel(["x"], style="chat").generate(Request("a"))


def test_a_script_by_name() -> None:
    model = make_model("scripted:string:__all__", style="chat")
    assert (model.name, model.style, model.can_constrain) == ("scripted:string:__all__", "chat", False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scripted:nowhere_at_all:x", "cannot be imported"),
        ("scripted:string:nothing", "has no 'nothing'"),
        ("scripted:string", "package.module:attribute"),
        ("scripted:string:digits", "a script is a sequence, a mapping or a function; got str"),
    ],
)
def test_a_script_that_is_not_there(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_model(name)


def test_every_provider_is_listed_with_settings() -> None:
    assert [info.name.partition(":")[0] for info in describe_models()] == ["openai", "local", "scripted", "human"]
    assert all(info.summary for info in describe_models())


def test_importing_models_is_light() -> None:
    code = "import sys, trialogue.agents.models; print([m for m in ('openai', 'xllamacpp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TEXTS = st.text(max_size=20)
CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)
MESSAGES = st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]), TEXTS, CALLS, st.just("") | TEXTS
)
REQUESTS = st.builds(
    Request,
    prompt=TEXTS | st.lists(MESSAGES, max_size=3).map(tuple),
    stop=st.lists(TEXTS, max_size=2).map(tuple),
    max_tokens=st.integers(1, 500),
    temperature=st.floats(0, 2),
    seed=st.none() | st.integers(0, 2**31),
    constraint=st.none() | st.builds(Constraint, st.lists(TEXTS, max_size=2).map(tuple), st.none() | TEXTS),
    tools=st.lists(st.builds(Tool, TEXTS, TEXTS, st.lists(TEXTS, max_size=2).map(tuple)), max_size=2).map(tuple),
)


@given(REQUESTS, REQUESTS)
def test_hashes_tell_requests_apart(one: Request, other: Request) -> None:
    assert request_hash(replace(one, temperature=1)) == request_hash(replace(one, temperature=1.0))
    assert (request_hash(one) == request_hash(other)) == (one == other)


def test_the_hash_is_the_same_on_every_machine() -> None:
    request = Request((Message("user", "é"),), ("\n",), 5, 0.5, 3, Constraint(("look",), "think: "))
    assert request_hash(request) == "9fa9d87473bff5f2a4fcb7a4a77960fce660eb0665765862a5f7ec9ec2edb06f"
