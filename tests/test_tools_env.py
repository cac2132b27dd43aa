"""The tools environment: questions that can be answered, calls that count, answers that are compared fairly."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialogue.agents.reading import Language, read_reply
from trialogue.envs import TextEnv, make
from trialogue.envs.tools import questions, scoring
from trialogue.envs.tools.questions import TYPES, Recipe, build
from trialogue.errors import EnvError, UnknownName, UsageError

TASK = "generated_eval/journey/s1000001"


@pytest.fixture
def env() -> TextEnv:
    return make("tools")


def start(env: TextEnv, task: str = TASK) -> dict[str, Any]:
    return dict(env.reset(options={"task": task})[1])


def play_expert(env: TextEnv, task: str) -> tuple[bool, int]:
    observation, info = env.reset(options={"task": task})
    expert = env.expert()
    assert expert is not None
    for step in range(1, 30):
        observation, _, terminated, _, info = env.step(expert.act(observation, info["admissible"]))
        assert info["valid"], info["reason"]
        if terminated:
            return info["won"], step
    return False, step


def test_the_expert_answers_nearly_all_evaluation_questions(env: TextEnv) -> None:
    tasks = env.tasks("generated_eval")[:100]
    ends = [play_expert(env, task.id) for task in tasks]
    assert sum(won for won, _ in ends) >= 95
    assert min(steps for _, steps in ends) >= 6  # several calls are needed
    assert Counter(task.type for task in tasks) == dict.fromkeys(TYPES, 25)


def test_right_and_wrong_answers_end_the_episode(env: TextEnv) -> None:
    gold = build(Recipe.parse(TASK)).gold
    for answer, won in ((f"{gold:.2f} km per hour", True), (f"{gold + 1:.2f}", False)):
        start(env)
        observation, reward, terminated, truncated, info = env.step(f"finish[{answer}]")
        assert (observation, reward, terminated, truncated) == ("Episode finished.", float(won), True, False)
        assert (info["won"], info["score"], info["valid"]) == (won, float(won), True)
        observation, reward, terminated, _, info = env.step("rows[goods]")
        assert (observation, reward, terminated, info["won"], info["valid"]) == (
            "Episode finished.",
            0.0,
            True,
            won,
            False,
        )


@pytest.mark.parametrize("answer", ["I do not know", "12 or 13", "", "1,5"])
def test_an_answer_without_one_number_does_not_count(env: TextEnv, answer: str) -> None:
    start(env)
    _, reward, terminated, _, info = env.step(f"finish[{answer}]")
    assert (reward, terminated, info["valid"]) == (0.0, False, False)


def test_the_answer_is_told_nowhere(env: TextEnv) -> None:
    for task in env.tasks("generated_eval")[:20]:
        observation, info = env.reset(options={"task": task.id})
        seen = observation + json.dumps(info)
        env.step("finish[0.123]")
        seen += json.dumps(env.step("rows[goods]")[4]) + json.dumps(env.versions())
        gold = build(Recipe.parse(task.id)).gold
        assert not any(f"{gold:.{digits}f}" in seen for digits in (2, 3, 6))


def test_questions_are_the_same_again_and_differ_by_seed() -> None:
    first = build(Recipe("generated_train", "purchase", 4))
    assert first == build(Recipe("generated_train", "purchase", 4))
    # Two seeds may ask in the same words, then of other tables.
    asked = {repr(build(Recipe.parse(task.id))) for task in questions.tasks("generated_train", 200)}
    assert len(asked) == 200


@pytest.mark.parametrize("type", TYPES)
def test_what_a_question_names_is_in_its_tables(type: str) -> None:
    for seed in range(60):
        question = build(Recipe("generated_train", type, seed))
        rows = {name for table in question.tables.values() for name in table.rows}
        named = [name for name in rows if name in question.text]
        assert named or type in ("survey", "journey")
        assert abs(question.gold) > 0.02  # a guess of 0 is never right
        assert set(question.tables) == {"goods", "shops", "trains", "planets", "rates"}


def test_ids_that_no_question_has_are_refused() -> None:
    with pytest.raises(UsageError, match="a seed of generated_eval must be from 1000000 to 1999999; got 3"):
        Recipe.parse("generated_eval/journey/s3")
    with pytest.raises(UnknownName, match="Did you mean 'journey'"):
        Recipe.parse("generated_eval/journy/s1000003")
    with pytest.raises(UsageError, match="one looks like"):
        Recipe.parse("generated_eval/journey/s01")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("lookup[goodz, rope, price]", "there is no table 'goodz'; did you mean 'goods'?"),
        ("lookup[trains, Aldby-Grimsy, distance]", "did you mean 'Aldby-Grimsey'?"),
        ("find[planets, sun, Vega]", "there is no column 'sun'"),
        ("calculate[1 +]", "not an expression at the end"),
        ("calculate[open('x')]", "not an expression at 'open'"),
    ],
)
def test_wrong_names_are_answered_with_the_nearest(env: TextEnv, call: str, said: str) -> None:
    start(env)
    observation, reward, terminated, _, info = env.step(call)
    assert said in observation
    assert said in info["reason"]
    assert (info["valid"], reward, terminated) == (False, 0.0, False)


def test_a_find_without_result_is_valid_and_says_what_to_try(env: TextEnv) -> None:
    start(env)
    observation, _, _, _, info = env.step("find[planets, star, Sirius]")
    assert info["valid"]
    assert observation.startswith("find found nothing; the value has to be written as in the table")


def test_the_tools_are_told_at_the_start(env: TextEnv) -> None:
    observation, info = env.reset(options={"task": TASK})
    assert observation.startswith("Tables: goods, shops, trains, planets, rates.\nTools:\n")
    assert "lookup[table, row, column]: The value in one row" in observation
    assert info["goal"].startswith("A traveller takes the trains from ")
    assert info["admissible"] is None
    assert env.action_space.templates[3:] == (
        "lookup[{table, row, column}]",
        "calculate[{expression}]",
        "finish[{answer}]",
    )
    names = [schema["function"]["name"] for schema in env.tool_schemas()]  # type: ignore[attr-defined]
    assert names == ["columns", "rows", "find", "lookup", "calculate", "finish"]


def test_functions_of_ones_own_become_tools() -> None:
    def convert(miles: float) -> float:
        """Miles in km."""
        return miles * 1.609344

    env = make("tools", tools=[convert], allowed=["convert", "calculate"], seconds=1, characters=8)
    observation, _ = env.reset(options={"task": TASK})
    assert [template.split("[")[0] for template in env.action_space.templates] == ["calculate", "convert", "finish"]
    assert "convert[miles: float]: Miles in km." in observation
    assert env.step("convert[10]")[0].startswith("16.09344")
    assert env.step("rows[goods]")[4]["valid"] is False
    assert env.step("calculate[1/3]")[0].startswith("0.333333\n[calculate: 8 of 14 characters shown")


def test_what_cannot_be_set_is_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'lookup'"):
        make("tools", allowed=["look_up"])
    with pytest.raises(UsageError, match="a list of tool names; got 'lookup'"):
        make("tools", allowed="lookup")
    with pytest.raises(UsageError, match="limits must be positive"):
        make("tools", seconds=0)
    with pytest.raises(UsageError, match="count must be from 1"):
        make("tools", count=0)


def test_the_expert_says_when_it_does_not_know_a_question() -> None:
    from trialogue.envs.tools.expert import Reckoner

    with pytest.raises(EnvError, match="no plan for this question"):
        Reckoner("Why is the sky blue?")


def test_replies_in_every_notation_reach_the_environment(env: TextEnv) -> None:
    start(env)
    language = Language(env.action_space.templates, None)
    for reply in (
        "lookup[trains, Aldby-Grimsey, minutes]",
        'Action: lookup\nAction Input: {"table": "trains", "row": "Aldby-Grimsey", "column": "minutes"}',
        '{"name": "lookup", "arguments": {"table": "trains", "row": "Aldby-Grimsey", "column": "minutes"}}',
    ):
        action = read_reply(reply, language=language).action
        assert action is not None
        assert env.step(action)[0] == "64"


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("12", 12.0),
        ("about 1,204.50 crowns", 1204.5),
        ("-3.5", -3.5),
        ("−3.5 ducat", -3.5),
        ("$7.00.", 7.0),
        ("12km", 12.0),
        ("x = 4.5e3", 4500.0),
        ("12 or 13", None),
        ("2,5", None),
        ("1,2345", None),
        ("1.2.3", None),
        ("1e400", None),
        ("5-3", None),
        ("12, or so", 12.0),
        ("none", None),
        ("v2", None),
        ("", None),
    ],
)
def test_the_number_of_an_answer(answer: str, number: float | None) -> None:
    assert scoring.number_in(answer) == number


@given(gold=st.floats(-1e6, 1e6))
@settings(deadline=None)
def test_rounding_to_two_decimals_is_right_and_more_is_wrong(gold: float) -> None:
    assert scoring.right(round(gold, 2), gold)
    assert not scoring.right(gold + max(0.02, abs(gold) * 2e-4), gold)
    given_number = scoring.number_in(f"{gold:.4f}")
    assert given_number is not None
    assert scoring.right(given_number, gold)
