"""Success by trial, and published results beside one's own."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from trialogue.agents import Lesson
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.experiments.cli import app
from trialogue.experiments.compare import as_json, compare, verdict
from trialogue.experiments.config import parse_config
from trialogue.experiments.endings import Ending
from trialogue.experiments.importer import import_results
from trialogue.experiments.launch import open_store
from trialogue.experiments.rates import by_trial, repeated, success
from trialogue.experiments.records import EndRecord, EpisodePlan, RunPlan
from trialogue.experiments.report import print_report
from trialogue.experiments.results import Outcome, Run, load_runs
from trialogue.experiments.statistics import bootstrap, wilson
from trialogue.experiments.store import Store

WON, LOST, ERROR = Ending.SOLVED, Ending.STEP_LIMIT, Ending.MODEL_ERROR
EARLIER, OPEN = Ending.SOLVED_EARLIER, None


def store_of(path: Path, endings: dict[str, list[Ending | None]]) -> Run:
    """A store in which each task's trials ended so."""
    number = count(1)
    plans = [
        EpisodePlan(next(number), 1, task, index, "walk", "x", 0, trial)
        for index, (task, trials) in enumerate(endings.items())
        for trial in range(len(trials))
    ]
    with Store.create(path, name="x", config={}, runs=[RunPlan(1, "a/t", "a", "t")], episodes=plans) as store:
        for plan in plans:
            ending = endings[plan.task][plan.trial]
            if ending is not None:
                won = ending in (WON, EARLIER)
                store.end_episode(plan.id, EndRecord(ending, won, float(won), 3, 3, 1.0))
    [run] = load_runs(str(path))
    return run


def told(run: Run) -> list[tuple[int, int, int, float]]:
    return [(c.played, c.new_wins, c.failed, c.success.value) for c in by_trial(run.outcomes)]


def test_counts_of_each_trial_and_the_sum_are_told_apart(tmp_path: Path) -> None:
    """REFX-06."""
    run = store_of(
        tmp_path / "x.sqlite",
        {"t1": [WON, EARLIER], "t2": [LOST, LOST], "t3": [WON, EARLIER], "t4": [LOST, WON]},
    )
    assert told(run) == [(4, 2, 2, 0.5), (2, 1, 1, 0.75)]
    [facts] = json.loads(as_json([run]))["runs"]
    assert [(t["trial"], t["played"], t["new_wins"], t["failed"]) for t in facts["trials"]] == [
        (0, 4, 2, 2),
        (1, 2, 1, 1),
    ]
    assert [t["success"]["solved"] for t in facts["trials"]] == [2, 3]
    console = Console(width=160)
    with console.capture() as captured:
        print_report([run], console)
    rows = [line.split("│")[1:-1] for line in captured.get().splitlines() if "a/t" in line and line.count("│") == 11]
    assert [[cell.strip() for cell in row[1:9]] for row in rows][-2:] == [
        ["0", "4", "0", "2", "2", "2", "4", "50.0%"],
        ["1", "2", "0", "1", "1", "3", "4", "75.0%"],
    ]


def test_a_task_once_solved_stays_solved_and_errors_and_open_trials_are_left_out(tmp_path: Path) -> None:
    run = store_of(
        tmp_path / "x.sqlite",
        {"again": [WON, LOST], "broken": [LOST, ERROR], "open": [LOST, OPEN], "mended": [ERROR, WON]},
    )
    assert told(run) == [(2, 1, 1, 0.5), (2, 1, 1, 1.0)]
    assert told(store_of(tmp_path / "y.sqlite", {"t": [OPEN, OPEN]})) == []


def test_two_runs_are_compared_after_equally_many_trials(tmp_path: Path) -> None:
    endings = {f"t{n}": [LOST, LOST, WON] for n in range(8)}
    patient = store_of(tmp_path / "x.sqlite", endings)
    hasty = store_of(tmp_path / "y.sqlite", {task: [LOST] for task in endings})
    [comparison] = compare([patient, hasty])
    assert (comparison.trials, comparison.pair.only_a, comparison.pair.only_b) == (1, 0, 0)
    assert verdict(comparison) == "a/t against a/t after 1 trial each: the same 8 outcomes, no difference seen"


def outcome(task: str, seed: int, won: bool, score: float, ending: str = "step_limit") -> Outcome:
    counts = "steps turns thoughts invalid unreadable repairs calls prompt_tokens cached_tokens completion_tokens"
    zeros: dict[str, Any] = dict.fromkeys(counts.split(), 0)
    facts: dict[str, Any] = {
        "task": task,
        "type": "t",
        "seed": seed,
        "ending": ending,
        "score": score,
        "cost": None,
        "seconds": 0.0,
    }
    return Outcome(wins=(won,), remembered=(False,), played=1, episodes=(1,), **facts, **zeros)


def report(run: Run) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        print_report([run], console)
    return captured.get()


def test_a_graded_score_has_an_interval_of_its_own() -> None:
    """STAT-08: Wilson's is of the success rate; the mean score has a bootstrap interval."""
    scores = [1.0, 0.5, 0.0, 0.75]
    run = Run("a/t", "a", "t", {}, tuple(outcome(f"t{n}", 0, score == 1, score) for n, score in enumerate(scores)))
    rate = success(run.outcomes, errors_as_failures=False)
    assert (rate.value, rate.interval) == (0.25, wilson(1, 4))
    low, high = bootstrap(scores)
    assert re.search(rf"│ +56\.2 │ +{100 * low:.0f} to {100 * high:.0f} │", report(run))


def test_seeds_of_one_task_are_counted_by_task() -> None:
    """STAT-10, and pass@k beside pass^k; an error is no attempt."""
    wins = {"t1": [1, 1, 1], "t2": [1, 0, 0], "t3": [0, 0, 0], "t4": [0, 1]}
    outcomes = [outcome(task, seed, bool(won), won) for task, of in wins.items() for seed, won in enumerate(of)]
    run = Run("a/t", "a", "t", {}, (*outcomes, outcome("t4", 2, False, 0.0, "model_error")))
    means = [(mean.k, mean.tasks, round(mean.any, 4), round(mean.all, 4)) for mean in repeated(run.outcomes)]
    assert means == [(1, 4, 0.4583, 0.4583), (2, 4, 0.6667, 0.25), (3, 3, 0.6667, 0.3333)]
    rate = success(run.outcomes, errors_as_failures=False)
    assert (rate.solved, rate.n) == (5, 11)
    assert rate.interval == bootstrap([1.0, 1 / 3, 0.0, 0.5])
    assert "pass@2" in report(run)
    assert repeated(tuple(outcomes[::3])) == []


def curve(path: Path) -> list[int]:
    [run] = load_runs(str(path))
    return [count.success.solved for count in by_trial(run.outcomes)]


REFLEXION = [84, 103, 111, 113, 117, 118, 123, 126, 128, 129, 130, 130, 131, 133, 134]
BASE = [84, 94, 97, 98, 100, 101, 101]


def test_published_results_give_the_published_curve(test_data: Path, tmp_path: Path) -> None:
    """REFX-07."""
    for name, expected in (("reflexion", REFLEXION), ("base", BASE)):
        path = tmp_path / f"{name}.sqlite"
        published = import_results("reflexion", test_data / "reflexion" / f"{name}_run_logs", name, path)
        assert (len(published.tasks), published.notes) == (134, ())
        assert curve(path) == expected
    [reflexion], [base] = (load_runs(str(tmp_path / f"{name}.sqlite")) for name in ("reflexion", "base"))
    assert [(c.played, c.failed) for c in by_trial(base.outcomes)][:2] == [(134, 50), (50, 40)]
    [comparison] = compare([reflexion, base])
    assert (comparison.trials, comparison.pair.difference) == (7, (123 - 101) / 134)
    with Store.read(tmp_path / "reflexion.sqlite") as store:
        lessons = [row["lesson"] for row in store.episodes() if row["lesson"]]
    assert len(lessons) == sum(134 - solved for solved in REFLEXION)


Trials = list[list[dict[str, Any]]]


def trials(*solved: str, memory: bool = True) -> Trials:
    """One file a word, one task a letter: x is solved, - is not."""
    entries: Trials = []
    for number, word in enumerate(solved):
        told = [[f"r{t}" for t in range(number + 1) if solved[t][task] == "-"] for task in range(len(word))]
        entries.append(
            [
                {"name": f"env_{n}", "is_success": mark == "x", "memory": told[n] if memory else []}
                for n, mark in enumerate(word)
            ]
        )
    return entries


def write(folder: Path, files: Trials) -> Path:
    folder.mkdir(exist_ok=True)
    for number, entries in enumerate(files):
        (folder / f"env_results_trial_{number}.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def test_an_import_is_a_store_like_any_other(tmp_path: Path) -> None:
    files = write(tmp_path / "files", trials("x-", "x-", "xx"))
    path = tmp_path / "x.sqlite"
    import_results("reflexion", files, "mine", path)
    with Store.read(path) as store:
        rows = store.episodes()
        assert [(row["task"], row["trial"], row["ending"]) for row in rows] == [
            ("env_0", 0, "solved"),
            ("env_0", 1, "solved_earlier"),
            ("env_0", 2, "solved_earlier"),
            ("env_1", 0, "failed"),
            ("env_1", 1, "failed"),
            ("env_1", 2, "solved"),
        ]
        assert store.lessons(rows[5]["id"]) == (Lesson(0, "r0"), Lesson(1, "r1"))
        [run] = store.runs()
    source = json.loads(run["conditions"])["imported"]
    assert (run["name"], source["format"], source["folder"]) == ("mine/published", "reflexion", str(files))
    digest = source["files"][0].removeprefix("env_results_trial_0.json ")
    assert len(digest) == 64
    config = parse_config(
        {"name": "x", "agents": {"a": {"agent": "random"}}, "tasks": {"t": {"env": "e", "split": "s"}}}
    )
    with pytest.raises(UsageError, match="imported results, which cannot be played"):
        open_store(config, path)
    with pytest.raises(UsageError, match="exists already"):
        import_results("reflexion", files, "mine", path)


def broken(change: str) -> Trials:
    files = trials("x--", "xx-")
    if change == "other order":
        files[1].reverse()
    elif change == "other number":
        files[1].pop()
    elif change == "twice":
        files[0][2]["name"] = files[1][2]["name"] = "env_0"
    elif change == "regression":
        files[1][0]["is_success"] = False
    elif change == "no success":
        del files[1][1]["is_success"]
    elif change == "success as text":
        files[1][1]["is_success"] = "true"
    elif change == "empty":
        files = [[], []]
    return files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("other order", r"trial_1.json has 'env_2' in place 0, trial 0 has 'env_0'"),
        ("other number", r"trial_1.json holds 2 tasks, trial 0 3"),
        ("twice", "names 'env_0' twice"),
        ("regression", "env_0 is solved in trial 0 and unsolved in trial 1"),
        ("no success", r"trial_1.json is not a list of results .*: Field required at 1.is_success"),
        ("success as text", r"valid boolean at 1.is_success"),
        ("empty", "holds no results"),
    ],
)
def test_files_that_contradict_each_other_are_refused_and_nothing_is_written(
    tmp_path: Path, change: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        import_results("reflexion", write(tmp_path / "files", broken(change)), "x", tmp_path / "x.sqlite")
    assert not (tmp_path / "x.sqlite").exists()


def test_missing_trials_folders_and_broken_files_are_named(tmp_path: Path) -> None:
    path, files = tmp_path / "x.sqlite", write(tmp_path / "files", trials("-", "-", "x"))
    (files / "env_results_trial_1.json").unlink()
    with pytest.raises(DataError, match=r"up to trial 2, but env_results_trial_1.json is missing"):
        import_results("reflexion", files, "x", path)
    (files / "env_results_trial_1.json").write_text('[{"name": "env_0", "is_succ', encoding="utf-8")
    with pytest.raises(DataError, match=r"trial_1.json is not a list of results .*: Invalid JSON"):
        import_results("reflexion", files, "x", path)
    with pytest.raises(DataError, match="found none"):
        import_results("reflexion", write(tmp_path / "none", []), "x", path)
    with pytest.raises(UsageError, match="there is none"):
        import_results("reflexion", tmp_path / "nowhere", "x", path)
    with pytest.raises(UnknownName, match="Did you mean 'reflexion'"):
        import_results("reflection", files, "x", path)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    files = trials("--", "--", "x-")
    files[1][0]["memory"] = ["another"]
    files[2][1]["memory"] = [*files[1][1]["memory"], "one", "two"]
    for entry in files[0]:
        entry["skip"] = False
    published = import_results("reflexion", write(tmp_path / "files", files), "x", tmp_path / "x.sqlite")
    assert published.notes == (
        "3 memories do not grow by one reflection a trial; those reflections are left out",
        "keys that were not read: skip",
    )
    assert published.tasks[0].lessons == (Lesson(0, "r0"), None, None)


def test_the_command_prints_the_curve_and_compare_sets_it_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "files", trials("x-", "xx"))
    write(tmp_path / "others", trials("--", memory=False))
    runner = CliRunner()
    done = runner.invoke(app, ["import", "reflexion", "files", "--name", "mine"])
    assert done.exit_code == 0, done.output
    assert "stored in runs/mine.sqlite" in done.stdout
    assert "Per episode" not in done.stdout
    assert runner.invoke(app, ["import", "reflexion", "others", "--name", "other"]).exit_code == 0
    compared = runner.invoke(app, ["compare", "mine", "other"])
    assert "mine:mine/published against other:other/published after 1 trial each: +50 points" in compared.stdout
    with pytest.raises(UsageError, match="'a/b' cannot be a name"):
        runner.invoke(app, ["import", "reflexion", "files", "--name", "a/b"], catch_exceptions=False)
