"""Household games without any download: the six ALFWorld task types, any number, from a seed.

A task id such as ``generated_eval/heat/s1000007-r12-d14`` holds all that decides a game: split, type, seed, number of
receptacles and number of distracting objects.
"""

from __future__ import annotations

from dataclasses import dataclass

from trialogue.envs import generated
from trialogue.envs.contract import Task
from trialogue.envs.household import grammar
from trialogue.envs.household.engine import Game
from trialogue.envs.household.furnish import make_scene
from trialogue.envs.household.problem import write_problem
from trialogue.envs.household.scene import Scene
from trialogue.envs.household.tasktypes import TASK_TYPES

RECEPTACLES = range(5, 61)
DISTRACTORS = range(101)
_ID = rf"(\w+)/(\w+)/s{generated.SEED}-r([1-9]\d?)-d(0|[1-9]\d{{0,2}})"


@dataclass(frozen=True)
class Recipe:
    """What a task id says. Raises UsageError (or UnknownName) if no game can be made of it."""

    split: str
    type: str
    seed: int
    receptacles: int
    distractors: int

    def __post_init__(self) -> None:
        generated.require_seed(self.split, self.seed)
        generated.require_type(self.type, TASK_TYPES)
        generated.require("the number of receptacles", self.receptacles, RECEPTACLES)
        generated.require("the number of distractors", self.distractors, DISTRACTORS)

    @property
    def task(self) -> Task:
        name = f"{self.split}/{self.type}/s{self.seed}-r{self.receptacles}-d{self.distractors}"
        return Task(name, self.split, self.type)

    @classmethod
    def parse(cls, task_id: str) -> Recipe:
        split, kind, *numbers = generated.read(task_id, _ID, "generated_eval/heat/s1000007-r12-d14")
        return cls(split, kind, *map(int, numbers))


def tasks(split: str, count: int, receptacles: int, distractors: int) -> tuple[Task, ...]:
    """The first ``count`` games of ``split``, interleaved by type, so that every prefix is balanced."""
    kinds = list(TASK_TYPES)
    return tuple(
        Recipe(split, kinds[i % len(kinds)], seed, receptacles, distractors).task
        for i, seed in enumerate(generated.seeds(split, count))
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
