"""Where environments live changes nothing in the records, and one that hangs or dies costs only its episode."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra ray is not installed")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the toy environments importable in the processes that a test starts; faults come once in each test."""
    here = os.path.dirname(__file__)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setattr("runner_models._begun", 0)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")])))


def configured(where: str, **changes: Any) -> ExperimentConfig:
    return parse_config(
        {
            "name": "hosts",
            "model": "scripted:toy:walk",
            "agents": {"react": {"agent": "react", "settings": {"exemplars": 0}}, "expert": {"agent": "expert"}},
            "tasks": {"corridor": {"env": "toy:Corridor", "split": "test"}},
            "limits": {"steps": 20},
            "environments": where,
            "concurrency": 2,
            **changes,
        }
    )


async def played(config: ExperimentConfig, path: Path) -> list[dict[str, Any]]:
    with open_store(config, path) as store:
        await run_experiment(config, store)
    with Store.read(path) as store:
        return [json.loads(line) for line in export_jsonl(store, times=False)]


@pytest.mark.parametrize("where", ["processes", pytest.param("ray", marks=[needs_ray, pytest.mark.slow])])
async def test_records_are_equal_wherever_environments_live(where: str, tmp_path: Path) -> None:
    here = await played(configured("threads"), tmp_path / "threads.sqlite")
    there = await played(configured(where), tmp_path / f"{where}.sqlite")
    assert there == here
    assert len(here) == 20


async def test_a_run_begun_in_threads_goes_on_in_processes(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    open_store(configured("threads"), path).close()
    assert {row["ending"] for row in await played(configured("processes"), path)} >= {"solved"}


@pytest.mark.parametrize("where", ["threads", "processes"])
async def test_a_step_that_hangs_ends_its_episode_and_never_the_run(where: str, tmp_path: Path) -> None:
    config = configured(
        where,
        model="scripted:runner_models:hang_first",
        agents={"act": {"agent": "act", "settings": {"exemplars": 0}}},
        tasks={"count": {"env": "hosted:CountingEnv", "split": "generated_train"}},
        limits={"steps": 5, "step_seconds": 3.0},
        concurrency=1,
    )
    rows = await played(config, tmp_path / "x.sqlite")
    assert [row["ending"] for row in rows] == ["env_error", "solved", "solved", "solved"]
    assert "timeout in step('hang'): no answer within 3 s" in rows[0]["error"]


async def test_a_process_that_dies_costs_only_its_episode(tmp_path: Path) -> None:
    config = configured(
        "processes",
        model="scripted:runner_models:crash_first",
        agents={"act": {"agent": "act", "settings": {"exemplars": 0}}},
        tasks={"count": {"env": "hosted:CountingEnv", "split": "generated_train"}},
        concurrency=1,
    )
    rows = await played(config, tmp_path / "x.sqlite")
    assert [row["ending"] for row in rows] == ["env_error", "solved", "solved", "solved"]
    assert "exit code 3" in rows[0]["error"]
