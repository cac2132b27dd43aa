"""Real games against the recorded reference: 138 winning plans of valid_seen with every observation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialogue.envs import TextEnv, make

BANNER = "-= Welcome to TextWorld, ALFRED! =-\n\n"


@pytest.fixture(scope="module")
def recorded(test_data: Path) -> list[dict[str, Any]]:
    text = (test_data / "alfworld" / "walkthroughs_valid_seen.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def replay(env: TextEnv, record: dict[str, Any]) -> None:
    observation, info = env.reset(options={"task": record["game"].removesuffix("/game.tw-pddl")})
    assert f"{BANNER}{observation}\n\nYour task is to: {info['goal']}" == record["initial_observation"]
    for command, expected in zip(record["walkthrough"], record["observations"], strict=True):
        assert command in info["admissible"]
        observation, reward, terminated, _, info = env.step(command)
        assert observation == expected
    assert (reward, terminated, info["won"]) == (1.0, True, True)


def test_a_sample_of_plans_replays_word_for_word(alfworld_data: Path, recorded: list[dict[str, Any]]) -> None:
    short = sorted(recorded, key=lambda record: (len(record["initial_observation"]), record["game"]))
    env = make("household", data=alfworld_data)
    for record in short[:8]:
        replay(env, record)
    env.close()


@pytest.mark.slow
def test_all_plans_replay_word_for_word(alfworld_data: Path, recorded: list[dict[str, Any]]) -> None:
    assert len(recorded) == 138
    env = make("household", data=alfworld_data)
    for record in recorded:
        replay(env, record)
    env.close()
