"""Learning over trials: what each is told, what is kept, and what an interruption costs."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from test_runner import play, records, start, wait_for_replies

from trialogue.agents import Lesson
from trialogue.errors import ModelError
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.launch import open_store
from trialogue.experiments.rates import by_trial
from trialogue.experiments.recording import Observer
from trialogue.experiments.records import EndRecord
from trialogue.experiments.results import load_runs
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.show import print_episode
from trialogue.experiments.store import Store

BASE: dict[str, Any] = {
    "name": "trials",
    "model": "scripted:learners:wiser",
    "agents": {"learning": {"agent": "learners:LEARNING"}, "plain": {"agent": "learners:PLAIN"}},
    "tasks": {"corridor": {"env": "toy:Corridor", "split": "test", "limit": 3}},
    "limits": {"steps": 3},
    "stuck": None,
    "trials": 4,
    "concurrency": 2,
}


def configured(**changes: Any) -> ExperimentConfig:
    return parse_config({**BASE, **changes})


def chain(rows: list[dict[str, Any]], agent: str = "learning", task: str = "test/2") -> list[dict[str, Any]]:
    return [row for row in rows if (row["agent"], row["task"]) == (agent, task)]


async def test_each_trial_is_told_its_number_and_the_lessons_of_those_before(tmp_path: Path) -> None:
    rows = chain(await play(configured(), tmp_path / "x.sqlite"))
    assert [row["ending"] for row in rows] == ["step_limit", "step_limit", "solved", "solved_earlier"]
    assert [row["lesson"] for row in rows] == [
        {"trial": 0, "reflection": "walk right", "attempt": "3 actions"},
        {"trial": 1, "reflection": "walk right", "attempt": "3 actions"},
        None,
        None,
    ]
    first = [row["replies"][0]["prompt"].splitlines()[0] for row in rows[:3]]
    assert first == [
        "reach room 2; trial 0; lessons:",
        "reach room 2; trial 1; lessons: 0:walk right",
        "reach room 2; trial 2; lessons: 0:walk right 1:walk right",
    ]
    assert [row["calls"] for row in rows] == [4, 4, 2, None]  # a reflection is a call of the episode
    assert [turn["memory"] for turn in rows[2]["turns_list"]] == ["abc", "abc"]


async def test_show_tells_the_memory_the_notes_and_the_lesson(tmp_path: Path) -> None:
    await play(configured(), tmp_path / "x.sqlite")
    console = Console(width=120)
    with Store.read(tmp_path / "x.sqlite") as store, console.capture() as captured:
        [second] = [
            r["id"] for r in store.episodes() if (r["agent"], r["task"], r["trial"]) == ("learning", "test/2", 1)
        ]
        print_episode(store, second, console, prompts=True)
    lines = captured.get().splitlines()
    assert [line.strip() for line in lines if "memory" in line] == ["memory abc"]
    told = lines[-4:]
    assert told[0].endswith("It ended with step_limit. Reflect.")
    assert [line.strip() for line in told[1:3]] == ["attempt 3 actions", "reflects walk right"]
    assert told[3].strip().startswith("end step_limit, score 0; 3 steps")


async def test_reflections_are_made_only_where_another_trial_follows_and_it_was_lost(tmp_path: Path) -> None:
    """REFX-02: the memory is used, the prompts of the trials differ, and one reflection is paid for one failure."""
    path = tmp_path / "x.sqlite"
    rows = chain(await play(configured(trials=2), path))
    assert [row["ending"] for row in rows] == ["step_limit", "step_limit"]
    asked = [[r for r in row["replies"] if r["prompt"].endswith("Reflect.")] for row in rows]
    assert [len(calls) for calls in asked] == [1, 0]
    assert rows[0]["replies"][0]["prompt"] != rows[1]["replies"][0]["prompt"]
    assert "It ended with step_limit." in asked[0][0]["prompt"]
    used = {run.agent: [count.with_memory for count in by_trial(run.outcomes)] for run in load_runs(str(path))}
    assert used == {"learning": [0, 3], "plain": [0, 0]}


async def test_an_agent_that_learns_nothing_is_told_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured(agents={"plain": BASE["agents"]["plain"]})
    with open_store(config, path) as store:
        for row in store.episodes():
            store.set_lesson(row["id"], Lesson(row["trial"], "not for you"))
        await run_experiment(config, store)
    rows = records(path)
    assert all("lessons:\n" in row["replies"][0]["prompt"] for row in rows)
    assert {row["ending"] for row in rows} == {"step_limit"}


async def test_five_lessons_are_kept_and_handed_over_with_their_own_numbers(tmp_path: Path) -> None:
    """REFX-03: what an agent shows of them is its own affair; none is dropped or numbered anew here."""
    path = tmp_path / "x.sqlite"
    config = configured(trials=6, tasks={"corridor": {"env": "toy:Corridor", "ids": ["test/9"]}})
    rows = chain(await play(config, path), task="test/9")
    with Store.read(path) as store:
        assert [lesson.trial for lesson in store.lessons(rows[5]["id"])] == [0, 1, 2, 3, 4]
    assert "lessons: 0:walk right 1:walk right 2:" in rows[5]["replies"][0]["prompt"]


async def test_a_model_that_cannot_reflect_ends_that_trial_and_not_the_next(tmp_path: Path) -> None:
    rows = await play(configured(model="scripted:learners:forgetful"), tmp_path / "x.sqlite")
    error = "in learning from step_limit: server: it fell over"
    two, three = chain(rows, task="test/2"), chain(rows, task="test/3")
    assert (two[0]["ending"], two[0]["error"], two[0]["won"], two[0]["lesson"]) == ("model_error", error, 0, None)
    assert "trial 1; lessons:\n" in two[1]["replies"][0]["prompt"]
    assert [row["ending"] for row in two[1:]] == ["step_limit", "step_limit", "solved"]
    assert (three[0]["ending"], three[0]["error"]) == (
        "context_overflow",
        "in learning from step_limit: context_overflow: too long",
    )


async def test_a_model_that_answers_nobody_stops_the_run_in_a_reflection_too(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured(model="scripted:learners:poor", agents={"learning": BASE["agents"]["learning"]})
    with open_store(config, path) as store, pytest.raises(ModelError, match="quota"):
        await run_experiment(config, store)
    assert {row["ending"] for row in records(path)} == {None}


class Killed(BaseException):
    """Stands for the end of the process."""


INTERRUPTED_AT = ["set_lesson before", "set_lesson after", "end_episode before", "end_episode after"]


@pytest.mark.parametrize("at", INTERRUPTED_AT)
@pytest.mark.parametrize("times", [1, 3])
async def test_an_interruption_at_any_point_of_learning_changes_nothing_and_pays_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, times: int
) -> None:
    path, undisturbed = tmp_path / "x.sqlite", tmp_path / "y.sqlite"
    config = configured(concurrency=1, agents={"learning": BASE["agents"]["learning"]})
    method, when = at.split()
    real, left = getattr(Store, method), [times]

    def interrupted(store: Store, *arguments: Any) -> None:
        left[0] -= 1
        if left[0] == 0 and when == "before":
            raise Killed
        real(store, *arguments)
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(Store, method, interrupted)
    with open_store(config, path) as store, pytest.raises((Killed, BaseExceptionGroup)):
        await run_experiment(config, store)
    monkeypatch.undo()
    paid = reply_keys(path)
    assert any(row["replies"][-1]["prompt"].endswith("Reflect.") for row in records(path) if row["replies"])
    assert await play(config, path) == await play(config, undisturbed)
    assert paid <= reply_keys(path)


def test_kill_9_in_the_middle_of_trials(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    agents = {"learning": BASE["agents"]["learning"]}
    file.write_text(json.dumps({**BASE, "agents": agents}), encoding="utf-8")
    path, undisturbed = tmp_path / "x.sqlite", tmp_path / "y.sqlite"
    victim = start(file, path)
    wait_for_replies(path, 11)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    paid = reply_keys(path)
    assert start(file, path).wait() == 0
    assert start(file, undisturbed).wait() == 0
    assert records(path) == records(undisturbed)
    assert paid <= reply_keys(path)


async def test_what_is_redone_takes_the_later_trials_with_it(tmp_path: Path) -> None:
    path, undisturbed = tmp_path / "x.sqlite", tmp_path / "y.sqlite"
    agents = {"learning": BASE["agents"]["learning"]}
    config = configured(model="scripted:learners:forgetful", agents=agents)
    await play(config, path)
    mended = configured(agents=agents)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'config'", (json.dumps(mended.record()),))
    with open_store(mended, path) as store:
        assert store.reopen(["model_error", "context_overflow"]) == 8
        await run_experiment(mended, store)
    told = [{k: v for k, v in row.items() if k != "notes"} for row in records(path)]
    assert told == [{k: v for k, v in row.items() if k != "notes"} for row in await play(mended, undisturbed)]


async def test_a_person_is_asked_through_the_same_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialogue.experiments import workshop
    from trialogue.experiments.config import ModelConfig

    monkeypatch.setattr(workshop, "PERSON", ModelConfig(name="scripted:learners:person"))
    path = tmp_path / "x.sqlite"
    agents = {
        "watched": {"agent": "learners:LEARNING", "settings": {"review": "always"}},
        "alone": {"agent": "learners:LEARNING", "settings": {"review": "never"}},
    }
    rows = await play(configured(agents=agents, trials=1), path)
    watched, alone = chain(rows, "watched")[0], chain(rows, "alone")[0]
    assert (watched["ending"], alone["ending"]) == ("solved", "step_limit")
    assert [reply["text"] for reply in watched["replies"]] == ["go left", "go right"] * 2
    assert [reply["call"] for reply in watched["replies"]] == [0, 1, 2, 3]
    assert watched["turns_list"][0]["notes"] == ["asked"]
    assert alone["turns_list"][0]["notes"] == []


async def test_no_person_is_made_where_nobody_asks_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialogue.experiments import workshop
    from trialogue.experiments.config import ModelConfig

    monkeypatch.setattr(workshop, "PERSON", ModelConfig(name="nobody:at:home"))
    assert len(await play(configured(trials=1), tmp_path / "x.sqlite")) == 6


class Endings(Observer):
    def __init__(self) -> None:
        self.planned = self.finished = 0
        self.ends: list[EndRecord] = []

    def started(self, planned: int, finished: int) -> None:
        self.planned, self.finished = planned, finished

    def ended(self, run: str, end: EndRecord) -> None:
        self.ends.append(end)


async def test_a_finished_experiment_makes_nothing_and_keeps_its_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(), path)
    with Store.read(path) as store:
        before = [row["conditions"] for row in store.runs()]
    monkeypatch.setattr("trialogue.experiments.workshop.__version__", "9.9")
    observer = Endings()
    with open_store(configured(), path) as store:
        await run_experiment(configured(), store, observer)
        assert [row["conditions"] for row in store.runs()] == before
    assert (observer.planned, observer.finished, observer.ends) == (24, 24, [])


async def test_versions_are_looked_up_once_and_no_environment_is_made_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toy import Corridor

    path, made, closed = tmp_path / "x.sqlite", [], []
    config = configured(concurrency=1)
    open_store(config, path).close()
    init = Corridor.__init__

    def counted(self: Corridor, *arguments: Any, **settings: Any) -> None:
        made.append(self)
        init(self, *arguments, **settings)

    monkeypatch.setattr(Corridor, "__init__", counted)
    monkeypatch.setattr(Corridor, "close", lambda self: closed.append(self))
    await play(config, path)
    assert len(made) == 1
    assert closed == made


def reply_keys(path: Path) -> set[tuple[int, int, float]]:
    with sqlite3.connect(path, timeout=10) as db:
        return set(db.execute("SELECT episode, call, seconds FROM reply"))
