"""A store as JSON Lines: one episode a line, in the order of the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from trialogue.experiments.records import dumps
from trialogue.experiments.store import Store

CIRCUMSTANCES = frozenset({"started", "seconds", "cached_tokens", "cached", "retries", "retried"})
"""Clock times, and what a server happened to do: the only fields in which two equal experiments may differ."""


def export_jsonl(store: Store, *, times: bool = True) -> Iterator[str]:
    """Every episode with its turns, steps, replies and prompts. Without ``times`` equal experiments are byte-equal."""
    for row in store.episodes():
        record = _episode(store, row)
        yield dumps(record if times else _without_circumstances(record))


def _episode(store: Store, row: Any) -> dict[str, Any]:
    record = {key: row[key] for key in row.keys()}  # noqa: SIM118 (a Row iterates values)
    for key in ("exemplars", "notes"):
        record[key] = json.loads(record[key])
    turns = [{**{k: t[k] for k in t.keys()}, **_decoded(t)} for t in store.turns(row["id"])]  # noqa: SIM118
    record["lesson"] = None if row["lesson"] is None else json.loads(row["lesson"])
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
