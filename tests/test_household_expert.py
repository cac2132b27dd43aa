"""The expert: reads goals in every wording, plays like a player, and wins nearly always."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.envs import Task, TextEnv, make
from trialogue.envs.household.expert import Expert
from trialogue.envs.household.goal import Goal
from trialogue.envs.household.tasktypes import TASK_TYPES
from trialogue.errors import UsageError

STEPS = 50


@pytest.mark.parametrize("name", TASK_TYPES)
def test_every_wording_of_every_type_is_read(name: str) -> None:
    kind = TASK_TYPES[name]
    for wording in kind.goals:
        goal = Goal.read(wording.replace("OBJ", "mug").replace("REC", "desklamp"))
        target, lamp = ("", "desklamp") if name == "examine" else ("desklamp", "")
        assert goal == Goal("mug", target, lamp, kind.treatment, kind.objects)


@given(st.text())
def test_other_goals_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="templated goals"):
        Goal.read("please " + text)


def test_the_expert_needs_admissible_commands() -> None:
    with pytest.raises(UsageError, match="admissible"):
        Expert("put a mug in shelf.").act("You are in the middle of a room.", None)


def test_the_expert_is_fresh_for_each_episode(household: TextEnv) -> None:
    household.reset(seed=1)
    assert household.expert() is not household.expert()


def wins(env: TextEnv, task: Task) -> bool:
    observation, info = env.reset(options={"task": task.id})
    expert = env.expert()
    assert expert is not None
    for _ in range(STEPS):
        command = expert.act(observation, info["admissible"])
        assert command in info["admissible"]
        observation, _, terminated, _, info = env.step(command)
        if terminated:
            return True
    return False


def test_the_expert_wins_a_game_of_each_type_in_the_other_dialect() -> None:
    env = make("household", dialect="put", receptacles=6, distractors=4)
    assert all(wins(env, task) for task in env.tasks("generated_eval")[: len(TASK_TYPES)])
    env.close()


def rates(env: TextEnv, split: str) -> dict[str, float]:
    tasks = env.tasks(split)
    won = Counter(task.type for task in tasks if wins(env, task))
    return {kind: won[kind] / total for kind, total in Counter(task.type for task in tasks).items()}


@pytest.mark.slow
def test_the_expert_wins_nearly_all_generated_games() -> None:
    assert min(rates(make("household", count=120), "generated_eval").values()) >= 0.95


@pytest.mark.slow
def test_the_expert_wins_nearly_all_real_games(alfworld_data: Path) -> None:
    assert min(rates(make("household", data=alfworld_data), "valid_seen").values()) >= 0.95


def test_chance_does_not_win() -> None:
    env = make("household")
    for task in env.tasks("generated_eval")[:2]:
        _, info = env.reset(options={"task": task.id})
        draw = random.Random(task.id)
        for _ in range(10):
            info = env.step(draw.choice(info["admissible"]))[4]
        assert not info["won"]
    env.close()
