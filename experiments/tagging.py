"""Failure tags of whole runs, in one pass over their steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from trialogue.experiments.failure_tags import KINDS, Facts, Tag, tags_of
from trialogue.experiments.records import dumps
from trialogue.experiments.results import Run, chosen_runs
from trialogue.experiments.store import Store


@dataclass(frozen=True)
class Tagged:
    """An episode that was played to its end, and its tags."""

    episode: int
    run: str
    task: str
    ending: str
    won: bool
    tags: tuple[Tag, ...]


@dataclass(frozen=True)
class Count:
    """How many episodes have a tag, one of them, and the step that shows it there."""

    kind: str
    episodes: int
    example: int
    step: int


def tagged(store: Store, name: str | None = None) -> Iterator[Tagged]:
    """Every episode of one run (an agent, or AGENT/TASKS), or of all, that was played to its end, in order.

    Raises UnknownName.
    """
    for run in chosen_runs(store, name):
        yield from of_run(store, run)


def of_run(store: Store, run: Any) -> Iterator[Tagged]:
    """The same for a row of ``run``."""
    limit = int(json.loads(run["conditions"]).get("limits", {}).get("steps", 0))
    for row, steps in _with_steps(store, run["id"]):
        facts = Facts(
            goal=row["goal"],
            observation=row["observation"],
            ending=row["ending"],
            won=bool(row["won"]),
            turns=row["turns"],
            unreadable=row["unreadable"],
            step_limit=limit,
            steps=steps,
        )
        yield Tagged(row["id"], run["name"], row["task"], row["ending"], facts.won, tuple(tags_of(facts)))


def count(episodes: Iterator[Tagged]) -> list[Count]:
    """Each tag that some episode has, in the order of KINDS, with the first of them as an example."""
    numbers: dict[str, int] = {}
    first: dict[str, tuple[int, int]] = {}
    for episode in episodes:
        for tag in episode.tags:
            numbers[tag.kind] = numbers.get(tag.kind, 0) + 1
            first.setdefault(tag.kind, (episode.episode, tag.step))
    return [Count(kind, numbers[kind], *first[kind]) for kind in KINDS if kind in numbers]


def counts_of(run: Run) -> list[Count]:
    """Those of a run that was read from a store; of an imported one no steps are known, so it has none."""
    if run.source is None or run.is_imported:
        return []
    path, number = run.source
    with Store.read(path) as store:
        rows = [row for row in store.runs(forks=True) if row["id"] == number]
        return count(one for row in rows for one in of_run(store, row))


def as_json(episode: Tagged) -> str:
    return dumps(asdict(episode))


class _Step(NamedTuple):
    """A step as tags are told from it; ``valid`` is 0 or 1."""

    episode: int
    step: int
    action: str | None
    observation: str
    valid: int
    reason: str
    score: float


def _with_steps(store: Store, run: int) -> Iterator[tuple[Any, tuple[_Step, ...]]]:
    """Merges two streams in the order of their episodes: no query, and little memory, for each episode."""
    groups = groupby(map(_Step._make, store.telling_rows(run)), key=attrgetter("episode"))
    number, steps = next(groups, (None, iter(())))
    for row in store.ended_rows(run):
        while number is not None and number < row["id"]:
            number, steps = next(groups, (None, iter(())))
        yield row, tuple(steps) if number == row["id"] else ()
