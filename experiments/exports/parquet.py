"""A store as Parquet files in one folder: episodes, turns, steps and replies, each with typed columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialogue.errors import MissingExtra
from trialogue.experiments.store import Store

if TYPE_CHECKING:
    import pyarrow

ROWS = 10_000
"""Of one row group, and so in memory at the same time."""

Row = dict[str, Any]


def export_parquet(store: Store, runs: Collection[int], folder: Path) -> Iterator[Path]:
    """Writes ``episodes.parquet``, ``turns.parquet``, ``steps.parquet`` and ``replies.parquet``; yields their paths.

    ``episode`` joins them (``id`` in the first). Raises MissingExtra without pyarrow.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("export to Parquet", "pyarrow", "parquet") from None
    folder.mkdir(parents=True, exist_ok=True)
    schemas = _schemas()
    for name, rows in _TABLES.items():
        path, schema = folder / f"{name}.parquet", schemas[name]
        with parquet.ParquetWriter(path, schema) as writer:
            for batch in _batches(rows(store, runs)):
                writer.write_table(_table(batch, schema))
        yield path


def _table(rows: Sequence[Row], schema: pyarrow.Schema) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_pylist(rows, schema=schema)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, ROWS)):
        yield batch


def _episodes(store: Store, runs: Collection[int]) -> Iterator[Row]:
    for run in runs:
        for row in store.episodes(run):
            told = _dict(row)
            for key in ("exemplars", "notes"):
                told[key] = json.loads(told[key])
            told["lesson"] = None if row["lesson"] is None else json.loads(row["lesson"])
            told["won"] = None if row["won"] is None else bool(row["won"])
            told["remembered"] = bool(row["remembered"])
            yield {**told, "run": row["run_name"]}


def _turns(store: Store, runs: Collection[int]) -> Iterator[Row]:
    for episode in _ids(store, runs):
        for row in store.turns(episode):
            yield {**_dict(row), **{key: json.loads(row[key]) for key in ("thoughts", "liberties", "notes")}}


def _steps(store: Store, runs: Collection[int]) -> Iterator[Row]:
    for run in runs:
        for row in store.step_rows(run):
            yield {**_dict(row), "valid": bool(row["valid"]), "won": bool(row["won"])}


def _replies(store: Store, runs: Collection[int]) -> Iterator[Row]:
    for episode in _ids(store, runs):
        prompts, settings = store.prompts(episode), store.request_settings(episode)
        for call, (request_hash, reply) in store.replies(episode).items():
            yield {
                "episode": episode,
                "call": call,
                "request_hash": request_hash,
                "prompt": prompts[call],
                "request": json.dumps(settings[call], ensure_ascii=False, sort_keys=True),
                **{key: getattr(reply, key) for key in ("text", "finish_reason", "cost", "retries", "seconds")},
                "prompt_tokens": reply.usage.prompt,
                "completion_tokens": reply.usage.completion,
                "cached_tokens": reply.usage.cached,
                "retried": list(reply.retried),
                "calls": [asdict(one) for one in reply.calls],
            }


def _ids(store: Store, runs: Collection[int]) -> Iterator[int]:
    for run in runs:
        for row in store.episodes(run):
            yield row["id"]


def _dict(row: Any) -> Row:
    return {key: row[key] for key in row.keys()}  # noqa: SIM118 (a Row iterates values)


_TABLES: dict[str, Callable[[Store, Collection[int]], Iterator[Row]]] = {
    "episodes": _episodes,
    "turns": _turns,
    "steps": _steps,
    "replies": _replies,
}


def _schemas() -> dict[str, pyarrow.Schema]:
    import pyarrow as pa

    text, number, real, flag = pa.string(), pa.int64(), pa.float64(), pa.bool_()
    texts = pa.list_(text)
    liberty = pa.struct([(name, text) for name in ("kind", "before", "after")])
    tool_call = pa.struct([(name, text) for name in ("id", "name", "arguments")])
    lesson = pa.struct([("trial", number), ("reflection", text), ("attempt", text)])
    tokens: list[tuple[str, Any]] = [(f"{name}_tokens", number) for name in ("prompt", "completion", "cached")]
    named: list[tuple[str, Any]] = [(name, text) for name in ("run", "agent", "tasks", "task", "type", "split")]
    counted = ("steps", "turns", "thoughts_count", "repairs", "unreadable", "invalid", "calls", "retries")
    return {
        "episodes": pa.schema(
            [
                ("id", number),
                *named,
                *((name, number) for name in ("task_index", "seed", "trial", "parent")),
                *((name, text) for name in ("fork", "goal", "dialect", "observation", "ending", "error")),
                *((name, flag) for name in ("won", "remembered")),
                *((name, real) for name in ("score", "cost", "started", "seconds")),
                *((name, number) for name in counted),
                *tokens,
                *((name, texts) for name in ("exemplars", "notes")),
                ("lesson", lesson),
            ]
        ),
        "turns": pa.schema(
            [
                *((name, number) for name in ("episode", "turn", "calls")),
                *((name, text) for name in ("kind", "action", "problem", "event", "memory")),
                *((name, texts) for name in ("thoughts", "notes")),
                ("liberties", pa.list_(liberty)),
            ]
        ),
        "steps": pa.schema(
            [
                *((name, number) for name in ("episode", "step", "turn")),
                *((name, text) for name in ("action", "observation", "reason")),
                *((name, flag) for name in ("valid", "won")),
                *((name, real) for name in ("reward", "score", "seconds")),
            ]
        ),
        "replies": pa.schema(
            [
                *((name, number) for name in ("episode", "call")),
                *((name, text) for name in ("request_hash", "prompt", "request", "text", "finish_reason")),
                *tokens,
                *((name, real) for name in ("cost", "seconds")),
                ("retries", number),
                ("retried", texts),
                ("calls", pa.list_(tool_call)),
            ]
        ),
    }
