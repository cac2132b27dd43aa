"""The store: one SQLite file per experiment, written as things happen (schema: ``schema.sql``).

Every write is its own transaction in write-ahead mode, so a killed process loses only what was in flight.
A second process is kept out by a lock on ``FILE.lock`` that the operating system drops with its owner.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import IO, Any

from trialogue import __version__
from trialogue.agents.contract import Lesson, Turn
from trialogue.agents.models.contract import Message, Reply, Request, ToolCall, Usage
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.experiments.endings import ERRORS
from trialogue.experiments.records import EndRecord, EpisodePlan, RunPlan, StepRecord, dumps
from trialogue.experiments.store_file import SCHEMA, connect, lock, open_checked


class Store:
    """Open with :meth:`create`, :meth:`resume` (both write, and lock) or :meth:`read`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: IO[str] | None) -> None:
        self.path = path
        self._db = connection
        self._lock = lock
        self._last_prompt: dict[int, tuple[int, str]] = {}

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        name: str,
        config: Mapping[str, Any],
        runs: Iterable[RunPlan],
        episodes: Iterable[EpisodePlan],
    ) -> Store:
        """A new store with everything that is planned, so that nothing can ever be missing from a report.

        The file appears whole or not at all. Raises UsageError when it exists or another process makes it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        held = lock(path)
        if path.exists():
            raise UsageError(f"{path} exists already; choose another name, or run the same configuration to resume it")
        draft = path.with_name(path.name + ".new")
        draft.unlink(missing_ok=True)
        meta = {"schema": SCHEMA, "trialogue": __version__, "name": name, "config": dumps(config)}
        with closing(sqlite3.connect(draft)) as db:
            db.executescript(resources.files(__package__).joinpath("schema.sql").read_text("utf-8"))
            db.executemany("INSERT INTO meta VALUES (?, ?)", [*meta.items(), ("created", repr(time.time()))])
            db.executemany(
                "INSERT INTO run (id, name, agent, tasks, conditions) VALUES (?, ?, ?, ?, '{}')",
                [(run.id, run.name, run.agent, run.tasks) for run in runs],
            )
            db.executemany(
                "INSERT INTO episode (id, run, task, task_index, type, split, seed, trial) VALUES (?,?,?,?,?,?,?,?)",
                [(e.id, e.run, e.task, e.task_index, e.type, e.split, e.seed, e.trial) for e in episodes],
            )
            db.commit()
        draft.replace(path)
        return cls(path, connect(path), held)

    @classmethod
    def resume(cls, path: Path) -> Store:
        """An existing store, to be continued. Raises UsageError when another process holds it."""
        held = lock(path)
        try:
            return cls(path, open_checked(path, locked=True), held)
        except BaseException:
            held.close()
            raise

    @classmethod
    def read(cls, path: Path) -> Store:
        """An existing store, to be looked at; also while another process writes it."""
        return cls(path, open_checked(path, locked=False), None)

    def close(self) -> None:
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what happens ---------------------------------------------------------------------------------

    def set_conditions(self, run: int, conditions: Mapping[str, Any]) -> None:
        self._db.execute("UPDATE run SET conditions = ? WHERE id = ?", (dumps(conditions), run))

    def start_episode(self, episode: int) -> list[StepRecord]:
        """Begins an episode, or begins it again: all but its replies goes. Returns the old steps."""
        with self._transaction():
            old = list(self.steps(episode))
            self._empty(episode)
            self._db.execute("UPDATE episode SET started = ? WHERE id = ?", (time.time(), episode))
        return old

    def skip_episode(self, episode: int, end: EndRecord) -> None:
        """Ends an episode that is not played; what may have been played of it before goes."""
        with self._transaction():
            self.drop_replies(episode)
            self._empty(episode)
            self.end_episode(episode, end)

    def _empty(self, episode: int) -> None:
        self._db.execute("DELETE FROM turn WHERE episode = ?", (episode,))
        self._db.execute("DELETE FROM step WHERE episode = ?", (episode,))
        self._db.execute(
            "UPDATE episode SET started = NULL, lesson = NULL, goal = '', dialect = '', observation = '', "
            "exemplars = '[]' WHERE id = ?",
            (episode,),
        )

    def reopen(self, endings: Sequence[str]) -> int:
        """Lets episodes with these endings be played again, and the later trials of each. Returns how many.

        What a later trial is told, and whether it is played at all, hangs on the earlier ones. Replies stay: what was
        paid for is used again as far as it fits; only that a prompt was too long is asked again. Raises UnknownName
        for an ending that no episode has.
        """
        with self._transaction():
            found = {
                row["ending"] for row in self._db.execute("SELECT DISTINCT ending FROM episode WHERE ending NOT NULL")
            }
            for ending in endings:
                if ending not in found:
                    raise UnknownName("ending in this store", ending, found)
            first = ",".join("?" * len(endings))
            rows = self._db.execute(_REOPENED.format(endings=first), tuple(endings)).fetchall()
            update = "UPDATE episode SET ending = NULL, won = NULL, error = '', lesson = NULL WHERE id = ?"
            self._db.executemany(update, [(row["id"],) for row in rows])
            self._db.executemany(_DROP_OVERFLOW, [(row["id"], row["id"]) for row in rows])
        return len(rows)

    def describe_episode(self, episode: int, *, goal: str, dialect: str, observation: str) -> None:
        self._db.execute(
            "UPDATE episode SET goal = ?, dialect = ?, observation = ? WHERE id = ?",
            (goal, dialect, observation, episode),
        )

    def set_exemplars(self, episode: int, exemplars: Sequence[str]) -> None:
        self._db.execute("UPDATE episode SET exemplars = ? WHERE id = ?", (_listed(exemplars), episode))

    def add_reply(self, episode: int, call: int, request: Request, request_hash: str, reply: Reply) -> None:
        prompt = render_prompt(request)
        base, before = self._prompt_before(episode, call)
        shared = _common_prefix(before, prompt)
        self._last_prompt[episode] = call, prompt
        columns = {
            "episode": episode,
            "call": call,
            "request_hash": request_hash,
            "base": base,
            "shared": shared,
            "prompt": prompt[shared:],
            "request": dumps(settings_of(request)),
            "text": reply.text,
            "finish_reason": reply.finish_reason,
            "prompt_tokens": reply.usage.prompt,
            "completion_tokens": reply.usage.completion,
            "cached_tokens": reply.usage.cached,
            "cost": reply.cost,
            "retries": reply.retries,
            "seconds": reply.seconds,
            "calls": _listed(map(vars, reply.calls)),
            "retried": _listed(reply.retried),
        }
        self._insert("reply", columns)

    def drop_replies(self, episode: int, from_call: int = 0) -> None:
        """Forgets replies that no longer fit: their prompt is not the one that is being asked now."""
        self._last_prompt.pop(episode, None)
        self._db.execute("DELETE FROM reply WHERE episode = ? AND call >= ?", (episode, from_call))

    def add_turn(self, episode: int, number: int, calls: int, turn: Turn) -> None:
        columns = {
            "episode": episode,
            "turn": number,
            "calls": calls,
            "kind": turn.kind,
            "thoughts": _listed(turn.thoughts),
            "action": turn.action,
            "liberties": _listed(map(vars, turn.liberties)),
            "problem": turn.problem,
            "event": turn.event,
            "memory": turn.memory,
            "notes": _listed(turn.notes),
        }
        self._insert("turn", columns)

    def add_step(self, episode: int, step: StepRecord) -> None:
        self._insert("step", {"episode": episode, **vars(step)})

    def set_lesson(self, episode: int, lesson: Lesson) -> None:
        self._db.execute("UPDATE episode SET lesson = ? WHERE id = ?", (dumps(asdict(lesson)), episode))

    def end_episode(self, episode: int, end: EndRecord) -> None:
        self._last_prompt.pop(episode, None)
        self._db.execute(
            "UPDATE episode SET ending=?, won=?, score=?, steps=?, turns=?, seconds=?, error=?, notes=? WHERE id=?",
            (
                *(end.ending, int(end.won), end.score, end.steps, end.turns, end.seconds),
                *(end.error, _listed(end.notes), episode),
            ),
        )

    def change_config(self, config: Mapping[str, Any], changes: Sequence[str]) -> None:
        """The configuration from now on; what ``changes`` in it is kept, with what was changed before."""
        told = {"config": dumps(config), "changes": dumps([*self.changes(), *changes])}
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", told.items())

    # -- what is known --------------------------------------------------------------------------------

    def changes(self) -> list[str]:
        """What was changed in the configuration while the experiment was under way."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'changes'").fetchone()
        return [] if row is None else list(json.loads(row["value"]))

    def meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise DataError(f"{self.path} holds no {key!r}: it is not a complete store")
        return str(row["value"])

    def runs(self, *, forks: bool = False) -> list[sqlite3.Row]:
        """Those of the plan, with ``forks`` also the others."""
        where = "" if forks else "WHERE parent IS NULL"
        return self._db.execute(f"SELECT * FROM run {where} ORDER BY id").fetchall()  # noqa: S608

    def episodes(self, run: int | None = None, *, forks: bool = False) -> list[sqlite3.Row]:
        """Rows of ``episode`` with the sums of their turns, steps and replies, in the order of the plan.

        Of one run, or of all runs of the plan; with ``forks`` also of the others.
        """
        if run is not None:
            return self._chosen("WHERE episode.run = ?", run)
        return self._chosen("" if forks else "WHERE run.parent IS NULL")

    def planned(self) -> list[sqlite3.Row]:
        """The episodes of the plan in its order, without the sums: what is to be played, and how far it came."""
        return self._db.execute(_PLANNED).fetchall()

    def spent(self) -> tuple[int, float]:
        """Tokens read and written, and money, of all that was asked for the plan."""
        row = self._db.execute(_SPENT).fetchone()
        return row["tokens"], row["cost"]

    def episode(self, episode: int) -> sqlite3.Row:
        rows = self._chosen("WHERE episode.id = ?", episode)
        if not rows:
            last = self._db.execute("SELECT max(id) AS last FROM episode").fetchone()["last"]
            raise UsageError(f"{self.path} has no episode {episode}; its episodes are 1 to {last}")
        row: sqlite3.Row = rows[0]
        return row

    def _chosen(self, where: str, *values: int) -> list[sqlite3.Row]:
        """Episodes with their sums, in the order of the plan. Only what belongs to them is summed up."""
        return self._db.execute(_EPISODES.format(where=where), values).fetchall()

    def steps(self, episode: int) -> Iterator[StepRecord]:
        for row in self._db.execute("SELECT * FROM step WHERE episode = ? ORDER BY step", (episode,)):
            values = {key: row[key] for key in row.keys() if key != "episode"}  # noqa: SIM118 (a Row iterates values)
            yield StepRecord(**{**values, "valid": bool(row["valid"]), "won": bool(row["won"])})

    def retried(self, run: int) -> dict[str, int]:
        """Why calls of the run's models were made again, and how often, the most frequent first."""
        rows = self._db.execute(
            "SELECT value, count(*) AS times FROM reply JOIN episode ON episode.id = reply.episode, "
            "json_each(reply.retried) WHERE episode.run = ? AND reply.retried != '[]' "
            "GROUP BY value ORDER BY times DESC, value",
            (run,),
        )
        return {row["value"]: row["times"] for row in rows}

    def turns(self, episode: int) -> list[sqlite3.Row]:
        return self._db.execute("SELECT * FROM turn WHERE episode = ? ORDER BY turn", (episode,)).fetchall()

    def replies(self, episode: int) -> dict[int, tuple[str, Reply]]:
        """(request hash, reply) by call, in the order of the calls; a call that failed is missing."""
        rows = self._db.execute("SELECT * FROM reply WHERE episode = ? ORDER BY call", (episode,)).fetchall()
        return {row["call"]: (row["request_hash"], _reply(row)) for row in rows}

    def prompts(self, episode: int) -> dict[int, str]:
        """Every prompt of the episode by call, whole, rebuilt from what each added to an earlier one."""
        prompts: dict[int, str] = {}
        rows = "SELECT call, base, shared, prompt FROM reply WHERE episode = ? ORDER BY call"
        for row in self._db.execute(rows, (episode,)):
            prompts[row["call"]] = prompts.get(row["base"], "")[: row["shared"]] + row["prompt"]
        return prompts

    def request_settings(self, episode: int) -> dict[int, dict[str, Any]]:
        """All that each request of the episode said beside its prompt, by call."""
        rows = self._db.execute("SELECT call, request FROM reply WHERE episode = ? ORDER BY call", (episode,))
        return {row["call"]: json.loads(row["request"]) for row in rows}

    def step_rows(self, run: int) -> Iterator[sqlite3.Row]:
        """The steps of a whole run, ordered by episode and step, one at a time."""
        return self._db.execute(_STEPS, (run,))

    def telling_rows(self, run: int) -> Iterator[sqlite3.Row]:
        """The steps of a run that failure tags can be told from, in order, one at a time: (episode, step, action,
        observation, valid, reason, score). Of a solved episode that is so only if it ended with an answer; of one that
        ended in an error, never."""
        return self._db.execute(_TELLING, (run, dumps(sorted(ERRORS))))

    def ended_rows(self, run: int) -> Iterator[sqlite3.Row]:
        """What failure tags need of each episode of a run that was played to its end, in order, one at a time."""
        return self._db.execute(_ENDED, (run,))

    def forks_of(self, episode: int) -> list[sqlite3.Row]:
        """The episodes that fork this one."""
        return self._chosen("WHERE run.parent = ?", episode)

    def labels(self, *, run: int | None = None, episode: int | None = None) -> list[sqlite3.Row]:
        """What people said of one episode, of those of one run, or of all, in the order of the episodes."""
        where, given = ("episode.run = ?", run) if episode is None else ("episode.id = ?", episode)
        where, values = ("", ()) if given is None else (f"WHERE {where}", (given,))
        return self._db.execute(f"{_LABELS} {where} ORDER BY episode.id, who, label", values).fetchall()

    def lessons(self, episode: int) -> tuple[Lesson, ...]:
        """What is kept of the trials before this one, at the same task with the same seed, oldest first."""
        rows = self._db.execute(_LESSONS, (episode,)).fetchall()
        return tuple(Lesson(**json.loads(row["lesson"])) for row in rows)

    # -- forks ------------------------------------------------------------------------------------------

    def add_fork(self, parent: int, name: str, fork: Mapping[str, Any], calls: int) -> int:
        """A run of one episode that begins with the first ``calls`` replies of ``parent``. Returns the episode."""
        with self._transaction():
            run = self._db.execute(_FORK_RUN, (name, dumps(fork), parent)).lastrowid
            episode = self._db.execute(_FORK_EPISODE, (run, parent)).lastrowid
            told = self._db.execute("PRAGMA table_info(reply)").fetchall()
            columns = ", ".join(column["name"] for column in told if column["name"] != "episode")
            copied = f"SELECT ?, {columns} FROM reply WHERE episode = ? AND call < ?"  # noqa: S608
            self._db.execute(f"INSERT INTO reply (episode, {columns}) {copied}", (episode, parent, calls))
        assert episode is not None
        return episode

    def remove_fork(self, episode: int) -> None:
        """Takes a fork back, with all that is recorded of it."""
        run = self.episode(episode)["run"]
        with self._transaction():
            for table in ("reply", "turn", "step", "label"):
                self._db.execute(f"DELETE FROM {table} WHERE episode = ?", (episode,))  # noqa: S608
            self._db.execute("DELETE FROM episode WHERE id = ?", (episode,))
            self._db.execute("DELETE FROM run WHERE id = ? AND parent NOT NULL", (run,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """What is written inside is written whole or not at all."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.rollback()
            raise
        self._db.commit()

    def _insert(self, table: str, columns: Mapping[str, Any]) -> None:
        names, places = ",".join(columns), ",".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({names}) VALUES ({places})"  # noqa: S608
        self._db.execute(statement, tuple(columns.values()))

    def _prompt_before(self, episode: int, call: int) -> tuple[int | None, str]:
        """The last stored call before ``call``, with its prompt; (None, "") where there is none."""
        last = self._last_prompt.get(episode)
        if last is not None and last[0] == call - 1:
            return last
        earlier = [(number, prompt) for number, prompt in self.prompts(episode).items() if number < call]
        return earlier[-1] if earlier else (None, "")


_LESSONS = """
SELECT earlier.lesson FROM episode this JOIN episode earlier
    ON (earlier.run, earlier.task_index, earlier.seed) = (this.run, this.task_index, this.seed)
    AND earlier.trial < this.trial
WHERE this.id = ? AND earlier.lesson NOT NULL ORDER BY earlier.trial
"""

# Rows of one run are looked up by the numbers of its episodes, so that they come in order without being sorted: a
# join would carry all their texts through a temporary table first.

_ENDED = """
SELECT id, task, goal, observation, ending, won, turns,
    (SELECT count(*) FROM turn WHERE episode = episode.id AND kind IN ('unreadable', 'truncated')) AS unreadable
FROM episode WHERE id IN (SELECT id FROM episode WHERE run = ?) AND ending NOT NULL AND ending != 'solved_earlier'
ORDER BY id
"""

_STEPS = """
SELECT episode, step, turn, action, observation, valid, reason, reward, score, won, seconds FROM step
WHERE episode IN (SELECT id FROM episode WHERE run = ?) ORDER BY episode, step
"""

_TELLING = """
SELECT episode, step, action, observation, valid, reason, score FROM step
WHERE episode IN (SELECT id FROM episode
    WHERE run = ? AND ending NOT NULL AND ending NOT IN (SELECT value FROM json_each(?))
        AND (NOT won OR (SELECT action FROM step last WHERE last.episode = episode.id ORDER BY last.step DESC LIMIT 1)
            LIKE 'finish[%'))
ORDER BY episode, step
"""

_LABELS = """
SELECT label.*, episode.run AS run FROM label JOIN episode ON episode.id = label.episode
"""

_FORK_RUN = """
INSERT INTO run (name, agent, tasks, conditions, parent, fork)
SELECT ?, run.agent, run.tasks, run.conditions, episode.id, ?
FROM episode JOIN run ON run.id = episode.run WHERE episode.id = ?
"""

_FORK_EPISODE = """
INSERT INTO episode (run, task, task_index, type, split, seed, trial)
SELECT ?, task, task_index, type, split, seed, trial FROM episode WHERE id = ?
"""

_DROP_OVERFLOW = """
DELETE FROM reply WHERE episode = ? AND finish_reason = 'overflow'
    AND call = (SELECT max(call) FROM reply WHERE episode = ?)
"""

_REOPENED = """
SELECT DISTINCT later.id FROM episode first JOIN episode later
    ON (later.run, later.task_index, later.seed) = (first.run, first.task_index, first.seed)
    AND later.trial >= first.trial
WHERE first.ending IN ({endings}) AND later.ending NOT NULL
    AND first.run IN (SELECT id FROM run WHERE parent IS NULL)
"""

_PLANNED = """
SELECT episode.id, run, run.name AS run_name, agent, tasks, task, task_index, type, seed, trial, ending, won
FROM episode JOIN run ON run.id = episode.run WHERE run.parent IS NULL ORDER BY episode.id
"""

_SPENT = """
SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens, total(cost) AS cost FROM reply
WHERE episode IN (SELECT episode.id FROM episode JOIN run ON run.id = episode.run WHERE run.parent IS NULL)
"""

_EPISODES = """
WITH chosen AS (SELECT episode.id AS id FROM episode JOIN run ON run.id = episode.run {where})
SELECT episode.*, run.name AS run_name, run.agent AS agent, run.tasks AS tasks, run.parent AS parent, run.fork AS fork,
    t.thoughts_count, t.repairs, t.unreadable, t.remembered, s.invalid, r.calls, r.prompt_tokens, r.completion_tokens,
    r.cached_tokens, r.cost, r.retries
FROM chosen JOIN episode ON episode.id = chosen.id JOIN run ON run.id = episode.run
LEFT JOIN (SELECT episode, sum(json_array_length(thoughts)) AS thoughts_count,
                  sum(json_array_length(liberties)) AS repairs,
                  sum(kind IN ('unreadable', 'truncated')) AS unreadable,
                  max(memory != '') AS remembered FROM turn WHERE episode IN chosen GROUP BY episode) t
    ON t.episode = episode.id
LEFT JOIN (SELECT episode, sum(NOT valid) AS invalid FROM step WHERE episode IN chosen GROUP BY episode) s
    ON s.episode = episode.id
LEFT JOIN (SELECT episode, count(*) AS calls, sum(prompt_tokens) AS prompt_tokens,
                  sum(completion_tokens) AS completion_tokens, sum(cached_tokens) AS cached_tokens,
                  sum(cost) AS cost, sum(retries) AS retries FROM reply WHERE episode IN chosen GROUP BY episode) r
    ON r.episode = episode.id
ORDER BY episode.id
"""


def render_prompt(request: Request) -> str:
    """The prompt as one text; chat messages one after the other, each under its role."""
    if isinstance(request.prompt, str):
        return request.prompt
    return "".join(_render_message(message) for message in request.prompt)


def _render_message(message: Message) -> str:
    head = f"{message.role} {message.call_id}".rstrip()
    calls = "".join(f"call {call.id}: {call.name} {call.arguments}\n" for call in message.calls)
    return f"[{head}]\n{message.content}\n{calls}"


def settings_of(request: Request) -> dict[str, Any]:
    """All that a request says beside its prompt, in JSON values."""
    told = {name: value for name, value in vars(request).items() if name != "prompt"}
    told["constraint"] = request.constraint and vars(request.constraint)
    told["tools"] = [vars(tool) for tool in request.tools]
    return told


def _listed(values: Iterable[object]) -> str:
    """A JSON list. Most of those of a turn are empty."""
    told = list(values)
    return dumps(told) if told else "[]"


def _reply(row: sqlite3.Row) -> Reply:
    usage = Usage(row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"])
    calls = tuple(ToolCall(**call) for call in json.loads(row["calls"]))
    why = tuple(json.loads(row["retried"]))
    return Reply(row["text"], row["finish_reason"], usage, row["cost"], row["retries"], row["seconds"], calls, why)


def _common_prefix(a: str, b: str) -> int:
    if b.startswith(a):
        return len(a)
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
