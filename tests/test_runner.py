"""The whole loop with a scripted model: records, resuming, endings, and who may write."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from trialogue.errors import ModelError, UsageError
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.results import load_runs
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store

BASE: dict[str, Any] = {
    "name": "corridors",
    "model": "scripted:toy:walk",
    "agents": {
        "react": {"agent": "react", "settings": {"exemplars": 0}},
        "random": {"agent": "random"},
        "expert": {"agent": "expert"},
    },
    "tasks": {"corridor": {"env": "toy:Corridor", "split": "test"}},
    "limits": {"steps": 20},
    "concurrency": 3,
}


def configured(**changes: Any) -> ExperimentConfig:
    return parse_config({**BASE, **changes})


async def play(config: ExperimentConfig, path: Path) -> list[dict[str, Any]]:
    with open_store(config, path) as store:
        await run_experiment(config, store)
    return records(path)


def records(path: Path) -> list[dict[str, Any]]:
    with Store.read(path) as store:
        return [json.loads(line) for line in export_jsonl(store, times=False)]


async def test_records_are_equal_at_any_concurrency(tmp_path: Path) -> None:
    exports = []
    for concurrency in (1, 8):
        path = tmp_path / f"{concurrency}.sqlite"
        await play(configured(concurrency=concurrency, seeds=[0, 1], trials=2), path)
        with Store.read(path) as store:
            exports.append(list(export_jsonl(store, times=False)))
    assert exports[0] == exports[1]
    assert len(exports[0]) == 3 * 10 * 2 * 2


async def test_endings_and_counts(tmp_path: Path) -> None:
    rows = await play(configured(), tmp_path / "x.sqlite")
    by = {(row["agent"], row["task"]): row for row in rows}
    expert = by["expert", "test/7"]
    assert (expert["ending"], expert["steps"], expert["won"]) == ("solved", 7, 1)
    react = by["react", "test/4"]
    assert (react["ending"], react["steps"], react["turns"], react["thoughts_count"]) == ("solved", 4, 5, 1)
    assert [step["action"] for step in react["steps_list"]] == ["go right"] * 4
    assert react["calls"] == 5
    assert by["react", "test/3"]["ending"] == "stuck"


async def test_solved_on_the_last_allowed_step_is_solved_and_the_cap_never_wins(tmp_path: Path) -> None:
    config = configured(limits={"steps": 4}, stuck=None, agents={"expert": {"agent": "expert"}})
    rows = await play(config, tmp_path / "x.sqlite")
    assert [row["ending"] for row in rows] == ["solved"] * 4 + ["step_limit"] * 6
    assert [row["won"] for row in rows] == [1] * 4 + [0] * 6


async def test_an_environment_that_crashes_costs_only_its_episode(tmp_path: Path) -> None:
    tasks = {"corridor": {"env": "toy:Corridor", "split": "test", "settings": {"crash_at": 7, "crash_in": "test/8"}}}
    rows = await play(configured(agents={"expert": {"agent": "expert"}}, tasks=tasks), tmp_path / "x.sqlite")
    crashed = [row for row in rows if row["ending"] == "env_error"]
    assert [(row["task"], row["steps"]) for row in crashed] == [("test/8", 7)]
    assert "IndexError" in crashed[0]["error"]
    assert sum(row["won"] for row in rows) == 9
    [run] = load_runs(str(tmp_path / "x.sqlite"))
    assert sum(outcome.is_error for outcome in run.outcomes) == 1


async def test_solved_tasks_are_not_played_again_in_later_trials(tmp_path: Path) -> None:
    rows = await play(configured(trials=3, agents={"react": BASE["agents"]["react"]}), tmp_path / "x.sqlite")
    even = [row["ending"] for row in rows if row["task"] == "test/2"]
    odd = [row["ending"] for row in rows if row["task"] == "test/3"]
    assert even == ["solved", "solved_earlier", "solved_earlier"]
    assert odd == ["stuck"] * 3
    [run] = load_runs(str(tmp_path / "x.sqlite"))
    assert {len(outcome.wins) for outcome in run.outcomes} == {3}
    assert sum(outcome.won for outcome in run.outcomes) == 5


async def test_another_configuration_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(), path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"limits.steps: was 20, now 21"):
        open_store(configured(limits={"steps": 21}), path)
    assert path.read_bytes() == before


async def test_changes_can_be_accepted_and_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    open_store(configured(), path).close()
    changed = configured(limits={"steps": 21})
    with open_store(changed, path, accept_changes=True) as store:
        await run_experiment(changed, store)
    open_store(changed, path).close()
    told = [run.conditions["changed_on_the_way"] for run in load_runs(str(path))]
    assert told == [["limits.steps: was 20, now 21"]] * 3
    with pytest.raises(UsageError, match="other agents, tasks, seeds or trials"):
        open_store(configured(limits={"steps": 21}, seeds=[0, 1]), path, accept_changes=True)


async def test_a_store_made_before_a_setting_existed_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    open_store(configured(), path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = json_remove(value, '$.trials') WHERE key = 'config'")
    assert len(await play(configured(), path)) == 30


async def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with open_store(configured(), path), pytest.raises(UsageError, match="another process"):
        open_store(configured(), path)


async def test_a_model_that_answers_nobody_stops_the_run_and_marks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured(model="scripted:runner_models:no_quota", agents={"react": BASE["agents"]["react"]})
    with open_store(config, path) as store, pytest.raises(ModelError, match="quota"):
        await run_experiment(config, store)
    assert {row["ending"] for row in records(path)} == {None}


async def test_a_failing_model_is_an_error_and_can_be_redone(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured(model="scripted:runner_models:flaky", agents={"react": BASE["agents"]["react"]})
    rows = await play(config, path)
    assert [row["ending"] for row in rows if row["task"] == "test/2"] == ["model_error"]
    with open_store(config, path) as store:
        assert store.reopen(["model_error"]) == sum(row["ending"] == "model_error" for row in rows)
    with open_store(config, path) as store, pytest.raises(UsageError, match="ending"):
        store.reopen(["model_eror"])


def test_a_broken_or_foreign_file_is_no_store(tmp_path: Path) -> None:
    from trialogue.errors import DataError

    text = tmp_path / "a.sqlite"
    text.write_text("hello")
    with pytest.raises(DataError, match="not a store"):
        Store.read(text)
    foreign = tmp_path / "b.sqlite"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE x (y)")
    with pytest.raises(DataError, match="not a store"):
        Store.read(foreign)


KILLED_AFTER = (3, 25, 60)


@pytest.mark.parametrize("replies", KILLED_AFTER)
def test_kill_9_loses_nothing_that_finished_and_pays_nothing_twice(tmp_path: Path, replies: int) -> None:
    config = tmp_path / "x.yaml"
    config.write_text(json.dumps({**BASE, "model": "scripted:runner_models:slow_walk"}), encoding="utf-8")
    path, undisturbed = tmp_path / "x.sqlite", tmp_path / "y.sqlite"
    victim = start(config, path)
    wait_for_replies(path, replies)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    with Store.read(path) as store:
        finished = {row["id"]: row["steps"] for row in store.episodes() if row["ending"] is not None}
        paid = reply_keys(path)
    assert start(config, path).wait() == 0
    assert start(config, undisturbed).wait() == 0
    assert records(path) == records(undisturbed)
    assert paid <= reply_keys(path)
    with Store.read(path) as store:
        rows = {row["id"]: row["steps"] for row in store.episodes()}
        assert finished.items() <= rows.items()
        assert len(rows) == 30


def start(config: Path, store: Path) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-m", "trialogue.experiments.cli", "run", str(config), "--store", str(store)]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)


def wait_for_replies(path: Path, count: int, timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if path.exists() and len(reply_keys(path)) >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{count} replies were not stored within {timeout_s} s")


def reply_keys(path: Path) -> set[tuple[int, int, float]]:
    """Each reply with the seconds it took: a reply that was asked for again would differ in them."""
    with sqlite3.connect(path, timeout=10) as db:
        return set(db.execute("SELECT episode, call, seconds FROM reply"))
