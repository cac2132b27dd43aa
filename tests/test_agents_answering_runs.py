"""Agents that answer in whole runs: records do not depend on which sample comes first, and a cut run goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.recording import Observer
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store

AGENTS: dict[str, Any] = {
    "cot_sc": {"agent": "answering_agents:COT_SC", "settings": {"samples": 9}},
    "back_off": {"agent": "answering_agents:BACK_OFF", "settings": {"cot_sc": {"samples": 4}}},
    "rewoo": {"agent": "answering_agents:REWOO"},
}


def configured(concurrency: int) -> ExperimentConfig:
    return parse_config(
        {
            "name": "quiz",
            "model": "scripted:answering_agents:hesitant",
            "agents": AGENTS,
            "tasks": {"quiz": {"env": "small_quiz:Quiz", "split": "test"}},
            "seeds": [0, 1, 2, 3],
            "concurrency": concurrency,
        }
    )


def exported(path: Path) -> list[str]:
    with Store.read(path) as store:
        return list(export_jsonl(store, times=False))


def stored(path: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute("SELECT episode, call, request_hash, text FROM reply ORDER BY episode, call").fetchall()


async def test_records_are_equal_at_any_concurrency(tmp_path: Path) -> None:
    for concurrency in (1, 6):
        with open_store(configured(concurrency), tmp_path / f"{concurrency}.sqlite") as store:
            await run_experiment(configured(concurrency), store)
    assert exported(tmp_path / "1.sqlite") == exported(tmp_path / "6.sqlite")
    rows = [json.loads(line) for line in exported(tmp_path / "1.sqlite")]
    assert len(rows) == 12
    assert {row["calls"] for row in rows if row["agent"] == "cot_sc"} == {9}
    assert {row["calls"] for row in rows if row["agent"] == "rewoo"} == {2}
    assert {row["calls"] for row in rows if row["agent"] == "back_off"} == {4, 5}


class Cut(Observer):
    """Cuts the run off after so many replies."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.task = asyncio.current_task()

    def replied(self, reply: Any) -> None:
        self.left -= 1
        if self.left == 0 and self.task is not None:
            self.task.cancel()


async def test_a_run_that_is_cut_among_the_samples_goes_on_and_asks_for_none_twice(tmp_path: Path) -> None:
    with open_store(configured(1), tmp_path / "whole.sqlite") as store:
        await run_experiment(configured(1), store)
    path = tmp_path / "cut.sqlite"
    for after in (5, 7, 20):
        with open_store(configured(1), path) as store, contextlib.suppress(asyncio.CancelledError):
            await asyncio.create_task(_cut(store, after))
    before = stored(path)
    asked = _Counting()
    with open_store(configured(1), path) as store:
        await run_experiment(configured(1), store, asked)
    assert exported(path) == exported(tmp_path / "whole.sqlite")
    assert set(before) <= set(stored(path))
    assert len(before) + asked.count == len(stored(path)) == len(stored(tmp_path / "whole.sqlite"))


async def _cut(store: Store, after: int) -> None:
    await run_experiment(configured(1), store, Cut(after))


class _Counting(Observer):
    count = 0

    def replied(self, reply: Any) -> None:
        self.count += 1
