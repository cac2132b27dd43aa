"""Act and ReAct from the prompt to the environment, with a scripted model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_house import ADMISSIBLE, EXEMPLARS, House, briefing, exemplars_for, play

from trialogue.agents import make_agent
from trialogue.agents.contract import Turn, View
from trialogue.agents.models.contract import Message, Reply, Request, ToolCall
from trialogue.agents.models.scripted import ScriptedModel
from trialogue.agents.notation import NotationName
from trialogue.agents.react import ReactAgent, call_seed
from trialogue.errors import ModelError, UsageError

Style = Literal["chat", "completion"]
TAKE = "take mug 1 from desk 1"


async def run(
    replies: Sequence[str | Reply],
    set_to: Mapping[str, Any] | None = None,
    *,
    name: str = "react",
    style: Style = "completion",
    can_constrain: bool = False,
    memory: tuple[str, ...] = (),
) -> tuple[House, list[Turn], list[Request]]:
    model = ScriptedModel(list(replies), style=style, can_constrain=can_constrain)
    agent = make_agent(name, model=model, settings=set_to or {}, exemplars_for=exemplars_for)
    house, turns = await play(agent, turns=_turns(replies, set_to or {}), told=briefing(memory))
    return house, turns, model.requests


def _turns(replies: Sequence[object], set_to: Mapping[str, Any]) -> int:
    calls = 1 + (set_to.get("thoughts") == "dense") + int(set_to.get("reask", 0))
    return -(-len(replies) // calls)


async def test_alf_14_thoughts_never_reach_the_environment() -> None:
    replies = [" think: where is it?", " go to desk 1", " think: not here.", " think: try the shelf.", " go to shelf 1"]
    house, turns, requests = await run(replies)
    assert house.moves == ["go to desk 1", "go to shelf 1"]
    assert [turn.kind for turn in turns] == ["thought", "action", "thought", "thought", "action"]
    assert str(requests[-1].prompt).endswith("> think: not here.\nOK.\n> think: try the shelf.\nOK.\n>")


async def test_parse_01_the_action_in_a_forced_thought_is_taken() -> None:
    house, turns, requests = await run(
        [" The mug has to be found first. Action: go to desk 1"], {"thoughts": "dense", "exemplars": 0}
    )
    assert house.moves == ["go to desk 1"]
    assert turns[0].thoughts == ("The mug has to be found first.",)
    assert len(requests) == 1


async def test_parse_01_an_unreadable_reply_is_a_turn_and_is_answered() -> None:
    house, turns, requests = await run([" I will look it up now.", " look"])
    assert [turn.kind for turn in turns] == ["unreadable", "action"]
    assert house.moves == ["look"]
    assert str(requests[1].prompt).endswith(f"> I will look it up now.\n{turns[0].problem}\n>")


async def test_parse_02_the_invented_episode_stays_out_of_the_history() -> None:
    reply = f"Thought: On the desk.\nAction: go to desk 1\nObservation: you see a cup 9.\nAction: {TAKE}\nAction: look"
    house, turns, requests = await run([reply, "look"], style="chat")
    assert house.moves == ["go to desk 1", "look"]
    assert turns[0].liberties[-1].after == "dropped, with 2 later actions"
    assert "cup 9" not in "".join(message.content for message in requests[1].prompt if isinstance(message, Message))
    assert turns[0].raw == (reply,)


async def test_dense_thinks_before_every_action_in_one_turn() -> None:
    house, turns, requests = await run([" To the desk.", " go to desk 1", " Here.", f" {TAKE}"], {"thoughts": "dense"})
    assert house.won
    assert [(turn.thoughts, turn.action) for turn in turns] == [
        (("To the desk.",), "go to desk 1"),
        (("Here.",), TAKE),
    ]
    assert [str(request.prompt).rpartition("\n")[2] for request in requests] == ["> think:", ">"] * 2
    assert turns[0].raw == (" To the desk.", " go to desk 1")


async def test_dense_in_chat_asks_for_the_thought_in_words() -> None:
    _, turns, requests = await run(["think: To the desk.", "go to desk 1"], {"thoughts": "dense"}, style="chat")
    assert (turns[0].thoughts, turns[0].action) == (("To the desk.",), "go to desk 1")
    asked, then = requests[0].prompt[-1], requests[1].prompt[-1]
    assert isinstance(asked, Message)
    assert 'begins with "think:"' in asked.content
    assert then == Message("user", "OK.")


async def test_dense_goes_on_to_the_action_when_no_thought_came() -> None:
    _, turns, requests = await run(["", " look"], {"thoughts": "dense"})
    assert (turns[0].kind, turns[0].action, turns[0].thoughts) == ("action", "look", ())
    assert [liberty.kind for liberty in turns[0].liberties] == ["thought_missing"]
    assert str(requests[1].prompt).endswith("> think:\nOK.\n>")


async def test_decision_points_think_only_when_something_happened() -> None:
    model = ScriptedModel([" Start.", " go to shelf 1", " look", " go to desk 1", " Found it.", f" {TAKE}"])
    # "look" repeats the first observation: no event. The desk shows the mug that the goal names.
    agent = make_agent("react", model=model, settings={"thoughts": "decision_points"}, exemplars_for=exemplars_for)
    house, turns = await play(agent, turns=10)
    assert house.won
    assert [turn.event for turn in turns] == ["start", "", "", "goal_object_seen"]
    assert [len(turn.raw) for turn in turns] == [2, 1, 1, 2]


async def test_act_shows_exemplars_without_thoughts_and_refuses_a_thought() -> None:
    house, turns, requests = await run([" think: hm", " look"], name="act")
    assert "think:" not in str(requests[0].prompt)
    assert [turn.kind for turn in turns] == ["unreadable", "action"]
    assert turns[0].thoughts == ("hm",)
    assert [liberty.kind for liberty in turns[0].liberties] == ["thought_unasked"]
    assert "command is due" in turns[0].problem
    assert house.moves == ["look"]


async def test_act_takes_the_action_beside_a_thought_and_forgets_the_thought() -> None:
    _, turns, requests = await run(["think: hm\ngo to desk 1", "look"], name="act", style="chat")
    assert (turns[0].kind, turns[0].action, turns[0].thoughts) == ("action", "go to desk 1", ("hm",))
    assert [liberty.kind for liberty in turns[0].liberties] == ["thought_unasked"]
    assert requests[1].prompt[-2] == Message("assistant", "go to desk 1")


async def test_a_command_is_due_after_a_thought_or_a_miss_where_both_are_one_turn() -> None:
    replies = ["Thought 1: hm", " look", "nothing to read here, I fear", " look"]
    _, turns, requests = await run(replies, {"notation": "labelled", "exemplars": 0})
    assert [turn.kind for turn in turns] == ["thought", "action", "unreadable", "action"]
    ends = [str(request.prompt).rpartition("\n")[2] for request in requests]
    assert ends == ["", "Action 1:", "", "Action 2:"]


async def test_thoughts_in_a_row_are_limited() -> None:
    replies = [" think: a", " think: b", " think: c", " look", " think: d"]
    house, turns, _ = await run(replies, {"max_thoughts_in_a_row": 2})
    assert [turn.kind for turn in turns] == ["thought", "thought", "unreadable", "action", "thought"]
    assert house.moves == ["look"]


async def test_constrained_decoding_offers_admissible_commands_and_thoughts_up_to_their_limit() -> None:
    replies = ["think: a", "think: b", "look"]
    _, turns, requests = await run(replies, {"constrained": True, "max_thoughts_in_a_row": 2}, can_constrain=True)
    constraints = [request.constraint for request in requests]
    assert [c.free_prefix for c in constraints if c] == ["think: ", "think: ", None]
    assert all(c is not None and c.choices == ADMISSIBLE for c in constraints)
    assert [turn.kind for turn in turns] == ["thought", "thought", "action"]


async def test_constrained_takes_no_action_out_of_a_free_thought() -> None:
    replies = [" Hm. Action: go to moon 1", "look"]
    house, turns, requests = await run(replies, {"constrained": True, "thoughts": "dense"}, can_constrain=True)
    assert house.moves == ["look"]
    assert [request.constraint is None for request in requests] == [True, False]
    assert "unconstrained_action" in [liberty.kind for liberty in turns[0].liberties]


@pytest.mark.parametrize("style", ["chat", "completion"])
@pytest.mark.parametrize("notation", ["arrow", "labelled"])
@pytest.mark.parametrize("thoughts", ["none", "sparse", "dense", "decision_points"])
async def test_constrained_decoding_in_every_placement(thoughts: str, notation: str, style: Style) -> None:
    """Thoughts are free where they are due, commands are not; what is decoded is done and told."""

    def script(request: Request) -> str:
        if request.constraint is None:
            return "On the desk, maybe."
        return next(choice for choice in request.constraint.choices if choice.endswith("go to desk 1"))

    model = ScriptedModel(script, style=style, can_constrain=True)
    set_to = {"constrained": True, "thoughts": thoughts, "notation": notation, "patience": 9}
    agent = make_agent("react", model=model, settings=set_to, exemplars_for=exemplars_for)
    house, turns = await play(agent, turns=2)
    assert house.moves == ["go to desk 1"] * 2
    due = {"none": 0, "sparse": 0, "dense": 2, "decision_points": 2}[thoughts]
    assert [request.constraint is None for request in model.requests].count(True) == due
    assert [turn.thoughts for turn in turns] == [("On the desk, maybe.",) if due else ()] * 2
    labelled = notation == "labelled" and (style == "chat" or thoughts == "sparse")
    for number, request in enumerate((r for r in model.requests if r.constraint is not None), start=1):
        prefix = f"Action {number}: " if labelled else ""
        assert request.constraint is not None
        assert request.constraint.choices == tuple(f"{prefix}{command}" for command in ADMISSIBLE)
        free = {"arrow": "think: ", "labelled": f"Thought {number}: "}[notation]
        assert request.constraint.free_prefix == (free if thoughts == "sparse" else None)


@pytest.mark.parametrize("notation", ["json", "tools"])
def test_constrained_decoding_writes_no_json(notation: str) -> None:
    model = ScriptedModel([], style="chat", can_constrain=True, can_call_tools=True)
    with pytest.raises(UsageError, match="set notation: arrow or labelled"):
        make_agent("react", model=model, settings={"constrained": True, "notation": notation})


async def test_constrained_needs_a_model_and_an_environment_that_can() -> None:
    with pytest.raises(UsageError, match="cannot do it; set constrained: false"):
        make_agent("react", model=ScriptedModel([]), settings={"constrained": True})
    agent = make_agent("react", model=ScriptedModel([], can_constrain=True), settings={"constrained": True})
    agent.begin(briefing())
    with pytest.raises(UsageError, match="does not list any"):
        await agent.turn(View("A room.", None))


async def test_reask_asks_again_within_the_turn() -> None:
    replies = [" I have no idea.", " I still have none.", " look"]
    house, turns, requests = await run(replies, {"reask": 2})
    assert house.moves == ["look"]
    assert [(turn.kind, len(turn.raw)) for turn in turns] == [("action", 3)]
    assert "No action could be read" in str(requests[1].prompt)


async def test_reask_gives_up_with_the_last_problem() -> None:
    _, turns, requests = await run([" I have no idea.", " I still have none."], {"reask": 1})
    assert [(turn.kind, len(turn.raw)) for turn in turns] == [("unreadable", 2)]
    assert "No action could be read" in turns[0].problem
    assert len(requests) == 2


async def test_a_truncated_reply_has_its_own_kind() -> None:
    _, turns, _ = await run([Reply("<think>Perhaps Action: look", finish_reason="length")], style="chat")
    assert (turns[0].kind, turns[0].action) == ("truncated", None)


async def test_repairs_reach_the_environment_and_the_record() -> None:
    house, turns, _ = await run([" Go to the desk1."])
    assert house.moves == ["go to desk 1"]
    assert [liberty.kind for liberty in turns[0].liberties] == ["full_stop", "article", "numbering", "case"]
    house, turns, _ = await run([" Go to the desk1."], {"repairs": False})
    assert house.moves == ["Go to the desk1."]
    assert turns[0].liberties == ()


@pytest.mark.parametrize(("show", "reason"), [(False, ""), (True, "'go to moon 1' is not possible\n")])
async def test_why_a_command_failed_is_shown_on_request(show: bool, reason: str) -> None:
    _, _, requests = await run([" go to moon 1", " look"], {"show_reasons": show})
    assert str(requests[1].prompt).endswith(f"Nothing happens.\n{reason}>")


async def test_admissible_commands_are_shown_on_request() -> None:
    line = "Possible now: go to desk 1 | go to shelf 1 | look | take mug 1 from desk 1"
    _, _, requests = await run([" look", " look"], {"show_admissible": True})
    assert str(requests[1].prompt).count(line) == 2
    _, _, requests = await run([" look"])
    assert line not in str(requests[0].prompt)


async def test_requests_stop_at_a_line_bound_their_tokens_and_carry_a_seed_of_their_own() -> None:
    set_to = {"thoughts": "dense", "action_tokens": 11, "thought_tokens": 22, "temperature": 0.5}
    _, _, requests = await run([" a", " look"], set_to)
    assert [request.max_tokens for request in requests] == [22, 11]
    assert [request.stop for request in requests] == [("\n",)] * 2
    assert [request.temperature for request in requests] == [0.5] * 2
    assert [request.seed for request in requests] == [call_seed(7, 0), call_seed(7, 1)]
    assert len({call_seed(seed, call) for seed in range(20) for call in range(20)}) == 400
    _, _, requests = await run(["look"], {"action_tokens": 11, "thought_tokens": 22}, style="chat")
    assert (requests[0].max_tokens, requests[0].stop) == (33, ())


async def test_completion_format_reaches_a_chat_model_as_one_message() -> None:
    _, _, as_text = await run([" look"])
    _, _, as_chat = await run(["look"], {"format": "completion"}, style="chat")
    assert as_chat[0].prompt == (Message("user", str(as_text[0].prompt)),)
    assert as_chat[0].stop == ("\n",)


def test_chat_format_needs_a_chat_model() -> None:
    with pytest.raises(UsageError, match="needs a chat model"):
        make_agent("react", model=ScriptedModel([]), settings={"format": "chat"})


async def test_exemplars_that_are_really_shown_are_named() -> None:
    agent = make_agent("react", model=ScriptedModel([]), exemplars_for=exemplars_for)
    assert isinstance(agent, ReactAgent)
    agent.begin(briefing())
    assert agent.exemplar_ids == ("pen-1", "pen-2")
    alone = make_agent("react", model=ScriptedModel([]), settings={"exemplars": 5}, exemplars_for=exemplars_for)
    assert isinstance(alone, ReactAgent)
    alone.begin(briefing())
    assert alone.exemplar_ids == tuple(exemplar.id for exemplar in EXEMPLARS)


async def test_an_agent_can_play_again() -> None:
    model = ScriptedModel([" think: a", " look", " look"])
    agent = make_agent("react", model=model, exemplars_for=exemplars_for)
    await play(agent, turns=2)
    await play(agent, turns=1)
    assert model.requests[0].prompt == model.requests[2].prompt
    assert model.requests[0].seed == model.requests[2].seed


async def test_a_model_error_is_not_swallowed() -> None:
    agent = make_agent("react", model=ScriptedModel([ModelError("timeout", "no answer")]))
    agent.begin(briefing())
    with pytest.raises(ModelError, match="no answer"):
        await agent.turn(View("A room.", ADMISSIBLE))


def test_conditions_tell_every_setting_and_the_format_that_was_chosen() -> None:
    told = make_agent("act", model=ScriptedModel([], style="chat"), settings={"exemplars": 1}).conditions()
    assert told["thoughts"] == "none"
    assert told["format"] == "chat"
    assert told["exemplars"] == 1
    assert set(told) >= {"constrained", "repairs", "show_admissible", "temperature", "reask", "wording"}


REPLIES = st.lists(
    st.one_of(
        st.sampled_from(
            ["look", "think: a", "think: a\nlook", "go to desk 1", "go to moon 1", "I do not know.", "", "Action: look",
             "<think>x</think>think: b", "> think: c\nOK.\n> look", '{"action": "look"', "Observation: x"]
        ),
        st.text(max_size=20),
    ),
    min_size=30,
    max_size=30,
)  # fmt: skip


PLACED = ("none", "sparse", "dense", "decision_points")
WAYS = [
    (notation, thoughts, style, constrained)
    for notation in get_args(NotationName)
    for thoughts in PLACED
    for style in ("chat", "completion")
    for constrained in (False, True)
    if not (notation in ("json", "tools") and constrained) and not (notation == "tools" and style == "completion")
]


@pytest.mark.parametrize(("notation", "thoughts", "style", "constrained"), WAYS)
@settings(max_examples=8, deadline=None)
@given(REPLIES, st.integers(0, 2), st.randoms(use_true_random=False))
async def test_a_prompt_only_grows_at_its_end(
    notation: NotationName, thoughts: str, style: Style, constrained: bool, replies: list[str], reask: int, draw: Random
) -> None:
    def script(request: Request) -> Reply:
        reply = replies[len(model.requests) - 1]
        if request.constraint is not None:
            free = request.constraint.free_prefix
            return Reply(draw.choice([*request.constraint.choices, *([f"{free}a"] if free else [])]))
        called = bool(request.tools) and draw.random() < 0.5
        return Reply(reply, calls=(ToolCall("x", draw.choice(["look", "dance"]), "{}"),) if called else ())

    model = ScriptedModel(script, style=style, can_constrain=True, can_call_tools=style == "chat")
    set_to = {"thoughts": thoughts, "reask": reask, "show_admissible": True, "notation": notation}
    set_to |= {"constrained": constrained, "on_repetition": "thought", "recall": True}
    agent = make_agent("react", model=model, settings=set_to, exemplars_for=exemplars_for)
    await play(agent, turns=5)
    prompts = [request.prompt for request in model.requests]
    for before, after in itertools.pairwise(prompts):
        assert len(after) > len(before)
        assert after[: len(before)] == before
        if not isinstance(after, str):
            check_messages(after)


def check_messages(prompt: tuple[Message, ...]) -> None:
    """The system, then what is heard and what was said in turns; each call is answered as a call, and none is empty."""
    system, *turns = prompt
    assert system.role == "system"
    assert [message.role == "assistant" for message in turns] == [False, True] * (len(turns) // 2) + [False]
    for said, heard in itertools.pairwise(turns):
        if heard.role != "assistant":
            assert (heard.role, heard.call_id) == (("tool", said.calls[0].id) if said.calls else ("user", ""))
    assert all(message.content or message.calls for message in prompt)
    ids = [call.id for message in prompt for call in message.calls]
    assert len(set(ids)) == len(ids)
