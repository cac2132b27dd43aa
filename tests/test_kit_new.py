"""``trialogue new env``: what is written works as it is."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from test_cli import trialogue

from trialogue.errors import DataError, UsageError
from trialogue.experiments.scaffold import new_env, require_name

ROOT = Path(__file__).parent.parent
SCRIPT = '''
from trialogue.agents.models.contract import Reply, Request

BOXES = ("red", "blue", "green", "white", "black", "yellow", "brown", "grey")


async def opens(request: Request) -> Reply:
    """Opens one box after another, takes the coin when it is seen, and puts it away."""
    said = request.prompt.rpartition("One of them holds a coin.")[2]
    if "You take the coin." in said:
        return Reply("put coin into purse")
    if "lies a coin" in said:
        return Reply("take coin")
    return Reply(f"open {next(box for box in BOXES if f'open {box} box' not in said)} box")
'''


@pytest.mark.parametrize(
    "name", ["Boxes", "1box", "card-game", "card__game", "_card", "class", "", "a b", "ünder", "../x"]
)
def test_names_that_cannot_be_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot name an environment"):
        new_env(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_taken_are_refused() -> None:
    with pytest.raises(UsageError, match="'household' is taken by trialogue"):
        require_name("household")


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "trialogue-card-game").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        new_env("card_game", tmp_path)
    assert list((tmp_path / "trialogue-card-game").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write"):
        new_env("card_game", tmp_path / "file")


def test_what_is_written_is_short_well_formed_and_clean(tmp_path: Path) -> None:
    written = {path.name: path for path in new_env("card_game", tmp_path)}
    assert list(written)[1:] == ["README.md", "card_game_env.py", "card_game.yaml", "test_card_game_env.py"]
    assert all("$" not in path.read_text("utf-8") for name, path in written.items() if name != "README.md")
    module = written["card_game_env.py"].read_text("utf-8")
    assert sum(bool(line.strip()) for line in module.splitlines()) <= 50
    assert {node.name for node in ast.walk(ast.parse(module)) if isinstance(node, ast.ClassDef)} == {
        "CardGameEnv",
        "CardGameGame",
        "CardGameExpert",
    }
    for command in (["check", "--select", "E,F,I,UP,B"], ["format", "--check"]):
        style = [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length", "120", "."]
        done = subprocess.run(style, cwd=written["README.md"].parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_its_own_tests_pass_where_it_is_found(tmp_path: Path) -> None:
    """Found by the metadata that an installation would leave."""
    folder = new_env("card_game", tmp_path)[0].parent
    info = folder / "trialogue_card_game-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: trialogue-card-game\nVersion: 0.1.0\n", encoding="utf-8"
    )
    point = "[trialogue.envs]\ncard_game = card_game_env:CardGameEnv\n"
    (info / "entry_points.txt").write_text(point, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 passed" in done.stdout


def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    done = trialogue("new", "env", "card_game", "--folder", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install -e mine/trialogue-card-game" in done.stdout
    again = trialogue("new", "env", "card_game", "--folder", "mine", cwd=tmp_path)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)


@pytest.mark.slow
def test_a_new_package_is_installed_checked_and_run_beside_a_scripted_model(tmp_path: Path) -> None:
    folder = new_env("card_game", tmp_path)[0].parent
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    bin = fresh_installation(tmp_path / "venv", folder)

    def run(*arguments: str) -> str:
        command = [str(bin / "trialogue"), *arguments]
        surroundings = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "trialogue-card-game 0.1.0" in run("envs")
    assert "FAILED" not in run("check", "card_game")
    model = ["--set", "agents.script.agent=act", "--set", "agents.script.model=scripted:script:opens"]
    told = run("run", str(folder / "card_game.yaml"), *model, "--set", "agents.script.settings.exemplars=0")
    assert "expert/eval 20/20" in told
    assert "script/eval 20/20" in told
    facts = json.loads(run("compare", "card_game", "--json"))
    assert {run["run"] for run in facts["runs"]} == {"random/eval", "expert/eval", "script/eval"}


def fresh_installation(place: Path, package: Path) -> Path:
    """A virtual environment that sees what runs these tests, with this project and ``package`` installed into it."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    [site] = place.glob("lib/*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "outer.pth").write_text("\n".join(others), encoding="utf-8")
    quiet = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*quiet, "-e", str(ROOT), "-e", str(package)], check=True)
    return place / "bin"
