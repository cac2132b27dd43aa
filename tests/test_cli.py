"""The command line, as a person meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPERIMENT = """
name: corridors
model: scripted:toy:walk
agents:
  react: {agent: react, settings: {exemplars: 0}}
  expert: {agent: expert}
tasks:
  corridor: {env: "toy:Corridor", split: test}
limits: {steps: 20}
"""


def trialogue(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trialogue.experiments.cli", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(HERE), **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the experiment has been run."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "x.yaml").write_text(EXPERIMENT, encoding="utf-8")
    result = trialogue("run", "x.yaml", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_run_prints_the_table_and_the_answer_in_one_line(finished: Path) -> None:
    result = trialogue("run", "x.yaml", cwd=finished)
    assert "resuming: 20 of 20" in result.stdout
    assert "expert/corridor against react/corridor: +50 points" in result.stdout
    assert "exact McNemar p = 0.062" in result.stdout
    assert "may be luck" in result.stdout


def test_compare_gives_the_same_to_programs(finished: Path) -> None:
    facts = json.loads(trialogue("compare", "corridors", "--json", cwd=finished).stdout)
    [pair] = facts["pairs"]
    assert (pair["only_a"], pair["only_b"], pair["n"]) == (5, 0, 10)
    assert pair["tasks_only_a"] == ["test/1", "test/3", "test/5", "test/7", "test/9"]
    assert {run["run"]: run["success"]["solved"] for run in facts["runs"]} == {
        "react/corridor": 5,
        "expert/corridor": 10,
    }


def test_show_tells_thoughts_actions_and_observations_apart(finished: Path) -> None:
    shown = trialogue("show", "corridors", "3", cwd=finished).stdout
    assert "think The last room is to the right." in shown
    assert "act 1 go right" in shown
    assert "You are in room 2." in shown
    assert "solved" in shown


def test_episodes_lists_them_and_refuses_an_unknown_run(finished: Path) -> None:
    assert "test/10" in trialogue("episodes", "corridors:react", cwd=finished).stdout
    refused = trialogue("episodes", "corridors:reactt", cwd=finished)
    assert refused.returncode == 2
    assert "Did you mean 'react" in refused.stderr


def test_an_unknown_store_is_answered_with_those_that_are_there(finished: Path) -> None:
    refused = trialogue("compare", "corridor", cwd=finished)
    assert (refused.returncode, "corridors" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("agents.react.agent=reactt", "Did you mean 'react'"),
        ("agents.react.settings.thougths=dense", "Did you mean 'thoughts'"),
        ("tasks.corridor.env=houshold", "Did you mean 'household'"),
        ("model=locl:smollm2-135m", "Did you mean 'local'"),
        ("limits.stepps=3", "Did you mean 'steps'"),
        ("tasks.corridor.types=[evn]", "Did you mean 'even'"),
    ],
)
def test_a_misspelt_name_is_refused_before_anything_is_played(tmp_path: Path, change: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT, encoding="utf-8")
    result = trialogue("run", "x.yaml", "--set", change, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.glob("runs/*.sqlite"))


def test_ctrl_c_keeps_what_has_finished(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("toy:walk", "runner_models:slow_walk"), encoding="utf-8")
    command = [sys.executable, "-m", "trialogue.experiments.cli", "run", "x.yaml", "--set", "concurrency=2"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with the signal ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until_ended(tmp_path, 4)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "goes on from there" in output
    resumed = trialogue("run", "x.yaml", cwd=tmp_path)
    assert resumed.returncode == 0
    assert "resuming" in resumed.stdout


def wait_until_ended(folder: Path, count: int, timeout_s: float = 60) -> None:
    from trialogue.experiments.store import Store

    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        for path in folder.glob("runs/*.sqlite"):
            with Store.read(path) as store:
                if sum(row["ending"] is not None for row in store.episodes()) >= count:
                    return
        time.sleep(0.01)
    raise AssertionError("too few episodes ended in time")


def test_text_that_the_console_cannot_print_is_escaped(tmp_path: Path) -> None:
    script = (
        "from trialogue.agents.models.contract import Reply\nasync def odd(request): return Reply('→ 桌子 😀 café')\n"
    )
    (tmp_path / "odd.py").write_text(script, encoding="utf-8")
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("scripted:toy:walk", "scripted:odd:odd"), encoding="utf-8")
    console = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "cp1252", "PYTHONPATH": f"{HERE}:{tmp_path}"}
    assert trialogue("run", "x.yaml", cwd=tmp_path, **console).returncode == 0
    assert trialogue("show", "corridors", "1", cwd=tmp_path, **console).returncode == 0
    exported = trialogue("export", "corridors", "--no-times", cwd=tmp_path, PYTHONIOENCODING="utf-8").stdout
    assert "→ 桌子 😀 café" in exported


def test_quickstart_can_be_copied_and_is_an_experiment_like_any_other(tmp_path: Path) -> None:
    from trialogue.experiments.config import load_config

    assert trialogue("quickstart", "--copy", "mine.yaml", cwd=tmp_path).returncode == 0
    config = load_config(tmp_path / "mine.yaml")
    assert set(config.agents) >= {"act", "react"}
    refused = trialogue("quickstart", "--copy", "mine.yaml", cwd=tmp_path)
    assert (refused.returncode, "exists" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("command", "word"), [("envs", "household"), ("agents", "react"), ("doctor", "trialogue")])
def test_listings(tmp_path: Path, command: str, word: str) -> None:
    result = trialogue(command, cwd=tmp_path, ALFWORLD_DATA="")
    assert result.returncode == 0, result.stdout
    assert word in result.stdout
