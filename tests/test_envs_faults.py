"""Faults reported of other harnesses, with their own values. Their ids stand at the tests that meet them here.

Those about one environment's texts and scores stand in that environment's tests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AsyncVectorEnv
from gymnasium.wrappers import TimeLimit
from toy import Corridor

from trialogue.envs import Game, GameEnv, Task, TextEnv, make
from trialogue.experiments.config import parse_config
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.results import load_runs
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store


class PointsGame(Game):
    """``next`` leads from one running score to the following, of at most ``most``."""

    goal = "score"

    def __init__(self, points: Sequence[int], most: int) -> None:
        self.left, self.points, self.most = list(points), 0, most

    def opening(self) -> str:
        return "start"

    def commands(self) -> Sequence[str]:
        return ["next"]

    def do(self, command: str) -> str:
        self.points = self.left.pop(0) if self.left else self.points
        self.won = self.points == self.most
        return "go on"

    @property
    def score(self) -> float:
        return self.points / self.most


class PointsEnv(GameEnv):
    name = "points"
    splits = ("test",)
    templates = ("next",)

    def __init__(self, points: Sequence[int], most: int = 7) -> None:
        super().__init__()
        self.points, self.most = points, most

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(f"{split}/1", split, "points")]

    def begin(self, task: Task) -> Game:
        return PointsGame(self.points, self.most)


def test_tw_02_a_reward_is_the_increase_of_the_running_score() -> None:
    env = PointsEnv([1, 2, 3, 4, 5, 5, 6, 7])
    env.reset()
    steps = [env.step("next") for _ in range(8)]
    assert [round(7 * reward, 9) for _, reward, *_ in steps] == [1, 1, 1, 1, 1, 0, 1, 1]
    assert 7 * sum(reward for _, reward, *_ in steps) == pytest.approx(7)
    assert [terminated for _, _, terminated, *_ in steps] == [False] * 7 + [True]
    assert (steps[-1][4]["score"], steps[-1][4]["won"]) == (1.0, True)
    assert env.step("next")[1:3] == (0.0, True)


def test_tw_10_a_positive_score_at_the_step_limit_is_no_success() -> None:
    env = TimeLimit(PointsEnv([1, 2, 3]), max_episode_steps=50)
    env.reset()
    *_, (_, _, terminated, truncated, info) = (env.step("next") for _ in range(50))
    assert (terminated, truncated, info["won"]) == (False, True, False)
    assert info["score"] == pytest.approx(0.4286, abs=1e-4)


def test_alf_04_the_cap_of_50_steps_truncates_and_does_not_win(household: TextEnv) -> None:
    env = TimeLimit(household, max_episode_steps=50)
    env.reset(seed=4)
    ends = [env.step("inventory")[1:] for _ in range(50)]
    assert [end[:3] for end in ends] == [(0.0, False, False)] * 49 + [(0.0, False, True)]
    assert (ends[-1][3]["won"], ends[-1][3]["score"]) == (False, 0.0)


def test_alf_06_an_action_that_is_not_available_is_told_as_such(household: TextEnv) -> None:
    _, before = household.reset(seed=6)
    observation, reward, terminated, truncated, info = household.step("teleport to desk 1")
    assert (observation, reward, terminated, truncated) == ("Nothing happens.", 0.0, False, False)
    assert (info["valid"], info["won"]) == (False, False)
    assert info["reason"].startswith("'teleport' is not a verb of this game")
    assert info["admissible"] == before["admissible"]


def test_alf_15_a_verb_that_the_game_lacks_is_reported_before_it_is_sent(household: TextEnv) -> None:
    household.reset(seed=15)
    told = household.action_space.explain("toggle desklamp 1 desk 1")
    assert told.reason.startswith("'toggle' is not a verb of this game")
    assert not any(template.startswith("toggle") for template in household.action_space.templates)
    assert "use {object}" in household.action_space.templates


def test_gym_07_solved_on_the_very_last_step_is_solved() -> None:
    env = TimeLimit(Corridor(), max_episode_steps=3)
    env.reset(options={"task": "test/3"})
    *_, (_, reward, terminated, _, info) = (env.step("go right") for _ in range(3))
    assert (reward, terminated, info["won"]) == (1.0, True, True)


def test_gym_09_a_spawned_process_knows_the_id() -> None:
    workers = [partial(gymnasium.make, "trialogue.envs:trialogue/Tools-v0")] * 2
    vector = AsyncVectorEnv(workers, shared_memory=False, context="spawn")
    try:
        observations, infos = vector.reset(seed=[1, 2])
        alone = make("tools")
        assert [str(text) for text in observations] == [alone.reset(seed=seed)[0] for seed in (1, 2)]
        assert all(str(task).startswith("generated_train/") for task in infos["task"])
    finally:
        vector.close()


async def rows(path: Path, tasks: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    config = parse_config(
        {
            "name": "faults",
            "agents": {"expert": {"agent": "expert"}},
            "tasks": {"corridor": {"env": "toy:Corridor", **tasks}},
            "stuck": None,
            **changes,
        }
    )
    with open_store(config, path) as store:
        await run_experiment(config, store)
    with Store.read(path) as store:
        return [json.loads(line) for line in export_jsonl(store, times=False)]


async def test_alf_05_what_reached_the_step_limit_is_no_success(tmp_path: Path) -> None:
    """Won in 12 steps, cut at 50, broken off at 49, and won with the 50th: two of four."""
    path = tmp_path / "x.sqlite"
    settings = {"count": 60, "crash_at": 49, "crash_in": "test/52"}
    ids = ["test/12", "test/51", "test/52", "test/50"]
    found = await rows(path, {"ids": ids, "settings": settings}, limits={"steps": 50})
    assert {row["task"]: (row["ending"], row["steps"], row["won"]) for row in found} == {
        "test/12": ("solved", 12, 1),
        "test/51": ("step_limit", 50, 0),
        "test/52": ("env_error", 49, 0),
        "test/50": ("solved", 50, 1),
    }
    [run] = load_runs(str(path))
    assert [outcome.won for outcome in run.outcomes].count(True) / len(run.outcomes) == 0.5


async def test_alf_09_an_environment_that_crashes_costs_its_own_episode_only(tmp_path: Path) -> None:
    settings = {"count": 11, "crash_at": 7, "crash_in": "test/8"}
    ids = ["test/9", "test/8", "test/10", "test/11", "test/7"]
    found = await rows(tmp_path / "x.sqlite", {"ids": ids, "settings": settings})
    assert len(found) == 5
    crashed = next(row for row in found if row["task"] == "test/8")
    assert (crashed["ending"], crashed["steps"]) == ("env_error", 7)
    assert "IndexError" in crashed["error"]
    assert {row["ending"] for row in found if row is not crashed} == {"solved"}


async def test_alf_10_chosen_tasks_and_no_others_are_played(tmp_path: Path) -> None:
    listed = Corridor(134).tasks("test")
    chosen = [listed[index].id for index in (5, 23, 28)]
    assert chosen == ["test/6", "test/24", "test/29"]
    played = [
        await rows(tmp_path / str(workers), {"ids": chosen, "settings": {"count": 134}}, concurrency=workers)
        for workers in (1, 3)
    ]
    assert played[0] == played[1]
    assert [row["task"] for row in played[0]] == chosen


async def test_alf_17_every_task_is_played_once_whatever_the_number_of_workers(tmp_path: Path) -> None:
    found = await rows(
        tmp_path / "x.sqlite", {"split": "test", "settings": {"count": 134}}, concurrency=8, limits={"steps": 2}
    )
    assert len(found) == len({row["task"] for row in found}) == 134
    assert {row["ending"] for row in found} == {"solved", "step_limit"}
