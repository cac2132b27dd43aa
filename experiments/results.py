"""What a run came to: outcomes read from a store, one for each task and seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trialogue.errors import UnknownName, UsageError
from trialogue.experiments.endings import ERRORS, Ending
from trialogue.experiments.records import IMPORTED
from trialogue.experiments.store import Store


@dataclass(frozen=True)
class Outcome:
    """One task with one seed, over all its trials. ``wins[t]``: solved in trial t or before.

    ``remembered[t]``: what was kept of earlier trials stood in prompts of trial t.
    ``played`` counts the trials that were really played: none follows a success. ``ending`` is that of the last of
    them, None while one is still to be played. Sums are over trials.
    """

    task: str
    type: str
    seed: int
    wins: tuple[bool, ...]
    remembered: tuple[bool, ...]
    played: int
    ending: str | None
    score: float
    episodes: tuple[int, ...]
    steps: int
    turns: int
    thoughts: int
    invalid: int
    unreadable: int
    repairs: int
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float

    @property
    def won(self) -> bool:
        return self.wins[-1]

    def won_within(self, trials: int) -> bool:
        return self.wins[trials - 1]

    @property
    def is_error(self) -> bool:
        return self.ending in ERRORS and not self.won


@dataclass(frozen=True)
class Run:
    """One agent on one task set, with everything its numbers depend on."""

    name: str
    agent: str
    tasks: str
    conditions: dict[str, Any]
    outcomes: tuple[Outcome, ...]
    retried: dict[str, int] = field(default_factory=dict)
    source: tuple[Path, int] | None = None
    """The store that it was read from, and its number there."""
    """Why model calls were made again, and how often."""

    @property
    def is_imported(self) -> bool:
        """Whether only its successes are known, from a file: what was done in the episodes is not."""
        return IMPORTED in self.conditions


def load_runs(spec: str) -> list[Run]:
    """``STORE`` or ``STORE:RUN``; STORE is a file, or the name of one in ``runs/``; RUN an agent or AGENT/TASKS.

    A fork is only loaded where it is named, as AGENT/TASKS#fork-N.
    """
    path, name = parse_spec(spec)
    with Store.read(path) as store:
        return [read_run(store, row) for row in chosen_runs(store, name)]


def chosen_runs(store: Store, name: str | None) -> list[Any]:
    """The rows of ``run`` that a name (None: all) stands for. Raises UnknownName."""
    if name is None:
        return list(store.runs())
    rows = store.runs(forks=True)
    chosen = [row for row in rows if name == row["name"] or (name == row["agent"] and row["parent"] is None)]
    if not chosen:
        raise UnknownName("run", name, {known for row in rows for known in (row["name"], row["agent"])})
    return chosen


def load_several(specs: Sequence[str]) -> list[Run]:
    """The runs of all ``specs``; those of several stores are named after their store."""
    if len(specs) == 1:
        return load_runs(specs[0])
    return [replace(run, name=f"{parse_spec(spec)[0].stem}:{run.name}") for spec in specs for run in load_runs(spec)]


def parse_spec(spec: str) -> tuple[Path, str | None]:
    """The store's file and the run's name, if one is given. Raises UsageError when there is no such file."""
    if Path(spec).is_file():
        return Path(spec), None
    base, colon, name = spec.rpartition(":")
    base, run = (base, name) if colon else (spec, None)
    for path in (Path(base), Path("runs") / f"{base}.sqlite"):
        if path.is_file():
            return path, run
    known = ", ".join(sorted(path.stem for path in Path("runs").glob("*.sqlite"))) or "none"
    raise UsageError(f"there is no store {base!r}: expected a file, or the name of one in runs/ (there: {known})")


def read_run(store: Store, run: Any) -> Run:
    """The run of a row of the store."""
    chains: dict[tuple[int, int], list[Any]] = {}
    for row in store.episodes(run["id"]):
        chains.setdefault((row["seed"], row["task_index"]), []).append(row)
    outcomes = tuple(_outcome(rows) for rows in chains.values())
    conditions = json.loads(run["conditions"])
    source = (store.path, int(run["id"]))
    return Run(run["name"], run["agent"], run["tasks"], conditions, outcomes, store.retried(run["id"]), source)


def _outcome(rows: Sequence[Any]) -> Outcome:
    wins: list[bool] = []
    for row in rows:
        wins.append(bool(row["won"]) or (bool(wins) and wins[-1]))
    played = [row for row in rows if row["ending"] not in (None, Ending.SOLVED_EARLIER)]
    unfinished = any(row["ending"] is None for row in rows)
    costs = [row["cost"] for row in played if row["cost"] is not None]

    def total(key: str) -> Any:
        return sum(row[key] or 0 for row in played)

    return Outcome(
        task=rows[0]["task"],
        type=rows[0]["type"],
        seed=rows[0]["seed"],
        wins=tuple(wins),
        remembered=tuple(bool(row["remembered"]) for row in rows),
        played=len(played),
        ending=None if unfinished else played[-1]["ending"],
        score=max((row["score"] or 0.0 for row in played), default=0.0),
        episodes=tuple(row["id"] for row in rows),
        steps=total("steps"),
        turns=total("turns"),
        thoughts=total("thoughts_count"),
        invalid=total("invalid"),
        unreadable=total("unreadable"),
        repairs=total("repairs"),
        calls=total("calls"),
        prompt_tokens=total("prompt_tokens"),
        cached_tokens=total("cached_tokens"),
        completion_tokens=total("completion_tokens"),
        cost=sum(costs) if costs else None,
        seconds=total("seconds"),
    )
