"""Replies that were paid for once: stored before they are used, and replayed when an episode is resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Literal

from trialogue.agents.models.contract import Model, Reply, Request
from trialogue.errors import ContextOverflow


def request_hash(request: Request) -> str:
    """SHA-256 (hexadecimal) of all that a request says; the same in every process and on every machine."""
    told = vars(request) | {"temperature": float(request.temperature)}  # equal requests, equal hashes: 1 == 1.0
    if not request.tools:
        del told["tools"]  # a field that came later is left out where it is empty, so that stored hashes stay good
    canonical = json.dumps(told, default=_told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


class Tape:
    """The replies of one episode, whichever of its models gave them: first those ``stored``, then new ones.

    Calls count from 0 over all models, in the order in which they begin: concurrent ones get the same numbers each
    time. ``stored`` holds by number the :func:`request_hash` of what was asked, and the reply. A number that
    is missing (a call that failed, or was under way when a run was killed) is asked for anew. A request that is not the
    one stored under its number (a prompt, a setting or a version has changed) makes that reply and all later ones
    useless: ``on_stale(number)`` is told from where, and the models are asked instead.

    ``on_new(number, request, reply)`` is called with each reply of a model before that is returned, so that it can be
    stored before it is used; ``on_reply(number, reply)`` with every reply. A ContextOverflow is a reply too, of finish
    reason "overflow", and raised again in replay: an agent that shortened its prompt then does so again.
    """

    def __init__(
        self,
        stored: Mapping[int, tuple[str, Reply]],
        *,
        on_new: Callable[[int, Request, Reply], None],
        on_reply: Callable[[int, Reply], None],
        on_stale: Callable[[int], None],
    ) -> None:
        self._stored = dict(stored)
        self._on_new = on_new
        self._on_reply = on_reply
        self._on_stale = on_stale
        self._next = 0

    def recorded(self, model: Model) -> Model:
        """``model``, asked only for what is not on this tape."""
        return _Recorded(model, self)

    async def generate(self, model: Model, request: Request) -> Reply:
        """The next call. Raises what ``model`` raises, and ContextOverflow where that is stored."""
        number, self._next = self._next, self._next + 1
        reply = self._replay(number, request)
        if reply is None:
            reply = await _outcome(model, request)
            self._on_new(number, request, reply)
        self._on_reply(number, reply)
        if reply.finish_reason == "overflow":
            raise ContextOverflow(reply.text)
        return reply

    def _replay(self, number: int, request: Request) -> Reply | None:
        if number not in self._stored:
            return None
        stored_hash, reply = self._stored[number]
        if stored_hash == request_hash(request):
            return reply
        self._stored = {n: stored for n, stored in self._stored.items() if n < number}
        self._on_stale(number)
        return None


class _Recorded:
    """A model as it is on a tape."""

    def __init__(self, model: Model, tape: Tape) -> None:
        self._model = model
        self._tape = tape

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def style(self) -> Literal["chat", "completion"]:
        return self._model.style

    @property
    def can_constrain(self) -> bool:
        return self._model.can_constrain

    @property
    def can_call_tools(self) -> bool:
        return self._model.can_call_tools

    async def generate(self, request: Request) -> Reply:
        return await self._tape.generate(self._model, request)

    def conditions(self) -> Mapping[str, object]:
        return self._model.conditions()

    async def close(self) -> None:
        """Leaves the model open: other episodes use it too."""


async def _outcome(model: Model, request: Request) -> Reply:
    try:
        return await model.generate(request)
    except ContextOverflow as overflow:
        return Reply(str(overflow), "overflow")


def _told(part: object) -> dict[str, object]:
    """A part of a request in JSON values; what a message gained later is left out where it is empty."""
    values = vars(part)
    return {name: value for name, value in values.items() if value or name not in ("calls", "call_id")}
