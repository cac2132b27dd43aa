"""A person at the keyboard as a model: reads what is new in a prompt, and answers with one line."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import textwrap
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from trialogue.agents.models.contract import Message, Reply, Request
from trialogue.agents.models.per_loop import PerLoop
from trialogue.errors import ModelError, UsageError

_KEYBOARD = PerLoop(asyncio.Lock)
"""There is one keyboard, and one person reads one card at a time."""


class HumanModel:
    """``human:keyboard``. Calls wait for each other; tokens are not counted.

    Of a chat, what follows its last assistant message is shown: the rest was shown before. Raises ModelError of kind
    "interrupted" at the end of the input (Ctrl-D): the run stops there, and what was answered is kept.
    """

    name = "human:keyboard"
    style: Literal["chat", "completion"] = "chat"
    can_constrain = False
    can_call_tools = False

    def __init__(self, place: str = "keyboard") -> None:
        if place != "keyboard":
            raise UsageError(f"no person can be asked at {place!r}; expected human:keyboard")

    async def generate(self, request: Request) -> Reply:
        if isinstance(request.prompt, str):
            raise UsageError(f"{self.name} takes messages; the prompt is text")
        if request.constraint is not None or request.tools:
            raise UsageError(f"{self.name} answers with a free line: no constrained decoding, no tool calls")
        async with _KEYBOARD.get():
            print(card(request.prompt), flush=True)
            started = time.monotonic()
            line = await _read_line()
        if not line:
            raise ModelError("interrupted", "standard input has ended, or cannot be read; run again to go on from here")
        text = line.rstrip("\r\n").encode("utf-8", "replace").decode()
        return Reply(text, seconds=time.monotonic() - started)

    def conditions(self) -> Mapping[str, object]:
        return {"provider": "human"}

    async def close(self) -> None:
        """Nothing to close."""


def card(prompt: Sequence[Message]) -> str:
    """What is shown: all that is new, under a rule that says how the episode began, since several may take turns."""
    last = max((place for place, message in enumerate(prompt) if message.role == "assistant"), default=-1)
    opening = next((message.content for message in prompt[: last + 1] if message.role == "user"), "")
    title = textwrap.shorten(opening.partition("\n")[0], 90, placeholder=" …")
    return _printable("\n\n".join([f"\n--- {title}".rstrip(), *(message.content for message in prompt[last + 1 :])]))


async def _read_line() -> str:
    """A line with its end, "" at the end of the input. The thread is a daemon: Ctrl-C need not wait for Enter."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()
    threading.Thread(target=_listen, args=(loop, answered), name="keyboard", daemon=True).start()
    return await answered


def _listen(loop: asyncio.AbstractEventLoop, answered: asyncio.Future[str]) -> None:
    stream = sys.stdin  # held here: freeing it at exit while this thread reads would abort the interpreter
    try:
        line = stream.readline()
    except (AttributeError, OSError, ValueError):  # not there at all, closed, or in another encoding
        line = ""
    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(_settle, answered, line)


def _settle(answered: asyncio.Future[str], line: str) -> None:
    if not answered.cancelled():
        answered.set_result(line)


def _printable(text: str) -> str:
    """``text`` without what would steer the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)
