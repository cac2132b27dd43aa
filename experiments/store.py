"""The store: one SQLite file per experiment, written as things happen (schema: ``schema.sql``).

Every write is its own transaction in write-ahead mode, so a killed process loses only what was in flight.
A second process is kept out by a lock on ``FILE.lock`` that the operating system drops with its owner.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import IO, Any

from trialogue import __version__
from trialogue.agents.contract import Turn
from trialogue.agents.models.contract import Message, Reply, Request, Usage
from trialogue.errors import DataError, UnknownName, UsageError

SCHEMA = "1"


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


class Store:
    """Open with :meth:`create`, :meth:`resume` (both write, and lock) or :meth:`read`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: IO[str] | None) -> None:
        self.path = path
        self._db = connection
        self._lock = lock
        self._last_prompt: dict[int, str] = {}

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
        lock = _lock(path)
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
        return cls(path, _connect(path), lock)

    @classmethod
    def resume(cls, path: Path) -> Store:
        """An existing store, to be continued. Raises UsageError when another process holds it."""
        lock = _lock(path)
        return cls(path, _checked(path), lock)

    @classmethod
    def read(cls, path: Path) -> Store:
        """An existing store, to be looked at; also while another process writes it."""
        return cls(path, _checked(path), None)

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
        with self._db:
            self._db.execute("UPDATE run SET conditions = ? WHERE id = ?", (dumps(conditions), run))

    def start_episode(self, episode: int) -> list[StepRecord]:
        """Begins an episode, or begins it again: its turns and steps go, its replies stay. Returns the old steps."""
        with self._db:
            old = list(self.steps(episode))
            self._db.execute("DELETE FROM turn WHERE episode = ?", (episode,))
            self._db.execute("DELETE FROM step WHERE episode = ?", (episode,))
            self._db.execute("UPDATE episode SET started = ? WHERE id = ?", (time.time(), episode))
        return old

    def reopen(self, endings: Sequence[str]) -> int:
        """Lets episodes with these endings be played again. Returns how many.

        Their replies stay: what was paid for is used again up to where it ended. Raises UnknownName for an ending
        that no episode has.
        """
        with self._db:
            found = {
                row["ending"] for row in self._db.execute("SELECT DISTINCT ending FROM episode WHERE ending NOT NULL")
            }
            for ending in endings:
                if ending not in found:
                    raise UnknownName("ending in this store", ending, found)
            update = "UPDATE episode SET ending = NULL, won = NULL, error = '' WHERE ending = ?"
            return sum(self._db.execute(update, (ending,)).rowcount for ending in set(endings))

    def describe_episode(self, episode: int, *, goal: str, dialect: str, observation: str) -> None:
        with self._db:
            self._db.execute(
                "UPDATE episode SET goal = ?, dialect = ?, observation = ? WHERE id = ?",
                (goal, dialect, observation, episode),
            )

    def set_exemplars(self, episode: int, exemplars: Sequence[str]) -> None:
        with self._db:
            self._db.execute("UPDATE episode SET exemplars = ? WHERE id = ?", (dumps(list(exemplars)), episode))

    def add_reply(self, episode: int, call: int, request: Request, request_hash: str, reply: Reply) -> None:
        prompt = render_prompt(request)
        shared = _common_prefix(self._prompt_before(episode, call), prompt)
        self._last_prompt[episode] = prompt
        row = (
            *(episode, call, request_hash, shared, prompt[shared:], dumps(_request_settings(request))),
            *(reply.text, reply.finish_reason, reply.usage.prompt, reply.usage.completion, reply.usage.cached),
            *(reply.cost, reply.retries, reply.seconds),
        )
        with self._db:
            self._db.execute(f"INSERT OR REPLACE INTO reply VALUES ({','.join('?' * len(row))})", row)  # noqa: S608

    def drop_replies(self, episode: int, from_call: int = 0) -> None:
        """Forgets replies that no longer fit: their prompt is not the one that is being asked now."""
        self._last_prompt.pop(episode, None)
        with self._db:
            self._db.execute("DELETE FROM reply WHERE episode = ? AND call >= ?", (episode, from_call))

    def add_turn(self, episode: int, number: int, calls: int, turn: Turn) -> None:
        liberties = [asdict(liberty) for liberty in turn.liberties]
        row = (episode, number, calls, turn.kind, dumps(list(turn.thoughts)), turn.action, dumps(liberties))
        with self._db:
            self._db.execute("INSERT INTO turn VALUES (?,?,?,?,?,?,?,?,?)", (*row, turn.problem, turn.event))

    def add_step(self, episode: int, step: StepRecord) -> None:
        row = (
            *(episode, step.step, step.turn, step.action, step.observation, int(step.valid), step.reason),
            *(step.reward, step.score, int(step.won), step.seconds),
        )
        with self._db:
            self._db.execute("INSERT INTO step VALUES (?,?,?,?,?,?,?,?,?,?,?)", row)

    def end_episode(self, episode: int, end: EndRecord) -> None:
        self._last_prompt.pop(episode, None)
        with self._db:
            self._db.execute(
                "UPDATE episode SET ending=?, won=?, score=?, steps=?, turns=?, seconds=?, error=?, notes=? WHERE id=?",
                (
                    *(end.ending, int(end.won), end.score, end.steps, end.turns, end.seconds),
                    *(end.error, dumps(list(end.notes)), episode),
                ),
            )

    # -- what is known --------------------------------------------------------------------------------

    def meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise DataError(f"{self.path} holds no {key!r}: it is not a complete store")
        return str(row["value"])

    def runs(self) -> list[sqlite3.Row]:
        return self._db.execute("SELECT * FROM run ORDER BY id").fetchall()

    def episodes(self, run: int | None = None) -> list[sqlite3.Row]:
        """Rows of ``episode`` with the sums of their turns, steps and replies, in the order of the plan."""
        where, arguments = ("WHERE episode.run = ?", (run,)) if run is not None else ("", ())
        return self._db.execute(f"{_EPISODES} {where} ORDER BY episode.id", arguments).fetchall()

    def episode(self, episode: int) -> sqlite3.Row:
        rows = self._db.execute(f"{_EPISODES} WHERE episode.id = ?", (episode,)).fetchall()
        if not rows:
            last = self._db.execute("SELECT max(id) AS last FROM episode").fetchone()["last"]
            raise UsageError(f"{self.path} has no episode {episode}; its episodes are 1 to {last}")
        row: sqlite3.Row = rows[0]
        return row

    def steps(self, episode: int) -> Iterator[StepRecord]:
        for row in self._db.execute("SELECT * FROM step WHERE episode = ? ORDER BY step", (episode,)):
            values = {key: row[key] for key in row.keys() if key != "episode"}  # noqa: SIM118 (a Row iterates values)
            yield StepRecord(**{**values, "valid": bool(row["valid"]), "won": bool(row["won"])})

    def turns(self, episode: int) -> list[sqlite3.Row]:
        return self._db.execute("SELECT * FROM turn WHERE episode = ? ORDER BY turn", (episode,)).fetchall()

    def replies(self, episode: int) -> list[tuple[str, Reply]]:
        """(request hash, reply) in the order of the calls."""
        rows = self._db.execute("SELECT * FROM reply WHERE episode = ? ORDER BY call", (episode,)).fetchall()
        return [(row["request_hash"], _reply(row)) for row in rows]

    def prompts(self, episode: int) -> list[str]:
        """Every prompt of the episode, whole, rebuilt from what each added to the one before."""
        prompts: list[str] = []
        for row in self._db.execute("SELECT shared, prompt FROM reply WHERE episode = ? ORDER BY call", (episode,)):
            prompts.append((prompts[-1] if prompts else "")[: row["shared"]] + row["prompt"])
        return prompts

    def _prompt_before(self, episode: int, call: int) -> str:
        if episode not in self._last_prompt:
            stored = self.prompts(episode)
            self._last_prompt[episode] = stored[call - 1] if 0 < call <= len(stored) else ""
        return self._last_prompt[episode]


_EPISODES = """
SELECT episode.*, run.name AS run_name, run.agent AS agent, run.tasks AS tasks,
    t.thoughts_count, t.repairs, t.unreadable, s.invalid, r.calls, r.prompt_tokens, r.completion_tokens,
    r.cached_tokens, r.cost, r.retries
FROM episode JOIN run ON run.id = episode.run
LEFT JOIN (SELECT episode, sum(json_array_length(thoughts)) AS thoughts_count,
                  sum(json_array_length(liberties)) AS repairs,
                  sum(kind IN ('unreadable', 'truncated')) AS unreadable FROM turn GROUP BY episode) t
    ON t.episode = episode.id
LEFT JOIN (SELECT episode, sum(NOT valid) AS invalid FROM step GROUP BY episode) s ON s.episode = episode.id
LEFT JOIN (SELECT episode, count(*) AS calls, sum(prompt_tokens) AS prompt_tokens,
                  sum(completion_tokens) AS completion_tokens, sum(cached_tokens) AS cached_tokens,
                  sum(cost) AS cost, sum(retries) AS retries FROM reply GROUP BY episode) r ON r.episode = episode.id
"""


def render_prompt(request: Request) -> str:
    """The prompt as one text; chat messages one after the other, each under its role."""
    if isinstance(request.prompt, str):
        return request.prompt
    return "".join(_render_message(message) for message in request.prompt)


def _render_message(message: Message) -> str:
    return f"[{message.role}]\n{message.content}\n"


def _request_settings(request: Request) -> dict[str, Any]:
    settings = asdict(request)
    del settings["prompt"]
    return settings


def _reply(row: sqlite3.Row) -> Reply:
    usage = Usage(row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"])
    return Reply(row["text"], row["finish_reason"], usage, row["cost"], row["retries"], row["seconds"])


def _common_prefix(a: str, b: str) -> int:
    if b.startswith(a):
        return len(a)
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _connect(path: Path) -> sqlite3.Connection:
    # Only the thread of the event loop writes; the check would also refuse a handover between tests' threads.
    db = sqlite3.connect(path, timeout=30, check_same_thread=False)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _checked(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise UsageError(f"there is no store at {path}")
    with path.open("rb") as file:
        if not file.read(16).startswith(b"SQLite format 3"):
            raise DataError(f"{path} is not a store: expected an SQLite file")
    db = _connect(path)
    try:
        with closing(db.execute("SELECT value FROM meta WHERE key = 'schema'")) as cursor:
            row = cursor.fetchone()
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path} is not a store of Trialogue: {error}") from error
    if row is None or row["value"] != SCHEMA:
        found = "none" if row is None else row["value"]
        raise DataError(f"{path} has schema {found}, this version reads schema {SCHEMA}")
    return db


def _lock(path: Path) -> IO[str]:
    lock = path.with_name(path.name + ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise UsageError(f"{path} is being written by another process; wait for it or end it first") from None
    return lock
