"""How many calls an endpoint is given at once: fewer when it says that they are too many, then slowly more again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_SETTLES_S = 1.0  # refusals that come together are one: all of them answer to the same crowd


class Throttle:
    """Additive increase, multiplicative decrease, as TCP keeps out of congestion (Chiu and Jain 1989).

    There is no limit until the first :meth:`refused`; ``most`` bounds it from the start.
    """

    def __init__(self, most: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._limit = float("inf") if most is None else float(most)
        self._clock = clock
        self._refused_at = float("-inf")
        self._under_way = 0
        self._changed = asyncio.Condition()

    @property
    def limit(self) -> float:
        """How many calls may be under way; infinite while nothing was refused."""
        return self._limit

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits until one more call may be made."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < max(1.0, self._limit))
            self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            async with self._changed:
                self._changed.notify_all()

    def refused(self) -> None:
        """The endpoint said that calls come too fast: half as many from now on."""
        if self._clock() - self._refused_at < _SETTLES_S:
            return
        self._refused_at = self._clock()
        self._limit = max(1.0, min(self._limit, float(self._under_way + 1)) / 2)

    def answered(self) -> None:
        """As many answers as the limit allow one more call."""
        self._limit = min(self._limit + 1 / self._limit, float("inf") if self._most is None else float(self._most))
