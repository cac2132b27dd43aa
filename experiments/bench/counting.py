"""An environment that does next to nothing, and a model that answers at once: what is left is the loop itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar

from trialogue.agents.models.contract import Reply, Request, Usage
from trialogue.envs.contract import Task
from trialogue.envs.game import Game, GameEnv

LENGTH = 30


class Counting(Game):
    """Won after ``LENGTH`` commands."""

    goal = f"count to {LENGTH}."

    def __init__(self) -> None:
        self.number = 0

    def opening(self) -> str:
        return f"You see a shelf 1, a desk 1, and a safe 1. Your task is to: {self.goal}"

    def commands(self) -> Sequence[str]:
        return ("count", "look")

    def do(self, command: str) -> str:
        self.number += 1
        self.won = self.number >= LENGTH
        return f"The number is {self.number}. On the shelf 1, you see a book 1, a pen 2, and a mug 1."


class CountingEnv(GameEnv):
    """Counts; as many tasks as wanted."""

    name: ClassVar[str] = "trialogue.experiments.bench.counting:CountingEnv"
    splits: ClassVar[tuple[str, ...]] = ("generated_train",)
    templates: ClassVar[tuple[str, ...]] = ("count", "look")

    def __init__(self, count: int = 100) -> None:
        super().__init__()
        self._count = count

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(f"generated_train/{number}", "generated_train", "count") for number in range(self._count)]

    def begin(self, task: Task) -> Game:
        return Counting()


def at_once(request: Request) -> Reply:
    """The reply of a model that takes no time."""
    return Reply(" count", usage=Usage(prompt=len(request.prompt) // 4, completion=1))


class SimulatedServer:
    """A model server of fixed latency that answers at most ``capacity`` requests at once, and knows how busy it was."""

    def __init__(self, latency_s: float, capacity: int) -> None:
        self.latency_s = latency_s
        self.capacity = capacity
        self.answering_s = 0.0
        self._places = asyncio.Semaphore(capacity)

    async def answer(self, request: Request) -> Reply:
        async with self._places:
            began = time.monotonic()
            await asyncio.sleep(self.latency_s)
            self.answering_s += time.monotonic() - began
        return at_once(request)


server = SimulatedServer(0.0, 1)
"""The one that :func:`ask_server` asks; a measurement puts its own here."""


async def ask_server(request: Request) -> Reply:
    return await server.answer(request)
