"""A store that is only looked at: the questions that pages ask of it, each answered for the rows that are shown."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from trialogue.errors import UsageError
from trialogue.experiments.failure_tags import Facts
from trialogue.experiments.records import StepRecord, dumps
from trialogue.experiments.store import Store
from trialogue.experiments.store_file import open_checked
from trialogue.experiments.web.filters import OPEN, Filter

Where = tuple[str, tuple[Any, ...]]


class Reader(Store):
    """Every question is bounded by the episodes that it names, so that a page costs the same in a large store."""

    @classmethod
    def open(cls, path: Path) -> Reader:
        """The store at ``path``, also while a run writes it. The connection refuses to write."""
        db = open_checked(path, locked=False)
        db.execute("PRAGMA query_only = ON")
        return cls(path, db, None)

    def __enter__(self) -> Reader:
        return self

    # -- lists ----------------------------------------------------------------------------------------

    def choices(self) -> dict[str, list[str]]:
        """What a list can be narrowed to: names of runs, task types and endings."""
        types = [row["type"] for row in self._db.execute("SELECT DISTINCT type FROM episode ORDER BY type")]
        endings = [row["ending"] for row in self._db.execute("SELECT DISTINCT ending FROM episode ORDER BY ending")]
        runs = [row["name"] for row in self.runs(forks=True)]
        return {"run": runs, "type": types, "ending": [ending or OPEN for ending in endings]}

    def ids(self, chosen: Filter, within: Sequence[int] | None = None) -> list[int]:
        """The numbers of all episodes in a list, in its order."""
        where, arguments = self._where(chosen, within)
        rows = self._db.execute(f"SELECT episode.id {_FROM} WHERE {where} ORDER BY {chosen.order}", arguments)
        return [row["id"] for row in rows]

    def count(self, chosen: Filter) -> int:
        where, arguments = self._where(chosen, None)
        return int(self._db.execute(f"SELECT count(*) AS n {_FROM} WHERE {where}", arguments).fetchone()["n"])

    def page(self, chosen: Filter, size: int, within: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """The rows of one page, each with the counts of its turns and steps."""
        where, arguments = self._where(chosen, within)
        query = f"SELECT {_COLUMNS} {_FROM} WHERE {where} ORDER BY {chosen.order} LIMIT ? OFFSET ?"
        rows = self._db.execute(query, (*arguments, size, size * (chosen.page - 1))).fetchall()
        counts = self._counts([row["id"] for row in rows])
        return [{**dict(row), **counts[row["id"]]} for row in rows]

    def search(self, chosen: Filter, seconds: float) -> tuple[list[int], bool]:
        """The episodes of a list in which its ``q`` stands, by number; False beside those found before the time was up.

        Looked through are task, goal, first observation, error, thoughts, actions and observations. Case is ignored
        in ASCII letters only (SQLite's LIKE).
        """
        where, arguments = self._where(chosen, None)
        plain, quoted = _pattern(chosen.q), _pattern(dumps(chosen.q)[1:-1])
        query = f"SELECT episode.id {_FROM} WHERE {where} AND ({_CONTAINS}) ORDER BY episode.id"
        found: list[int] = []
        with _deadline(self._db, seconds) as over:
            found.extend(row["id"] for row in self._db.execute(query, (*arguments, *[plain] * 7, quoted)))
        return found, not over

    def _where(self, chosen: Filter, within: Sequence[int] | None) -> Where:
        conditions: list[tuple[str, tuple[Any, ...]]] = [("1", ())]
        if chosen.run:
            named = [r["id"] for r in self.runs(forks=True) if chosen.run in (r["name"], r["agent"])]
            # The plus keeps SQLite on the order of the numbers: a search then gives what it finds as it finds it.
            conditions.append(("+episode.run IN (SELECT value FROM json_each(?))", (json.dumps(named),)))
        if chosen.type:
            conditions.append(("episode.type = ?", (chosen.type,)))
        if chosen.ending:
            conditions.append(("episode.ending IS ?", (None if chosen.ending == OPEN else chosen.ending,)))
        if chosen.won:
            conditions.append(("episode.ending NOT NULL AND episode.won = ?", (int(chosen.won == "yes"),)))
        if within is not None:
            conditions.append(("episode.id IN (SELECT value FROM json_each(?))", (json.dumps(list(within)),)))
        return " AND ".join(sql for sql, _ in conditions), tuple(value for _, values in conditions for value in values)

    def _counts(self, ids: Sequence[int]) -> dict[int, dict[str, int]]:
        counts = {id: {"thoughts": 0, "repairs": 0, "unreadable": 0, "invalid": 0} for id in ids}
        for query in (_TURN_COUNTS, _STEP_COUNTS):
            for row in self._db.execute(query, (json.dumps(list(ids)),)):
                counts[row["episode"]].update({key: row[key] for key in row.keys() if key != "episode"})  # noqa: SIM118
        return counts

    # -- single episodes ------------------------------------------------------------------------------

    def head(self, episode: int) -> dict[str, Any]:
        """What is known of one episode as a whole. Raises UsageError when there is none of this number."""
        row = self._db.execute(f"SELECT {_HEAD} {_FROM} WHERE episode.id = ?", (episode,)).fetchone()
        if row is None:
            last = self._db.execute("SELECT max(id) AS last FROM episode").fetchone()["last"]
            raise UsageError(f"{self.path} has no episode {episode}; its episodes are 1 to {last}")
        spent = self._db.execute(_SPENT, (episode,)).fetchone()
        return {**dict(row), **dict(spent), **self._counts([episode])[episode]}

    def rivals(self, episode: int) -> list[sqlite3.Row]:
        """The same task with the same seed and trial, played (or yet to be played) by other runs, forks included."""
        return self._db.execute(_RIVALS, (episode,)).fetchall()

    def shared_characters(self, episode: int, call: int) -> int:
        """How much of the prompt of ``call`` stood in an earlier one."""
        row = self._db.execute("SELECT shared FROM reply WHERE episode = ? AND call = ?", (episode, call)).fetchone()
        return int(row["shared"]) if row else 0

    def labels_of(self, episode: int) -> list[sqlite3.Row]:
        return self._db.execute("SELECT * FROM label WHERE episode = ? ORDER BY who, label", (episode,)).fetchall()

    # -- for tags -------------------------------------------------------------------------------------

    def marks(self, ids: Iterable[int]) -> dict[int, tuple[Any, ...]]:
        """By episode, for those that have been played to an end: what changes when it is played again."""
        rows = self._db.execute(_MARKS, (json.dumps(list(ids)),))
        return {row["id"]: (row["started"], row["seconds"], row["ending"]) for row in rows}

    def facts(self, ids: Sequence[int]) -> Iterator[tuple[int, Facts]]:
        """What tags are told from, for each of these episodes that has ended."""
        named = (json.dumps(list(ids)),)
        unreadable = {row["episode"]: row["unreadable"] for row in self._db.execute(_TURN_COUNTS, named)}
        steps = {
            episode: tuple(_step(row) for row in rows)
            for episode, rows in groupby(self._db.execute(_STEPS, named), key=lambda row: row["episode"])
        }
        for row in self._db.execute(_FACTS, named):
            yield (
                row["id"],
                Facts(
                    goal=row["goal"],
                    observation=row["observation"],
                    ending=row["ending"],
                    won=bool(row["won"]),
                    turns=row["turns"],
                    unreadable=unreadable.get(row["id"], 0),
                    step_limit=row["step_limit"] or 0,
                    steps=steps.get(row["id"], ()),
                ),
            )


@contextmanager
def _deadline(db: sqlite3.Connection, seconds: float) -> Iterator[list[bool]]:
    """Ends the statement that runs when the time is up; the list that is given then holds True."""
    until, over = time.monotonic() + seconds, list[bool]()
    db.set_progress_handler(lambda: time.monotonic() > until, 20_000)
    try:
        yield over
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        over.append(True)
    finally:
        db.set_progress_handler(None, 0)


def _pattern(text: str) -> str:
    """For LIKE … ESCAPE '!': the text anywhere, its own wildcards meant as they stand."""
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return f"%{text}%"


def _step(row: sqlite3.Row) -> StepRecord:
    values = {key: row[key] for key in row.keys() if key != "episode"}  # noqa: SIM118 (a Row iterates values)
    return StepRecord(**{**values, "valid": bool(row["valid"]), "won": bool(row["won"])})


_FROM = "FROM episode JOIN run ON run.id = episode.run"

_COLUMNS = (
    "episode.id, run.name AS run, run.agent, run.parent, episode.task, episode.type, episode.seed, episode.trial, "
    "episode.goal, episode.ending, episode.won, episode.score, episode.steps, episode.turns, episode.seconds"
)

_HEAD = (
    f"{_COLUMNS}, run.fork, run.tasks, run.conditions, episode.split, episode.dialect, episode.observation, "
    "episode.exemplars, episode.error, episode.notes, episode.lesson"
)

_CONTAINS = """
episode.task LIKE ? ESCAPE '!' OR episode.goal LIKE ? ESCAPE '!' OR episode.observation LIKE ? ESCAPE '!'
OR episode.error LIKE ? ESCAPE '!'
OR EXISTS (SELECT 1 FROM step WHERE step.episode = episode.id AND (
    step.action LIKE ? ESCAPE '!' OR step.observation LIKE ? ESCAPE '!' OR step.reason LIKE ? ESCAPE '!'))
OR EXISTS (SELECT 1 FROM turn WHERE turn.episode = episode.id AND turn.thoughts LIKE ? ESCAPE '!')
"""

_TURN_COUNTS = """
SELECT episode, sum(json_array_length(thoughts)) AS thoughts, sum(json_array_length(liberties)) AS repairs,
    sum(kind IN ('unreadable', 'truncated')) AS unreadable
FROM turn WHERE episode IN (SELECT value FROM json_each(?)) GROUP BY episode
"""

_STEP_COUNTS = """
SELECT episode, sum(NOT valid) AS invalid FROM step
WHERE episode IN (SELECT value FROM json_each(?)) GROUP BY episode
"""

_STEPS = "SELECT * FROM step WHERE episode IN (SELECT value FROM json_each(?)) ORDER BY episode, step"

_SPENT = """
SELECT count(*) AS calls, sum(prompt_tokens) AS prompt_tokens, sum(cached_tokens) AS cached_tokens,
    sum(completion_tokens) AS completion_tokens, sum(cost) AS cost FROM reply WHERE episode = ?
"""

_MARKS = """
SELECT id, started, seconds, ending FROM episode
WHERE id IN (SELECT value FROM json_each(?)) AND ending NOT NULL AND ending != 'solved_earlier'
"""

_FACTS = """
SELECT episode.id, goal, observation, ending, won, turns, json_extract(conditions, '$.limits.steps') AS step_limit
FROM episode JOIN run ON run.id = episode.run
WHERE episode.id IN (SELECT value FROM json_each(?)) AND ending NOT NULL AND ending != 'solved_earlier'
ORDER BY episode.id
"""

_RIVALS = """
SELECT other.id, run.name AS run, other.ending, other.won, other.steps
FROM episode this JOIN run JOIN episode other ON other.run = run.id
    AND (other.task_index, other.seed, other.trial) = (this.task_index, this.seed, this.trial)
WHERE this.id = ? AND other.task = this.task AND other.id != this.id AND other.ending IS NOT 'solved_earlier'
ORDER BY other.id
"""
