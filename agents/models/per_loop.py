"""Things that belong to one event loop (connections, semaphores), made anew when another loop asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """``make()``'s value for the running event loop. The value of an earlier loop is dropped with that loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._value: T | None = None

    def get(self) -> T:
        loop = asyncio.get_running_loop()
        if self._value is None or self._loop is not loop:
            self._loop, self._value = loop, self._make()
        return self._value

    def pop(self) -> T | None:
        """The value if the running loop owns one, which is forgotten; else None."""
        value = self._value if self._loop is asyncio.get_running_loop() else None
        self._loop = self._value = None
        return value
