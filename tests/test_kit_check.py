"""The kit's check: every registered environment passes it, and each promise that is broken is caught."""

from __future__ import annotations

from typing import Any

import pytest
from test_cli import trialogue

import trialogue.envs as envs
from trialogue.errors import UnknownName
from trialogue.experiments.check import CHECKS, Subject, check

SMALL: dict[str, dict[str, Any]] = {"household": {"receptacles": 5, "distractors": 3}, "textworld": {"count": 3}}
"""Settings that keep this quick, by environment."""


@pytest.mark.parametrize("name", envs.names())
def test_registered_environments_pass(name: str) -> None:
    findings = list(check(Subject(name, SMALL.get(name, {}), tasks=2, steps=4)))
    assert [f"{finding.name}: {finding.detail}" for finding in findings if finding.ok is False] == []
    assert sum(finding.ok is True for finding in findings) >= len(CHECKS) - 2


def test_a_small_environment_passes_and_nothing_is_skipped() -> None:
    findings = list(check(Subject("broken_envs:Stairs")))
    assert [(finding.name, finding.detail) for finding in findings if finding.ok is not True] == []
    assert {finding.name for finding in findings} == {one.__name__.replace("_", " ") for one in CHECKS}


BROKEN = {
    "IgnoresSeed": ("gymnasium checker", "seed"),
    "Warns": ("gymnasium checker", "an old engine"),
    "TinySpace": ("gymnasium checker", "not within the observation space"),
    "Shuffles": ("tasks", "listed differently"),
    "ListsTwice": ("tasks", "a task twice"),
    "ForgetsTheSplit": ("tasks", "begins with 'train/'"),
    "AnySplit": ("tasks", "no_such_split"),
    "NumpyWon": ("info", "info['won'] must be bool"),
    "IntReward": ("info", "reward must be float"),
    "LacksDialect": ("info", "lacks 'dialect'"),
    "ReasonWhenValid": ("info", "just so"),
    "ListsTooMuch": ("admissible", "no way down"),
    "DrawsOthers": ("admissible", "not listed"),
    "NothingPossible": ("admissible", "nothing is admissible"),
    "RefusalMoves": ("invalid actions", "after refused actions"),
    "RefusalScores": ("invalid actions", "changed score"),
    "Speechless": ("invalid actions", "without a reason"),
    "AcceptsAnything": ("invalid actions", "was accepted"),
    "WonAtOnce": ("success", "before anything was done"),
    "GoesOnAfterWinning": ("success", "not terminated"),
    "SumsRewards": ("success", "the reward is"),
    "ScoresTen": ("success", "expected 0 to 1"),
    "HashOrder": ("equal seeds", "in another process"),
    "Clock": ("equal seeds", "again"),
    "Remembers": ("rebuilds", "info['goal']"),
    "OtherProcess": ("rebuilds", "Process"),
    "BadExpert": ("expert", "won 2 of 6"),
    "Formats": ("odd text", "IndexError"),
    "Encodes": ("odd text", "UnicodeEncodeError"),
    "Echoes": ("odd text", "it echoes"),
    "ClosesOnce": ("closes", "closed already"),
    "ClosesAll": ("closes", "no engine"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_is_caught(broken: str) -> None:
    name, detail = BROKEN[broken]
    chosen = [one for one in CHECKS if one.__name__.replace("_", " ") == name]
    [finding] = check(Subject(f"broken_envs:{broken}", tasks=6), chosen)
    assert finding.ok is False
    assert detail in finding.detail


def test_every_check_has_an_environment_that_fails_it() -> None:
    assert {name for name, _ in BROKEN.values()} == {one.__name__.replace("_", " ") for one in CHECKS}


def test_what_cannot_be_made_is_the_callers_mistake() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'household'"):
        list(check(Subject("houshold")))
    with pytest.raises(UnknownName, match="Did you mean 'train'"):
        list(check(Subject("broken_envs:Stairs", split="trian")))


def test_the_command_prints_a_table_and_fails_when_a_check_does(tmp_path: Any) -> None:
    good = trialogue("check", "broken_envs:Stairs", "--tasks", "2", cwd=tmp_path)
    assert (good.returncode, "equal seeds" in good.stdout, "FAILED" in good.stdout) == (0, True, False)
    bad = trialogue("check", "broken_envs:BadExpert", "--tasks", "6", cwd=tmp_path)
    assert (bad.returncode, "FAILED" in bad.stdout, "won 2 of 6" in bad.stdout) == (1, True, True)
    refused = trialogue("check", "broken_envs:Stairs", "--set", "spilt=eval", cwd=tmp_path)
    assert (refused.returncode, "Did you mean 'split'" in refused.stderr) == (2, True)
