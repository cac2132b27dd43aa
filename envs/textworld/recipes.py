"""Generated TextWorld games by their task ids.

A task id such as ``generated_eval/cooking/l3-s1000007`` holds all that decides a game: split, kind, level and seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialogue.envs import generated
from trialogue.envs.contract import Task
from trialogue.envs.textworld.kinds import KINDS
from trialogue.errors import UnknownName, UsageError

_ID = rf"(\w+)/(\w+)/l([1-9]\d{{0,2}})-s{generated.SEED}"


@dataclass(frozen=True)
class Recipe:
    """What a task id says. Raises UsageError (or UnknownName) if no game can be made of it."""

    split: str
    kind: str
    level: int
    seed: int

    def __post_init__(self) -> None:
        generated.require_seed(self.split, self.seed)
        require_level(self.kind, self.level)

    @property
    def task(self) -> Task:
        return Task(f"{self.split}/{self.kind}/l{self.level}-s{self.seed}", self.split, self.kind)

    @property
    def settings(self) -> dict[str, object]:
        """What TextWorld's maker of this kind is told."""
        return KINDS[self.kind].settings(self.level, self.split == "generated_eval")

    @classmethod
    def parse(cls, task_id: str) -> Recipe:
        split, kind, level, seed = generated.read(task_id, _ID, "generated_eval/cooking/l3-s1000007")
        return cls(split, kind, int(level), int(seed))


def tasks(split: str, count: int, levels: Mapping[str, int] | None = None) -> tuple[Task, ...]:
    """The first ``count`` games of ``split``, interleaved by kind; ``levels`` fixes the level of the kinds it names."""
    seeds = generated.seeds(split, count)
    for kind, level in (levels or {}).items():
        require_level(kind, level)
    fixed = {kind: (level,) for kind, level in (levels or {}).items()}
    return tuple(_nth(split, number, seed, fixed) for number, seed in enumerate(seeds))


def require_level(kind: str, level: int) -> None:
    """Raises UnknownName for a kind that does not exist, UsageError for a level that it does not have."""
    if kind not in KINDS:
        raise UnknownName("kind of game", kind, KINDS)
    known = sorted(KINDS[kind].levels)
    if level not in known:
        spans = [n for n in known if n - 1 not in known], [n for n in known if n + 1 not in known]
        said = ", ".join(f"{first} to {last}" for first, last in zip(*spans, strict=True))
        raise UsageError(f"levels of {kind} are {said}; got {level!r}.")


def _nth(split: str, number: int, seed: int, fixed: Mapping[str, tuple[int, ...]]) -> Task:
    kind = list(KINDS)[number % len(KINDS)]
    choice = fixed.get(kind, KINDS[kind].usual)
    return Recipe(split, kind, choice[number // len(KINDS) % len(choice)], seed).task
