"""``trialogue new env``: what it writes is a package that installs, passes the checks and plays."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from test_cli import trialogue

ROOT = Path(__file__).parent.parent


def test_it_writes_a_package_and_never_over_another(tmp_path: Path) -> None:
    made = trialogue("new", "env", "card_game", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    [folder] = tmp_path.iterdir()
    module = (folder / "card_game_env.py").read_text(encoding="utf-8")
    assert len([line for line in module.splitlines() if line.strip()]) < 60
    again = trialogue("new", "env", "card_game", cwd=tmp_path)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)


@pytest.mark.parametrize("name", ["Card", "card game", "../x", "1card", "class", "household"])
def test_a_name_that_cannot_be_a_package_is_refused(tmp_path: Path, name: str) -> None:
    refused = trialogue("new", "env", name, cwd=tmp_path)
    assert (refused.returncode, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.slow
def test_it_is_installed_listed_checked_and_played(tmp_path: Path) -> None:
    """In an environment of its own, which sees this project and what it needs, but nothing else that is installed."""
    assert trialogue("new", "env", "card_game", cwd=tmp_path).returncode == 0
    [folder] = tmp_path.iterdir()
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(folder)], check=True)
    seen = os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if path)])

    def run(*arguments: str) -> str:
        command = [str(python), "-m", "trialogue.experiments.cli", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": seen}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "card_game" in run("envs")
    assert "FAILED" not in run("check", "card_game")
    played = run("run", str(folder / "card_game.yaml"))
    assert "expert/eval" in played
    assert "100.0%" in played
