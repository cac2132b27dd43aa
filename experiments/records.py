"""What is planned and recorded of an experiment: the rows of its store, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass

IMPORTED = "imported"
"""The key under which the configuration and the conditions of a store say that its results come from elsewhere."""


@dataclass(frozen=True)
class RunPlan:
    """A row of ``run`` before anything is played."""

    id: int
    name: str
    agent: str
    tasks: str


@dataclass(frozen=True)
class EpisodePlan:
    """A row of ``episode`` before anything is played. ``id`` follows from the plan alone."""

    id: int
    run: int
    task: str
    task_index: int
    type: str
    split: str
    seed: int
    trial: int


@dataclass(frozen=True)
class StepRecord:
    """A row of ``step``; ``action`` is None for an unreadable turn that cost a step."""

    step: int
    turn: int
    action: str | None
    observation: str
    valid: bool
    reason: str
    reward: float
    score: float
    won: bool
    seconds: float


@dataclass(frozen=True)
class EndRecord:
    """How an episode ended, and what a resumed one found different from before (``notes``)."""

    ending: str
    won: bool
    score: float
    steps: int
    turns: int
    seconds: float
    error: str = ""
    notes: tuple[str, ...] = ()


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
