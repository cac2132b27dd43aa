"""Replies that were paid for once: stored before they are used, and replayed when an episode is resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Literal

from trialogue.agents.models.contract import Model, Reply, Request


def request_hash(request: Request) -> str:
    """SHA-256 (hexadecimal) of all that a request says; the same in every process and on every machine."""
    told = asdict(request) | {"temperature": float(request.temperature)}  # equal requests, equal hashes: 1 == 1.0
    canonical = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


class ReplayingModel:
    """``model`` for one episode: first the ``stored`` replies, in order, without asking ``model``; then its own.

    Each stored reply comes with the :func:`request_hash` of what it answered. When a request is not the one that the
    next stored reply answered (a prompt, a setting or a version has changed), that reply and all later ones
    are of no use: ``on_stale(index)`` is told from where, and ``model`` is asked instead.

    ``on_new(index, request, reply)`` is called with each reply of ``model`` before that is returned, so that it can be
    stored before it is used; ``on_reply(index, reply)`` with every reply. ``index`` counts from 0.
    """

    def __init__(
        self,
        model: Model,
        stored: Sequence[tuple[str, Reply]],
        *,
        on_new: Callable[[int, Request, Reply], None],
        on_reply: Callable[[int, Reply], None],
        on_stale: Callable[[int], None],
    ) -> None:
        self._model = model
        self._stored = list(stored)
        self._on_new = on_new
        self._on_reply = on_reply
        self._on_stale = on_stale
        self._next = 0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def style(self) -> Literal["chat", "completion"]:
        return self._model.style

    @property
    def can_constrain(self) -> bool:
        return self._model.can_constrain

    async def generate(self, request: Request) -> Reply:
        index, self._next = self._next, self._next + 1
        reply = self._replay(index, request)
        if reply is None:
            reply = await self._model.generate(request)
            self._on_new(index, request, reply)
        self._on_reply(index, reply)
        return reply

    def conditions(self) -> Mapping[str, object]:
        return self._model.conditions()

    async def close(self) -> None:
        """Leaves ``model`` open: other episodes use it too."""

    def _replay(self, index: int, request: Request) -> Reply | None:
        if index >= len(self._stored):
            return None
        stored_hash, reply = self._stored[index]
        if stored_hash == request_hash(request):
            return reply
        del self._stored[index:]
        self._on_stale(index)
        return None
