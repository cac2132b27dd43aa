"""Reflexion and its control, plan-first ReAct, and a person in the model's place, with scripted models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from small_house import ADMISSIBLE, START, briefing, exemplars_for, play

from trialogue.agents import make_agent
from trialogue.agents.contract import Briefing, Learner, Lesson, View
from trialogue.agents.models.contract import Message, Request
from trialogue.agents.models.scripted import ScriptedModel, prompt_text
from trialogue.agents.react import digest
from trialogue.agents.reflexion import ReflexionAgent
from trialogue.errors import ContextOverflow

Style = Literal["chat", "completion"]


def with_lessons(*lessons: Lesson, trial: int = 0, env: str = "household") -> Briefing:
    told = briefing()
    return Briefing(env, told.task, told.type, told.goal, told.templates, told.dialect, lessons, trial, told.seed)


def reflexion(
    replies: Sequence[Any], style: Style = "completion", **settings: Any
) -> tuple[ReflexionAgent, list[Request]]:
    model = ScriptedModel(list(replies), style=style)
    agent = make_agent("reflexion", model=model, settings={"exemplars": 0, **settings})
    assert isinstance(agent, ReflexionAgent)
    return agent, model.requests


async def test_a_text_models_reflection_is_its_first_paragraph_even_after_an_empty_line() -> None:
    agent, requests = reflexion(["look", "\n\nTry the desk.\nThen take it.\n\n> look"])
    await play(agent, turns=1)
    assert (await agent.learn("stuck")).reflection == "Try the desk. Then take it."
    assert requests[-1].stop == ()


@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_a_reflection_is_written_from_the_agents_own_trajectory(style: Style) -> None:
    agent, requests = reflexion(["go to shelf 1", "I never went\nto the desk."], style)
    await play(agent, turns=1)
    lesson = await agent.learn("step_limit")
    assert lesson == Lesson(0, "I never went to the desk.")
    asked = prompt_text(requests[-1])
    assert "> go to shelf 1\n" in asked
    assert "This attempt failed (step limit)." in asked
    assert isinstance(requests[-1].prompt, str) == (style == "completion")
    assert requests[-1].seed != requests[-2].seed


async def test_refx_03_the_last_three_reflections_are_shown_under_their_own_numbers() -> None:
    agent, requests = reflexion(["look"])
    await play(agent, 1, with_lessons(*(Lesson(number, f"r{number}") for number in range(5)), trial=5))
    shown = prompt_text(requests[0])
    assert [f"r{n}" in shown for n in range(5)] == [False, False, True, True, True]
    assert "Trial 2: r2\nTrial 3: r3\nTrial 4: r4" in shown


@pytest.mark.parametrize("env", ["household", "webshop", "hotpotqa", "fever", "textworld", "tools", "another"])
@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_refx_01_the_memory_is_in_the_prompt_of_every_environment(env: str, style: Style) -> None:
    lesson = "Next time choose the size before buying."
    agent, requests = reflexion(["look", "look"], style)
    agent.begin(with_lessons(Lesson(0, lesson), trial=1, env=env))
    turns = [await agent.turn(View(START, ADMISSIBLE)), await agent.turn(View("Nothing.", ADMISSIBLE))]
    assert all(lesson in prompt_text(request) for request in requests)
    memory = f"Lessons from your earlier attempts at this task:\nTrial 0: {lesson}"
    assert [turn.memory for turn in turns] == [digest(memory)] * 2


async def test_the_first_trial_has_no_memory_and_says_so() -> None:
    agent, requests = reflexion(["look"])
    _, turns = await play(agent, 1)
    assert turns[0].memory == ""
    assert "Lessons" not in prompt_text(requests[0])


async def test_an_empty_reflection_is_asked_for_once_more_and_then_recorded_as_empty() -> None:
    agent, requests = reflexion(["look", "  ", "Look at the desk."])
    await play(agent, 1)
    assert await agent.learn("stuck") == Lesson(0, "Look at the desk.")
    agent, requests = reflexion(["look", "", "<think>hm</think>"])
    await play(agent, 1)
    assert await agent.learn("stuck") == Lesson(0, "")
    assert len(requests) == 3
    assert len({request.seed for request in requests}) == 3
    assert [request.temperature for request in requests] == [0.0, 0.0, 0.7]


async def test_an_empty_lesson_leaves_no_trace_in_the_prompt() -> None:
    agent, requests = reflexion(["look"])
    _, turns = await play(agent, 1, with_lessons(Lesson(0, ""), trial=1))
    assert "Lessons" not in prompt_text(requests[0])
    assert turns[0].memory == ""


@pytest.mark.parametrize(
    ("strategy", "calls", "reflected", "attempted"),
    [("reflection", 2, True, False), ("last_attempt", 1, False, True), ("both", 2, True, True)],
)
async def test_strategies_of_the_paper(strategy: str, calls: int, reflected: bool, attempted: bool) -> None:
    agent, requests = reflexion(["go to shelf 1", "Try the desk.", "look"], strategy=strategy)
    await play(agent, turns=1)
    lesson = await agent.learn("stuck")
    assert len(requests) == calls
    await play(agent, 1, with_lessons(lesson, trial=1))
    shown = prompt_text(requests[-1])
    assert ("Trial 0: Try the desk." in shown) == reflected
    assert (f"Your last attempt at this task, which failed:\n{START}" in shown) == attempted


async def test_a_trajectory_that_is_too_long_loses_its_beginning() -> None:
    def script(request: Request) -> Any:
        text = prompt_text(request)
        if "Reflection:" not in text:
            return "look"
        return ContextOverflow("too long") if text.count("> look") > 3 else "I only looked."

    model = ScriptedModel(script)
    agent = make_agent("reflexion", model=model, settings={"exemplars": 0})
    assert isinstance(agent, Learner)
    await play(agent, turns=6)
    assert (await agent.learn("stuck")).reflection == "I only looked."
    assert "This attempt failed" in prompt_text(model.requests[-1])


async def test_later_trials_are_sampled_with_seeds_of_their_own_with_and_without_memory() -> None:
    for name in ("reflexion", "retry"):
        model = ScriptedModel(["look"] * 3)
        agent = make_agent(name, model=model, settings={"exemplars": 0})
        for trial in range(3):
            await play(agent, 1, with_lessons(trial=trial))
        assert [request.temperature for request in model.requests] == [0.0, 0.7, 0.7]
        assert len({request.seed for request in model.requests}) == 3
        assert len({request.prompt for request in model.requests}) == 1


def test_only_reflexion_learns() -> None:
    learns = {
        name: isinstance(make_agent(name, model=ScriptedModel([])), Learner)
        for name in ("reflexion", "retry", "react", "act", "plan_react")
    }
    assert learns == {"reflexion": True, "retry": False, "react": False, "act": False, "plan_react": False}


@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_plan_first_asks_for_a_plan_and_then_plays(style: Style) -> None:
    model = ScriptedModel(["think: Desk, then mug.", "go to desk 1", "take mug 1 from desk 1"], style=style)
    house, turns = await play(make_agent("plan_react", model=model, exemplars_for=exemplars_for), turns=5)
    assert house.won
    assert [(turn.event, turn.thoughts) for turn in turns] == [("plan", ("Desk, then mug.",)), ("", ())]
    asked = prompt_text(model.requests[0])
    assert "write a plan on one line" in asked
    if style == "completion":
        assert asked.endswith("in order.\n> think:")
    assert prompt_text(model.requests[1]).count("write a plan") == 1


async def test_a_person_sees_what_is_possible_and_is_read_like_a_model() -> None:
    model = ScriptedModel(["think: hm", "Go to the desk 1."], style="chat")
    house, turns = await play(make_agent("human", model=model), turns=2)
    assert house.moves == ["go to desk 1"]
    assert [liberty.kind for liberty in turns[1].liberties] == ["full_stop", "article", "case"]
    last = model.requests[0].prompt[-1]
    assert isinstance(last, Message)
    assert "Possible now: go to desk 1" in last.content
