"""Household games without any download: the six ALFWorld task types, any number, from a seed.

A task id such as ``generated_eval/heat/s1000007-r12-d14`` holds all that decides a game: split, type, seed, number of
receptacles and number of distracting objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trialogue.envs.contract import Task
from trialogue.envs.household import grammar
from trialogue.envs.household.engine import Game
from trialogue.envs.household.furnish import make_scene
from trialogue.envs.household.problem import write_problem
from trialogue.envs.household.scene import Scene
from trialogue.envs.household.tasktypes import TASK_TYPES
from trialogue.errors import UnknownName, UsageError

SEEDS = {"generated_train": range(1_000_000), "generated_eval": range(1_000_000, 2_000_000)}
"""The seeds of each split; they do not overlap, so no evaluation game can be met in training."""

RECEPTACLES = range(5, 61)
DISTRACTORS = range(101)
_ID = re.compile(r"(\w+)/(\w+)/s(0|[1-9]\d{0,6})-r([1-9]\d?)-d(0|[1-9]\d{0,2})", re.ASCII)


@dataclass(frozen=True)
class Recipe:
    """What a task id says. Raises UsageError (or UnknownName) if no game can be made of it."""

    split: str
    type: str
    seed: int
    receptacles: int
    distractors: int

    def __post_init__(self) -> None:
        _require_split(self.split)
        if self.type not in TASK_TYPES:
            raise UnknownName("task type", self.type, TASK_TYPES)
        _require(f"a seed of {self.split}", self.seed, SEEDS[self.split])
        _require("the number of receptacles", self.receptacles, RECEPTACLES)
        _require("the number of distractors", self.distractors, DISTRACTORS)

    @property
    def task(self) -> Task:
        name = f"{self.split}/{self.type}/s{self.seed}-r{self.receptacles}-d{self.distractors}"
        return Task(name, self.split, self.type)

    @classmethod
    def parse(cls, task_id: str) -> Recipe:
        match = _ID.fullmatch(task_id)
        if match is None:
            example = "generated_eval/heat/s1000007-r12-d14"
            raise UsageError(f"{task_id[:80]!r} is not the id of a generated game; one looks like {example}.")
        split, kind, seed, receptacles, distractors = match.groups()
        return cls(split, kind, int(seed), int(receptacles), int(distractors))


def tasks(split: str, count: int, receptacles: int, distractors: int) -> tuple[Task, ...]:
    """The first ``count`` games of ``split``, interleaved by type, so that every prefix is balanced."""
    _require_split(split)
    _require("count", count, range(1, len(SEEDS[split]) + 1))
    kinds = list(TASK_TYPES)
    return tuple(
        Recipe(split, kinds[i % len(kinds)], seed, receptacles, distractors).task
        for i, seed in enumerate(SEEDS[split][:count])
    )


def scene(task_id: str) -> Scene:
    """The room, the objects and the goal of a task id: the same on every machine with the same alfworld package."""
    recipe = Recipe.parse(task_id)
    return make_scene(TASK_TYPES[recipe.type], recipe.receptacles, recipe.distractors, recipe.seed)


def build(task_id: str, dialect: str) -> Game:
    """The game of a task id in ``dialect``."""
    made = scene(task_id)
    domain, rules = grammar.packaged(dialect)
    return Game(task_id, domain, rules.replace(grammar.GOAL, made.goal), write_problem(made))


def _require_split(split: str) -> None:
    if split not in SEEDS:
        raise UnknownName("generated split", split, SEEDS)


def _require(what: str, value: int, allowed: range) -> None:
    if value not in allowed:
        raise UsageError(f"{what} must be from {allowed[0]} to {allowed[-1]}; got {value!r}.")
