"""A person in the loop, scripted: approves, replaces, and is asked only when it is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

import pytest
from small_house import ADMISSIBLE, GOAL, START, House, briefing, exemplars_for

from trialogue.agents import make_agent
from trialogue.agents.contract import Turn, View
from trialogue.agents.models.contract import Message, Reply, Request, ToolCall
from trialogue.agents.models.scripted import ScriptedModel, prompt_text
from trialogue.agents.notation import NotationName
from trialogue.errors import UsageError

Style = Literal["chat", "completion"]
NOTATIONS: tuple[NotationName, ...] = get_args(NotationName)
PLACED = ("none", "sparse", "dense", "decision_points")
BETTER = "Rather look on the desk."


class Played:
    """An episode: ``replies`` of the model, ``answers`` of the person, and what came of them."""

    def __init__(self, replies: list[str | Reply], answers: list[str], style: Style = "completion", **set_to: Any):
        self.model = ScriptedModel(replies, style=style, can_call_tools=style == "chat")
        self.person = ScriptedModel(answers, name="human:keyboard", style="chat")
        settings: Mapping[str, Any] = {"review": "always", "exemplars": 0, **set_to}
        self.agent = make_agent(
            "react", model=self.model, settings=settings, exemplars_for=exemplars_for, person=self.person
        )
        self.house = House()

    async def play(self, turns: int) -> list[Turn]:
        self.agent.begin(briefing())
        view, played = View(START, ADMISSIBLE), list[Turn]()
        for _ in range(turns):
            turn = await self.agent.turn(view)
            played.append(turn)
            if turn.action is None:
                view = View(None, ADMISSIBLE, turn.problem)
            else:
                observation, reason = self.house.step(turn.action)
                view = View(observation, ADMISSIBLE, reason)
        return played

    @property
    def cards(self) -> list[str]:
        return [prompt_text(request) for request in self.person.requests]


@pytest.mark.parametrize("answer", ["", "y", "Yes", " OK "])
async def test_a_person_approves(answer: str) -> None:
    played = Played(["think: Hm.", "look"], [answer] * 2)
    turns = await played.play(2)
    assert [(turn.kind, turn.thoughts, turn.action) for turn in turns] == [
        ("thought", ("Hm.",), None),
        ("action", (), "look"),
    ]
    assert [turn.notes for turn in turns] == [("a person approved",)] * 2
    assert played.cards[0].startswith(f"goal: {GOAL}\n{START}\nthink: Hm.\nEnter approves.")
    assert played.cards[1].startswith(f"goal: {GOAL}\ncommand: look\nEnter approves.")


async def test_a_person_replaces_the_command() -> None:
    played = Played(["look", "look"], ["go to desk 1", ""])
    turns = await played.play(2)
    assert played.house.moves == ["go to desk 1", "look"]
    assert turns[0].notes == ("a person replaced 'look' by 'go to desk 1'",)
    assert turns[0].raw == ("look",)
    assert str(played.model.requests[1].prompt).endswith("> go to desk 1\nOn the desk 1, you see a mug 1.\n>")


async def test_a_person_replaces_the_thought_and_the_model_goes_on_from_it() -> None:
    played = Played(["think: Hm.", "go to desk 1"], [f"think: {BETTER}", ""])
    turns = await played.play(2)
    assert [(turn.thoughts, turn.action) for turn in turns] == [((BETTER,), None), ((), "go to desk 1")]
    assert turns[0].notes == (f"a person replaced the thought 'Hm.' by {BETTER!r}",)
    prompt = str(played.model.requests[1].prompt)
    assert prompt.endswith(f"> think: {BETTER}\nOK.\n>")
    assert "Hm." not in prompt


async def test_a_person_turns_a_thought_into_a_command_and_a_command_into_a_thought() -> None:
    played = Played(["think: Hm.", "look", "look"], ["go to desk 1", f"Think: {BETTER}", ""])
    turns = await played.play(3)
    assert [(turn.kind, turn.action) for turn in turns] == [
        ("action", "go to desk 1"),
        ("thought", None),
        ("action", "look"),
    ]
    assert turns[1].thoughts == (BETTER,)


def as_written(notation: NotationName, thought: str, action: str) -> str | Reply:
    """What a model replies in ``notation``; in arrow, a thought and a command are two replies."""
    match notation:
        case "json":
            return json.dumps({**({"thought": thought} if thought else {}), **({"action": action} if action else {})})
        case "tools":
            name, arguments = ("look", "{}") if action == "look" else ("go_to", '{"receptacle": "desk 1"}')
            return Reply(thought, calls=(ToolCall("1", name, arguments),) if action else ())
        case "labelled":
            told = [f"Thought 1: {thought}" if thought else "", f"Action 1: {action}" if action else ""]
        case "labelled_zh":
            told = [f"思考1：{thought}" if thought else "", f"行动1：{action}" if action else ""]
        case _:
            told = [f"think: {thought}" if thought else "", action]
    return "\n".join(filter(None, told))


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("thoughts", PLACED)
@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_a_replaced_thought_is_gone_on_from(notation: NotationName, thoughts: str, style: Style) -> None:
    """However thoughts are placed and written: the person's thought stands in the next prompt, the model's does not."""
    if notation == "tools" and style == "completion":
        style = "chat"
    asked: list[str] = []

    def script(request: Request) -> str | Reply:
        asked.append(prompt_text(request))
        if BETTER in asked[-1]:
            return as_written(notation, "", "go to desk 1")
        return as_written(notation, "" if thoughts == "none" else "Hm.", "look" if thoughts == "none" else "")

    played = Played([], [f"think: {BETTER}", "", ""], style, thoughts=thoughts, notation=notation)
    played.model._script = script
    turns = await played.play(1)
    if turns[0].action is None:
        turns += [await played.agent.turn(View(None, ADMISSIBLE, turns[0].problem))]
    assert [turn.action for turn in turns if turn.action] == ["go to desk 1"]
    assert turns[0].thoughts == (BETTER,)
    assert turns[0].problem == ""
    assert not turns[0].liberties or {liberty.kind for liberty in turns[0].liberties} <= {"label", "json"}
    assert len(asked) == 2
    assert BETTER in asked[1]
    assert "Hm." not in asked[1].partition(START)[2]


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("thoughts", PLACED)
async def test_a_replaced_command_is_done_and_told_in_the_notation(notation: NotationName, thoughts: str) -> None:
    def script(request: Request) -> str | Reply:
        shows_the_mug = "On the desk 1, you see a mug 1." in prompt_text(request)
        return as_written(notation, "", "go to desk 1" if shows_the_mug else "look")

    played = Played([], ["go to desk 1", "", "", ""], "chat", thoughts=thoughts, notation=notation)
    played.model._script = script
    turns = await played.play(2)
    assert played.house.moves[0] == "go to desk 1"
    assert turns[0].notes[0] == "a person replaced 'look' by 'go to desk 1'"
    prompt = played.model.requests[-1].prompt
    assert isinstance(prompt, tuple)
    told = [f"{message.content}{message.calls}" for message in prompt if message.role == "assistant"]
    assert any("desk 1" in text for text in told)
    assert Message("assistant", "look") not in prompt


async def test_a_command_in_place_of_a_constrained_thought_is_done() -> None:
    model = ScriptedModel(["Hm."], can_constrain=True)
    person = ScriptedModel(["go to desk 1"], style="chat")
    set_to = {"review": "always", "constrained": True, "thoughts": "dense"}
    agent = make_agent("react", model=model, settings=set_to, exemplars_for=exemplars_for, person=person)
    agent.begin(briefing())
    turn = await agent.turn(View(START, ADMISSIBLE))
    assert (turn.kind, turn.action, turn.liberties) == ("action", "go to desk 1", ())


UNSURE = {
    "readable, admissible, new": (["look"], []),
    "a thought": (["think: Hm."], []),
    "unreadable": (["I have no idea, sorry."], ["unsure: No action could be read in your reply."]),
    "not admissible": (["go to moon 1"], ["unsure: 'go to moon 1' is not among the commands that are possible now"]),
    "twice the same": (["look"] * 2, []),
    "the same, and nothing came of it": (
        ["look"] * 3,
        ["unsure: the same was done before, and it was answered the same"],
    ),
}


@pytest.mark.parametrize(("replies", "reasons"), UNSURE.values(), ids=UNSURE)
async def test_when_unsure_a_person_is_asked_only_then(replies: list[str | Reply], reasons: list[str]) -> None:
    played = Played(replies, [""] * 9, review="unsure")
    turns = await played.play(len(replies))
    assert len(played.cards) == len(reasons)
    for card, reason in zip(played.cards, reasons, strict=True):
        assert reason in card
    assert [turn.notes for turn in turns[:-1]] == [()] * (len(turns) - 1)
    assert turns[-1].notes == (("a person approved",) if reasons else ())


async def test_a_person_mends_what_could_not_be_read() -> None:
    played = Played(["I have no idea, sorry."], ["go to desk 1"], review="unsure")
    turns = await played.play(1)
    assert (turns[0].kind, turns[0].action, turns[0].problem) == ("action", "go to desk 1", "")
    assert turns[0].notes == ("a person replaced 'what could not be read' by 'go to desk 1'",)


async def test_never_asks_nobody_and_needs_nobody() -> None:
    played = Played(["look"], [], review="never")
    assert (await played.play(1))[0].notes == ()
    assert played.cards == []


@pytest.mark.parametrize("review", ["always", "unsure"])
def test_without_a_person_a_review_is_refused(review: str) -> None:
    with pytest.raises(UsageError, match="asks a person, and this run has none; set review: never"):
        make_agent("react", model=ScriptedModel([]), settings={"review": review})


async def test_the_person_is_asked_with_a_seed_like_every_call() -> None:
    played = Played(["look", "look"], ["", ""])
    await played.play(2)
    seeds = [request.seed for request in (*played.model.requests, *played.person.requests)]
    assert len(set(seeds)) == 4
