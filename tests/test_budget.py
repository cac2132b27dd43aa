"""Bounds of a whole run: it stops with nothing lost, and goes on with a higher one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialogue.agents.models.contract import Reply, Usage
from trialogue.errors import BudgetSpent
from trialogue.experiments.budget import Meter
from trialogue.experiments.config import Budget, ExperimentConfig, parse_config
from trialogue.experiments.endings import Ending
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.records import EndRecord
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store


def configured(model: str = "scripted:toy:walk", **changes: Any) -> ExperimentConfig:
    return parse_config(
        {
            "name": "budget",
            "model": model,
            "agents": {"react": {"agent": "react", "settings": {"exemplars": 0}}},
            "tasks": {"corridor": {"env": "toy:Corridor", "split": "test"}},
            "limits": {"steps": 20},
            "concurrency": 3,
            **changes,
        }
    )


async def play(config: ExperimentConfig, path: Path) -> None:
    with open_store(config, path) as store:
        await run_experiment(config, store)


def exported(path: Path) -> list[dict[str, Any]]:
    with Store.read(path) as store:
        return [json.loads(line) for line in export_jsonl(store, times=False)]


async def test_a_run_stops_at_its_tokens_and_goes_on_with_more_paying_for_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with pytest.raises(BudgetSpent, match=r"the budget of 1500 tokens is spent .* raise the bound"):
        await play(configured(budget={"tokens": 1500}), path)
    before = exported(path)
    assert any(row["ending"] is None for row in before)
    assert sum((row["prompt_tokens"] or 0) + (row["completion_tokens"] or 0) for row in before) >= 1500
    with pytest.raises(BudgetSpent):  # what was spent before counts
        await play(configured(budget={"tokens": 1500}), path)
    assert [row["calls"] for row in exported(path)] == [row["calls"] for row in before]
    await play(configured(), path)
    await play(configured(), tmp_path / "undisturbed.sqlite")
    assert exported(path) == exported(tmp_path / "undisturbed.sqlite")


async def test_a_budget_that_is_spent_by_the_last_reply_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(), path)
    spent = sum(row["prompt_tokens"] + row["completion_tokens"] for row in exported(path))
    await play(configured(budget={"tokens": spent}, concurrency=1), tmp_path / "exact.sqlite")
    assert {row["ending"] for row in exported(tmp_path / "exact.sqlite")} == {"solved", "stuck"}


async def test_run_15_a_run_of_errors_stops_early_and_counts_only_its_own_episodes(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured("scripted:runner_models:flaky", budget={"error_rate": 0.9, "errors_after": 2}, concurrency=1)
    await play(config, path)  # one error in ten
    broken = configured("scripted:runner_models:broken", budget={"error_rate": 0.9, "errors_after": 2}, concurrency=1)
    with pytest.raises(BudgetSpent, match="2 of this run's 2 episodes ended in an error"):
        await play(broken, tmp_path / "y.sqlite")
    assert [row["ending"] for row in exported(tmp_path / "y.sqlite")].count("model_error") == 2


async def test_an_episode_ends_at_its_money(tmp_path: Path) -> None:
    config = configured("scripted:runner_models:costly", limits={"steps": 20, "cost": 0.25}, concurrency=1)
    await play(config, tmp_path / "x.sqlite")
    rows = exported(tmp_path / "x.sqlite")
    assert {row["calls"] for row in rows} == {3}
    assert [row["ending"] for row in rows] == ["budget", "solved", *["budget"] * 8]


def test_time_money_and_errors_are_metered() -> None:
    now = [0.0]
    meter = Meter(Budget(seconds=10, cost=1.0, error_rate=0.5, errors_after=4), cost=0.4, clock=lambda: now[0])
    meter.check()
    meter.replied(Reply("x", usage=Usage(10, 1), cost=0.5))
    meter.check()
    for ending in (Ending.MODEL_ERROR, Ending.MODEL_ERROR, Ending.SOLVED):
        meter.ended(EndRecord(ending, False, 0.0, 0, 0, 0.0))
        meter.check()
    now[0] = 10.0
    with pytest.raises(BudgetSpent, match="the budget of 10 seconds is spent"):
        meter.check()
    now[0] = 0.0
    meter.ended(EndRecord(Ending.FAILED, False, 0.0, 0, 0, 0.0))
    with pytest.raises(BudgetSpent, match="2 of this run's 4 episodes"):
        meter.check()
    meter.replied(Reply("x", cost=0.2))
    with pytest.raises(BudgetSpent, match=r"the budget of 1 is spent \(so far 1.1000\)"):
        meter.check()
