"""A file of exemplars that does not fit the tasks is refused before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trialogue.errors import UsageError
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.launch import open_store

FILE = """
env: {env}
type: {type}
dialect: {dialect}
exemplars:
  - id: one
    goal: reach room 1
    observation: You are in room 0.
    steps:
      - {{action: go right, observation: You are in room 1.}}
"""


def configured(file: Path, tasks: dict[str, Any], **settings: Any) -> ExperimentConfig:
    agent = {"agent": "react", "model": "scripted:toy:walk", "exemplars": str(file), "settings": settings}
    other = {"agent": "random"}
    return parse_config({"name": "x", "agents": {"react": agent, "random": other}, "tasks": {"t": tasks}})


CORRIDOR = {"env": "toy:Corridor", "split": "test"}
EVEN = {**CORRIDOR, "types": ["even"]}


def write(folder: Path, **changes: str) -> Path:
    path = folder / "mine.yaml"
    text = FILE.format_map({"env": "toy:Corridor", "type": "even", "dialect": '""', **changes})
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "tasks", "message"),
    [
        ({"env": "household"}, EVEN, r"holds no exemplars for toy:Corridor/even; it holds: household/even"),
        ({}, CORRIDOR, r"holds no exemplars for toy:Corridor/odd"),
        ({"type": "od"}, CORRIDOR, r"holds no exemplars for toy:Corridor/(odd|even); it holds: toy:Corridor/od"),
        ({"dialect": "old"}, EVEN, r"holds no exemplars for toy:Corridor/even; it holds: toy:Corridor/even old"),
    ],
    ids=["environment", "type that is missing", "type misspelt", "dialect"],
)
def test_a_file_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, str], tasks: dict[str, Any], message: str
) -> None:
    path = tmp_path / "x.sqlite"
    with pytest.raises(UsageError, match=message):
        open_store(configured(write(tmp_path, **changes), tasks), path)
    assert not path.exists()


def test_a_file_that_fits_is_taken_and_one_that_is_not_shown_is_not_asked(tmp_path: Path) -> None:
    open_store(configured(write(tmp_path), EVEN), tmp_path / "fits.sqlite").close()
    open_store(configured(write(tmp_path, type="any"), CORRIDOR), tmp_path / "any.sqlite").close()
    open_store(configured(write(tmp_path, env="other"), EVEN, exemplars=0), tmp_path / "none.sqlite").close()


def test_the_dialect_is_the_one_that_the_games_speak(tmp_path: Path) -> None:
    from trialogue.envs import make

    env = make("household")
    [type_] = {task.type for task in env.tasks("generated_eval")[:1]}
    env.close()
    tasks = {"env": "household", "split": "generated_eval", "limit": 1}
    file = write(tmp_path, env="household", type=type_, dialect="put")
    with pytest.raises(UsageError, match=rf"holds no exemplars for household/{type_} move"):
        open_store(configured(file, tasks), tmp_path / "x.sqlite")
    open_store(configured(file, {**tasks, "settings": {"dialect": "put"}}), tmp_path / "y.sqlite").close()
