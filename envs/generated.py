"""What generated tasks have in common: their splits, the seeds of each, and ids that hold all that decides a task.

An id such as ``generated_eval/heat/s1000007-r12-d14`` begins with split (and type); an environment says what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trialogue.errors import UnknownName, UsageError

SEEDS = {"generated_train": range(1_000_000), "generated_eval": range(1_000_000, 2_000_000)}
"""The seeds of each split; they do not overlap, so no evaluation task can be met in training."""

SPLITS = tuple(SEEDS)
SEED = r"(0|[1-9]\d{0,6})"
"""A seed in an id, as a pattern: there is one way to write each."""


def read(task_id: str, pattern: str, example: str) -> Sequence[str]:
    """The groups of ``pattern`` in an id. Raises UsageError, which shows an ``example``, for text of another form."""
    match = re.fullmatch(pattern, task_id, re.ASCII)
    if match is None:
        raise UsageError(f"{task_id[:80]!r} is not the id of a generated task; one looks like {example}.")
    return match.groups()


def require_split(split: str) -> None:
    """Raises UnknownName for a split that is not generated."""
    if split not in SEEDS:
        raise UnknownName("generated split", split, SEEDS)


def require_seed(split: str, seed: int, what: str = "seed") -> None:
    """Raises UsageError for a seed that is not one of ``split``, UnknownName for a split that is not generated."""
    require_split(split)
    require(f"a {what} of {split}", seed, SEEDS[split])


def require_type(type: str, types: Iterable[str]) -> None:
    """Raises UnknownName, with the nearest, for a type that is none of ``types``."""
    if type not in types:
        raise UnknownName("task type", type, types)


def require(what: str, value: int, allowed: range) -> None:
    """Raises UsageError for a number that is not one of ``allowed``."""
    if value not in allowed:
        raise UsageError(f"{what} must be from {allowed[0]} to {allowed[-1]}; got {value!r}.")


def seeds(split: str, count: int) -> range:
    """The first ``count`` seeds of ``split``, one a task. Raises UsageError for more than there are, UnknownName."""
    require_split(split)
    require("count", count, range(1, len(SEEDS[split]) + 1))
    return SEEDS[split][:count]
