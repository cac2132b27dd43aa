"""Model servers whose use is measured: one of fixed latency and capacity, and the embedded model.

A measurement puts its own into :data:`server`; the scripted model of its configuration is :func:`ask_server`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from trialogue.agents.models.contract import Reply, Request
from trialogue.experiments.bench.counting import at_once


class Server(Protocol):
    async def answer(self, request: Request) -> Reply: ...


class SimulatedServer:
    """Answers each request after ``latency_s`` seconds, at most ``capacity`` of them at once."""

    def __init__(self, latency_s: float, capacity: int) -> None:
        self.latency_s = latency_s
        self.capacity = capacity
        self._places = asyncio.Semaphore(capacity)
        self._began: list[float] = []

    async def answer(self, request: Request) -> Reply:
        async with self._places:
            self._began.append(time.monotonic())
            await asyncio.sleep(self.latency_s)
        return at_once(request)

    def busy(self, until: float) -> float:
        """The share of its capacity that was used from its first request to ``until``.

        A request uses a place for the latency and no longer, however late its answer is taken.
        """
        used = sum(min(self.latency_s, until - began) for began in self._began if began < until)
        return used / (self.capacity * (until - self._began[0])) if used else 0.0


class WatchedServer:
    """Another's answers, and how long at least one was being waited for."""

    def __init__(self, generate: Callable[[Request], Awaitable[Reply]]) -> None:
        self._generate = generate
        self._under_way = 0
        self._first: float | None = None
        self._since = self._busy = 0.0

    async def answer(self, request: Request) -> Reply:
        now = time.monotonic()
        if self._under_way == 0:
            self._since = now
        if self._first is None:
            self._first = now
        self._under_way += 1
        try:
            return await self._generate(request)
        finally:
            self._under_way -= 1
            if self._under_way == 0:
                self._busy += time.monotonic() - self._since

    def busy(self, until: float) -> float:
        """The share of time with a request, from the first one to ``until``, by when all are answered."""
        return 0.0 if self._first is None else self._busy / (until - self._first)


server: Server | None = None


async def ask_server(request: Request) -> Reply:
    assert server is not None, "a measurement must put its server here first"
    return await server.answer(request)
