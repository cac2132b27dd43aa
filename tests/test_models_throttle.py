"""How many calls an endpoint is given at once."""

from __future__ import annotations

import asyncio

import pytest

from trialogue.agents.models.throttle import Throttle


class Crowd:
    """Calls that hold their places until they are let go, and how many of them there were at once."""

    def __init__(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self.inside = self.most = 0
        self.gate = asyncio.Event()

    async def call(self) -> None:
        async with self.throttle.place():
            self.inside += 1
            self.most = max(self.most, self.inside)
            await self.gate.wait()
            self.inside -= 1


async def crowd(throttle: Throttle, size: int) -> int:
    """How many of ``size`` calls are let in at once."""
    made = Crowd(throttle)
    tasks = [asyncio.create_task(made.call()) for _ in range(size)]
    for _ in range(5):
        await asyncio.sleep(0)
    made.gate.set()
    await asyncio.gather(*tasks)
    return made.most


async def test_there_is_no_limit_until_something_is_refused() -> None:
    assert await crowd(Throttle(), 50) == 50
    assert await crowd(Throttle(most=7), 50) == 7


async def test_a_refusal_halves_and_answers_add_one_for_each_round() -> None:
    now = [0.0]
    throttle = Throttle(clock=lambda: now[0])
    async with throttle.place(), throttle.place(), throttle.place():
        throttle.refused()  # the fourth of four
    assert throttle.limit == 2.0
    throttle.refused()  # at the same moment: the same crowd
    assert throttle.limit == 2.0
    throttle.answered()
    throttle.answered()
    assert throttle.limit == pytest.approx(2.9)
    now[0] = 5.0
    throttle.refused()
    assert await crowd(throttle, 10) == 1


async def test_a_call_that_fails_gives_its_place_back() -> None:
    throttle = Throttle(most=1)
    with pytest.raises(RuntimeError, match="x"):
        async with throttle.place():
            raise RuntimeError("x")
    assert await crowd(throttle, 3) == 1


async def test_the_limit_grows_no_higher_than_it_was_set() -> None:
    throttle = Throttle(most=2)
    for _ in range(10):
        throttle.answered()
    assert throttle.limit == 2.0
