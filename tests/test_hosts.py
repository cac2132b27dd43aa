"""Environments in threads, in processes and in Ray actors: equal answers, and none that can hold up a run."""

from __future__ import annotations

import importlib.util
import os
import time

import pytest

from trialogue.errors import EnvError
from trialogue.experiments.hosts import EnvHost, Where, place_of

ENV = "hosted:CountingEnv"
TASK = "generated_train/1"
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra ray is not installed")
WHERE = ["threads", "processes", pytest.param("ray", marks=[needs_ray, pytest.mark.slow])]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``hosted`` importable in the processes that a test starts."""
    here = os.path.dirname(__file__)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")])))
    monkeypatch.syspath_prepend(here)


def host(where: Where, seconds: float | None = 30.0) -> EnvHost:
    return EnvHost(place_of(where, ENV, {}), seconds)


@pytest.mark.parametrize("where", WHERE)
async def test_an_episode_is_played_wherever_the_environment_is(where: Where) -> None:
    hosted = host(where)
    opened = await hosted.open(TASK, seed=0)
    assert (opened.env, opened.info["task"], opened.info["goal"]) == ("counting", TASK, "count to three.")
    assert opened.templates == ("count", "hang", "fail", "crash")
    assert opened.expert is not None
    assert opened.expert.act("", None) == "count"
    assert (str(os.getpid()) in opened.observation) == (where == "threads")
    answers = [await hosted.step("count") for _ in range(3)]
    assert [(a.observation, a.info["won"], a.terminated) for a in answers] == [
        ("1", False, False),
        ("2", False, False),
        ("3", True, True),
    ]
    refused = await hosted.step("count")
    assert not refused.info["valid"]
    hosted.close()


@pytest.mark.parametrize("where", WHERE)
async def test_what_an_environment_raises_is_an_env_error_that_says_where(where: Where) -> None:
    hosted = host(where)
    await hosted.open(TASK, seed=0)
    with pytest.raises(EnvError, match=r"RuntimeError: a fault of the engine \(in step\('fail'\)\)"):
        await hosted.step("fail")
    hosted.close()


@pytest.mark.parametrize("where", WHERE)
async def test_a_step_that_hangs_is_given_up_and_its_process_ended(where: Where) -> None:
    hosted = host(where)
    await hosted.open(TASK, seed=0)
    hosted._seconds = 0.3
    started = time.monotonic()
    with pytest.raises(EnvError, match=r"timeout in step\('hang'\): no answer within 0.3 s"):
        await hosted.step("hang")
    hosted.kill()
    assert time.monotonic() - started < 10


async def test_a_process_that_ends_is_an_env_error() -> None:
    hosted = host("processes")
    await hosted.open(TASK, seed=0)
    with pytest.raises(EnvError, match=r"the process of the environment ended \(exit code 3\)"):
        await hosted.step("crash")
    hosted.kill()


@pytest.mark.parametrize("where", WHERE)
async def test_an_environment_that_cannot_be_made_says_why(where: Where) -> None:
    broken = EnvHost(place_of(where, "hosted:NoSuchEnv", {}), 30.0)
    with pytest.raises(EnvError, match="NoSuchEnv"):
        await broken.open(TASK, seed=0)
    broken.close()
