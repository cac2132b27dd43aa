"""Faults that other runners were reported for (the cases RUN-*), tried on this one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_runner import configured, play, records
from toy import Corridor

from trialogue.agents.models.contract import Reply, Request
from trialogue.envs.contract import Task
from trialogue.experiments.compare import as_json
from trialogue.experiments.launch import open_store
from trialogue.experiments.report import print_report
from trialogue.experiments.results import load_runs
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store

ODD = "PMID:403/a*b?"
SAME_OPENING = [f"put a mug on the desk and then {end}/1" for end in ("close it", "open it")]


class Named(Corridor):
    """A corridor of one room, whose tasks have names that no file could have."""

    name = "test_runner_faults:Named"

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(id, split, "odd") for id in (ODD, *SAME_OPENING)]

    def task(self, id: str) -> Task:
        return Task(id, "test", "odd")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        _, info = super().reset(seed=seed, options={"task": "test/1"})
        self.current, self.length = self.task((options or {})["task"]), 1
        return self.current.id, {**info, "task": self.current.id}


async def long_winded(request: Request) -> Reply:
    """Replies of 20,000 characters, each different."""
    steps = str(request.prompt).count("> go")
    return Reply(f"go {'right' if steps else 'left'}\n" + f"{steps}-" * 10_000)


async def test_names_are_recorded_as_they_are_and_become_no_files(tmp_path: Path) -> None:
    """RUN-08, RUN-13."""
    tasks = {"named": {"env": "test_runner_faults:Named", "split": "test"}}
    rows = await play(
        configured(tasks=tasks, concurrency=2, agents={"expert": {"agent": "expert"}}), tmp_path / "x.sqlite"
    )
    assert [(row["task"], row["observation"], row["ending"]) for row in rows] == [
        (task, task, "solved") for task in (ODD, *SAME_OPENING)
    ]
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} == {"x"}
    rows = await play(configured(), tmp_path / "y.sqlite")
    [run] = [run for run in load_runs(str(tmp_path / "y.sqlite")) if run.agent == "react"]
    assert run.conditions["model"]["name"] == "scripted:toy:walk"


async def test_many_long_replies_are_stored_whole(tmp_path: Path) -> None:
    """RUN-06: 400 replies of 20,000 characters, eight episodes at once."""
    agents = {"act": {"agent": "act", "settings": {"exemplars": 0}}}
    tasks = {"env": "toy:Corridor", "ids": [f"test/{n}" for n in range(4, 14)], "settings": {"count": 13}}
    config = configured(
        model="scripted:test_runner_faults:long_winded",
        agents=agents,
        seeds=list(range(10)),
        limits={"steps": 4},
        stuck=None,
        concurrency=8,
        tasks={"corridor": tasks},
    )
    rows = await play(config, tmp_path / "x.sqlite")
    replies = [(row["id"], reply["call"], reply["text"]) for row in rows for reply in row["replies"]]
    assert len({reply[:2] for reply in replies}) == len(replies) == 400
    assert {len(text) for *_, text in replies} <= {20_008, 20_009}


class Stopped(BaseException):
    pass


async def test_each_attempt_goes_on_from_all_that_any_attempt_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RUN-01, RUN-02, RUN-03: three interruptions; nothing that had finished is touched again, no row comes twice."""
    path, real = tmp_path / "x.sqlite", Store.end_episode
    ended: Counter[int] = Counter()
    left = [0]

    def end(store: Store, episode: int, *arguments: Any) -> None:
        if left[0] == 0:
            raise Stopped
        left[0] -= 1
        ended[episode] += 1
        real(store, episode, *arguments)

    monkeypatch.setattr(Store, "end_episode", end)
    for attempt in (11, 2, 4):
        left[0] = attempt
        with open_store(configured(), path) as store, pytest.raises((Stopped, BaseExceptionGroup)):
            await run_experiment(configured(), store)
    left[0] = 100
    rows = await play(configured(), path)
    assert len(ended) == len(rows) == 30
    assert set(ended.values()) == {1}
    monkeypatch.undo()
    assert rows == await play(configured(), tmp_path / "undisturbed.sqlite")


async def test_what_has_not_finished_is_counted_and_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """RUN-05."""
    from rich.console import Console

    path, real, left = tmp_path / "x.sqlite", Store.end_episode, [25]

    def end(store: Store, *arguments: Any) -> None:
        if left[0] == 0:
            raise Stopped
        left[0] -= 1
        real(store, *arguments)

    monkeypatch.setattr(Store, "end_episode", end)
    with open_store(configured(), path) as store, pytest.raises((Stopped, BaseExceptionGroup)):
        await run_experiment(configured(), store)
    runs = load_runs(str(path))
    facts = json.loads(as_json(runs))["runs"]
    assert [run["planned"] for run in facts] == [10, 10, 10]
    assert sum(run["finished"] for run in facts) == 25
    assert sum(run["missing"] for run in facts) == 5
    print_report(runs, Console(width=160))
    printed = capsys.readouterr().out
    for run in facts:
        assert (f"{run['run']}: {run['missing']} of 10 planned have not finished" in printed) == bool(run["missing"])


async def test_draws_differ_between_tasks_and_not_with_the_number_of_workers(tmp_path: Path) -> None:
    """RUN-11."""
    told = []
    for workers in (1, 3):
        config = configured(
            agents={"random": {"agent": "random"}}, seeds=[7], concurrency=workers, limits={"steps": 12}, stuck=None,
            tasks={"corridor": {"env": "toy:Corridor", "ids": [f"test/{n}" for n in range(5, 11)]}},
        )  # fmt: skip
        path = tmp_path / f"{workers}.sqlite"
        await play(config, path)
        told.append([(row["task"], [step["action"] for step in row["steps_list"]]) for row in records(path)])
    assert told[0] == told[1]
    assert [task for task, _ in told[0]] == [f"test/{n}" for n in range(5, 11)]
    assert len({tuple(actions) for _, actions in told[0]}) == 6
