"""ReAct -> CoT-SC and CoT-SC -> ReAct (Yao et al. 2023, section 3.2), through the real loop."""

from __future__ import annotations

from typing import Any

import pytest
from small_quiz import START, exemplars_for, quiz, told

from trialogue.agents.answering import BackOffSettings, CotScThenReact, ReactFirstSettings, ReactThenCotSc
from trialogue.agents.models.contract import Request
from trialogue.agents.models.scripted import ScriptedModel
from trialogue.errors import UsageError

SEARCH, LOST = " Search it.\nAction 1: search[Edda Lind]", " I am lost."
BERGEN, OSLO, NONE = " By Lind.\nAnswer: Bergen", " By Lind.\nAnswer: Oslo", " No idea."
REACT = {"thoughts": "dense", "exemplars": 0}


def react_first(replies: list[str], steps: int | None = 2, samples: int = 3) -> tuple[ReactThenCotSc, ScriptedModel]:
    settings = ReactFirstSettings.model_validate({"react": REACT, "cot_sc": {"samples": samples}, "react_steps": steps})
    model = ScriptedModel(replies)
    return ReactThenCotSc(model, settings, exemplars_for), model


def cot_sc_first(replies: list[str], samples: int = 4) -> tuple[CotScThenReact, ScriptedModel]:
    settings = BackOffSettings.model_validate({"react": REACT, "cot_sc": {"samples": samples}})
    model = ScriptedModel(replies)
    return CotScThenReact(model, settings, exemplars_for), model


def is_react(request: Request) -> bool:
    return "search[{entity}]" in str(request.prompt)


async def test_react_that_answers_within_its_steps_is_not_helped() -> None:
    agent, model = react_first([SEARCH, " So.\nAction 2: finish[Bergen]"])
    end, log = await quiz(agent)
    assert (end.ending, log.actions) == ("solved", ["search[Edda Lind]", "finish[Bergen]"])
    assert [turn.notes for turn in log.turns] == [(), ("react answers, in step 2 of 2",)]
    assert all(map(is_react, model.requests))


async def test_react_without_an_answer_falls_back_to_the_majority() -> None:
    # Two steps, one of them unreadable (dense thinking asks twice for it), then three samples.
    agent, model = react_first([SEARCH, LOST, LOST, BERGEN, OSLO, " It is.\nAnswer: bergen"])
    end, log = await quiz(agent)
    assert end.ending == "solved"
    assert [(turn.kind, turn.action) for turn in log.turns] == [
        ("action", "search[Edda Lind]"),
        ("unreadable", None),
        ("action", "finish[Bergen]"),
    ]
    assert log.turns[2].notes == ("cot_sc answers: react gave no answer in 2 steps", "votes: bergen 2, oslo 1")
    assert [is_react(request) for request in model.requests] == [True] * 3 + [False] * 3


async def test_thoughts_alone_are_no_steps() -> None:
    settings = ReactFirstSettings.model_validate(
        {"react": {"exemplars": 0}, "cot_sc": {"samples": 1}, "react_steps": 1}
    )
    model = ScriptedModel(["Thought 1: a", "search[x]", BERGEN])
    end, log = await quiz(ReactThenCotSc(model, settings))
    assert [turn.kind for turn in log.turns] == ["thought", "action", "action"]
    assert end.ending == "solved"


@pytest.mark.parametrize(("env", "steps"), [("hotpotqa", 7), ("fever", 5), ("tools", 7)])
async def test_the_papers_numbers_of_steps_are_the_defaults(env: str, steps: int) -> None:
    agent, _ = react_first([" Hm.\nAction: search[x]"] * steps + [BERGEN], steps=None, samples=1)
    _, log = await quiz(agent, env=env)
    assert log.actions == ["search[x]"] * steps + ["finish[Bergen]"]
    assert log.turns[-1].notes[0] == f"cot_sc answers: react gave no answer in {steps} steps"


@pytest.mark.parametrize(
    ("samples", "note"),
    [
        ([BERGEN, OSLO, BERGEN, OSLO], "cot_sc answers: 2 of 4 samples agree"),  # half is not less than half
        ([BERGEN, NONE, BERGEN, NONE], "cot_sc answers: 2 of 4 samples agree"),
        ([BERGEN, BERGEN, OSLO], "cot_sc answers: 2 of 3 samples agree"),
    ],
)
async def test_cot_sc_that_agrees_answers(samples: list[str], note: str) -> None:
    agent, model = cot_sc_first(samples, len(samples))
    end, log = await quiz(agent)
    assert (end.ending, log.actions) == ("solved", ["finish[Bergen]"])
    assert log.turns[0].notes[0] == note
    assert not any(map(is_react, model.requests))


@pytest.mark.parametrize(
    ("samples", "votes"),
    [
        ([BERGEN, OSLO, NONE, NONE], "votes: bergen 1, oslo 1; 2 abstained"),
        ([BERGEN, NONE, NONE], "votes: bergen 1; 2 abstained"),
        ([NONE, NONE], "votes: none; 2 abstained"),
    ],
)
async def test_cot_sc_that_disagrees_backs_off_to_react(samples: list[str], votes: str) -> None:
    agent, model = cot_sc_first([*samples, SEARCH, " So.\nAction 2: finish[Bergen]"], len(samples))
    end, log = await quiz(agent)
    first, second = log.turns
    most = int("bergen" in votes)
    assert (end.ending, log.actions) == ("solved", ["search[Edda Lind]", "finish[Bergen]"])
    assert first.notes == (f"react acts: {most} of {len(samples)} samples agree, less than half", votes)
    assert first.raw == (*samples, SEARCH)
    assert first.thoughts == ("Search it.",)
    assert second.notes == ("react answers",)
    assert [is_react(request) for request in model.requests] == [False] * len(samples) + [True] * 2
    assert START in str(model.requests[-2].prompt)


async def test_react_begins_with_what_was_seen_first_after_an_answer_that_was_refused() -> None:
    agent, model = cot_sc_first([" x\nAnswer: ?", NONE, " So.\nAction 1: finish[Bergen]"], samples=1)
    end, log = await quiz(agent)
    assert (end.ending, log.actions) == ("solved", ["finish[?]", "finish[Bergen]"])
    assert START in str(model.requests[-1].prompt)
    assert "Invalid action" not in str(model.requests[-1].prompt)


@pytest.mark.parametrize("make", [react_first, cot_sc_first])
def test_both_need_a_question_to_answer(make: Any) -> None:
    with pytest.raises(UsageError, match="has no command such as finish"):
        make([])[0].begin(told("household", ("look",)))


def test_settings_nest_and_a_person_may_review_react() -> None:
    agent, _ = react_first([])
    conditions: Any = agent.conditions()
    assert (conditions["react"]["thoughts"], conditions["cot_sc"]["samples"], conditions["react_steps"]) == (
        "dense",
        3,
        2,
    )
    settings = BackOffSettings.model_validate({"react": {"review": "always"}})
    assert settings.review == "always"
    with pytest.raises(UsageError, match="asks a person"):
        CotScThenReact(ScriptedModel([]), settings)


async def test_the_same_seed_gives_the_same_requests() -> None:
    asked = []
    for _ in range(2):
        agent, model = cot_sc_first([BERGEN, OSLO, NONE, NONE, SEARCH, " So.\nAction 2: finish[Bergen]"])
        await quiz(agent)
        asked.append(model.requests)
    assert asked[0] == asked[1]


async def test_exemplars_of_both_are_named() -> None:
    settings = BackOffSettings.model_validate({"react": {"exemplars": 2}, "cot_sc": {"samples": 1}})
    agent = CotScThenReact(ScriptedModel([BERGEN]), settings, exemplars_for)
    await quiz(agent)
    assert agent.exemplar_ids == ("boats", "silent")
