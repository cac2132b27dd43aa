"""``trialogue new agent``: what is written works as it is."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import trialogue
from test_kit_new import fresh_installation

from trialogue.errors import UsageError
from trialogue.experiments.config import parse_config
from trialogue.experiments.launch import open_store
from trialogue.experiments.results import load_runs
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.scaffold import new_agent


@pytest.mark.parametrize(
    ("name", "message"),
    [("Careful", "'Careful' cannot name an agent"), ("react", "the agent name 'react' is taken by trialogue")],
)
def test_names_that_cannot_be_are_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        new_agent(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_short_and_clean(tmp_path: Path) -> None:
    written = {path.name: path for path in new_agent("very_careful", tmp_path)}
    assert list(written)[1:] == [
        "README.md",
        "very_careful_agent.py",
        "very_careful.yaml",
        "test_very_careful_agent.py",
    ]
    assert all("$" not in path.read_text("utf-8") for name, path in written.items() if name != "README.md")
    module = written["very_careful_agent.py"].read_text("utf-8")
    assert sum(bool(line.strip()) for line in module.splitlines()) <= 50
    for command in (["check", "--select", "E,F,I,UP,B"], ["format", "--check"]):
        style = [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length", "120", "."]
        done = subprocess.run(style, cwd=written["README.md"].parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


async def test_it_plays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_agent("careful", tmp_path)[0].parent
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(folder / "tests")
    importlib.invalidate_caches()
    data = {
        "name": "x",
        "model": "scripted:toy:walk",
        "agents": {"careful": {"agent": "careful_agent:ENTRY", "settings": {"max_tokens": 9}}},
        "tasks": {"corridor": {"env": "toy:Corridor", "split": "test"}},
        "limits": {"steps": 20},
    }
    config = parse_config(data)
    with open_store(config, tmp_path / "x.sqlite") as store:
        await run_experiment(config, store)
    [run] = load_runs(str(tmp_path / "x.sqlite"))
    assert {outcome.task: outcome.won for outcome in run.outcomes if outcome.type == "even"} == {
        f"test/{n}": True for n in (2, 4, 6, 8, 10)
    }
    assert run.conditions["agent"] == {"name": "careful_agent:ENTRY", "temperature": 0.0, "max_tokens": 9}


def test_its_own_tests_pass_where_it_is_found(tmp_path: Path) -> None:
    """Found by the metadata that an installation would leave."""
    folder = new_agent("careful", tmp_path)[0].parent
    info = folder / "trialogue_careful-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trialogue-careful\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[trialogue.agents]\ncareful = careful_agent:ENTRY\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    done = trialogue("new", "agent", "careful", "--folder", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        "pip install -e mine/trialogue-careful, then: trialogue run mine/trialogue-careful/careful.yaml" in done.stdout
    )


SCRIPT = """
from trialogue.agents.models.contract import Reply, Request


async def looks(request: Request) -> Reply:
    return Reply("look")
"""


@pytest.mark.slow
def test_a_new_package_is_installed_listed_and_run(tmp_path: Path) -> None:
    folder = new_agent("careful", tmp_path)[0].parent
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    bin = fresh_installation(tmp_path / "venv", folder)

    def run(*arguments: str) -> str:
        command = [str(bin / "trialogue"), *arguments]
        surroundings = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "trialogue-careful" in run("agents")
    limit = ["--set", "tasks.household.limit=2", "--set", "limits.steps=3"]
    told = run("run", str(folder / "careful.yaml"), "--set", "model=scripted:script:looks", *limit)
    assert "careful/household 0/2" in told
    facts = json.loads(run("compare", "careful", "--json"))
    assert {run["run"]: run["endings"] for run in facts["runs"]}["careful/household"] == {"step_limit": 2}
