"""A store as JSON Lines: one episode a line, in the order of the plan."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any

from trialogue.experiments.records import dumps
from trialogue.experiments.store import Store

CIRCUMSTANCES = frozenset({"started", "seconds", "cached_tokens", "cached", "retries", "retried"})
"""Clock times, and what a server happened to do: the only fields in which two equal experiments may differ."""


def export_jsonl(store: Store, *, times: bool = True, runs: Collection[int] | None = None) -> Iterator[str]:
    """Every episode of ``runs`` (None: of the plan) with its turns, steps, replies and prompts.

    Without ``times`` equal experiments are byte-equal.
    """
    rows = store.episodes() if runs is None else [row for run in runs for row in store.episodes(run)]
    for row in sorted(rows, key=lambda row: int(row["id"])):
        record = _episode(store, row)
        yield dumps(record if times else _without_circumstances(record))


def _episode(store: Store, row: Any) -> dict[str, Any]:
    record = {key: row[key] for key in row.keys()}  # noqa: SIM118 (a Row iterates values)
    for key in ("exemplars", "notes"):
        record[key] = json.loads(record[key])
    turns = [{**{k: t[k] for k in t.keys()}, **_decoded(t)} for t in store.turns(row["id"])]  # noqa: SIM118
    for key in ("lesson", "fork"):
        record[key] = None if row[key] is None else json.loads(row[key])
    prompts = store.prompts(row["id"])
    replies = [
        {"call": call, "prompt": prompts[call], **asdict(reply)}
        for call, (_, reply) in store.replies(row["id"]).items()
    ]
    return {
        **record,
        "turns_list": turns,
        "steps_list": [asdict(s) for s in store.steps(row["id"])],
        "replies": replies,
    }


def _decoded(turn: Any) -> dict[str, Any]:
    return {key: json.loads(turn[key]) for key in ("thoughts", "liberties", "notes")}


def _without_circumstances(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_circumstances(v) for k, v in value.items() if k not in CIRCUMSTANCES}
    if isinstance(value, list):
        return [_without_circumstances(item) for item in value]
    return value
