"""A scripted model: it obeys the real interface, and its replies are given.

For trying out agents and runs without a model, and for tests of anything that asks one.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from trialogue.agents.models.constraints import check_constraint, permits
from trialogue.agents.models.contract import Reply, Request, Usage
from trialogue.errors import ModelError, UsageError

Scripted = str | Reply | BaseException | None
"""One reply: text (cut at the request's stops), a whole Reply, an error to raise, or None for a null content."""

Script = Sequence[Scripted] | Mapping[str, Scripted] | Callable[[Request], Scripted | Awaitable[Scripted]]


class ScriptedModel:
    """Replies from a ``script``:

    * a sequence, one reply for each call in the order of the calls;
    * a mapping from regular expressions to replies: the first that matches at the end of the prompt;
    * a function of the request, which may be async; when it depends on nothing else, concurrency changes nothing.

    ``latency_s`` is waited before each reply. Raises ModelError of kind "script" when no reply is left or matches, or
    when a reply breaks the request's constraint, which no constrained model could do.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        style: Literal["chat", "completion"] = "completion",
        can_constrain: bool = False,
        can_call_tools: bool = False,
        latency_s: float = 0.0,
    ) -> None:
        if can_call_tools and style != "chat":
            raise UsageError(f"tool calls need style 'chat'; {name} is made with {style!r}")
        if isinstance(script, str) or not (callable(script) or isinstance(script, Sequence | Mapping)):
            raise UsageError(f"a script is a sequence, a mapping or a function; got {type(script).__name__}")
        self._script = script
        self._name = name
        self._style: Literal["chat", "completion"] = style
        self._can_constrain = can_constrain
        self._can_call_tools = can_call_tools
        self._latency_s = latency_s
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def style(self) -> Literal["chat", "completion"]:
        return self._style

    @property
    def can_constrain(self) -> bool:
        return self._can_constrain

    @property
    def can_call_tools(self) -> bool:
        return self._can_call_tools

    async def generate(self, request: Request) -> Reply:
        self._check(request)
        self.requests.append(request)
        number = len(self.requests)
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        item = self._pick(request, number)
        reply = _as_reply(await item if inspect.isawaitable(item) else item, request)
        constraint = request.constraint
        if constraint is not None and reply.finish_reason == "stop" and not permits(constraint, reply.text.strip()):
            raise ModelError("script", f"request {number} is constrained, and its reply {reply.text!r} is not allowed")
        return reply

    def conditions(self) -> Mapping[str, object]:
        able = {"can_constrain": self._can_constrain, "can_call_tools": self._can_call_tools}
        return {"provider": "scripted", "style": self._style, **able}

    async def close(self) -> None:
        """Nothing to close."""

    def _check(self, request: Request) -> None:
        if isinstance(request.prompt, str) != (self._style == "completion"):
            raise UsageError(
                f"{self._name} has style {self._style!r}; got {type(request.prompt).__name__} as its prompt"
            )
        if request.tools and not self._can_call_tools:
            raise UsageError(f"{self._name} was offered tools; make it with can_call_tools=True")
        if request.constraint is not None:
            check_constraint(request.constraint)
            if not self._can_constrain:
                raise UsageError(f"{self._name} was asked for constrained decoding; make it with can_constrain=True")

    def _pick(self, request: Request, number: int) -> Scripted | Awaitable[Scripted]:
        script = self._script
        end = prompt_text(request)[-120:]
        if isinstance(script, Mapping):
            for pattern, item in script.items():
                if re.search(rf"(?:{pattern})\Z", prompt_text(request)):
                    return item
            raise ModelError("script", f"no pattern matches the end of request {number}: …{end!r}")
        if isinstance(script, Sequence):
            if number > len(script):
                raise ModelError("script", f"request {number} came after the last of {len(script)} replies: …{end!r}")
            return script[number - 1]
        return script(request)


def prompt_text(request: Request) -> str:
    """The prompt as one text: of messages, the contents, a line break between them."""
    if isinstance(request.prompt, str):
        return request.prompt
    return "\n".join(message.content for message in request.prompt)


def load_script(path: str) -> Script:
    """The script named ``package.module:attribute``. Raises UsageError when there is no such thing."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"a script is named package.module:attribute; got {path!r}")
    try:
        script: Script = getattr(importlib.import_module(module_name), attribute)
    except ImportError as error:
        raise UsageError(f"the script {path!r} cannot be imported: {error}") from error
    except AttributeError:
        raise UsageError(f"the module {module_name!r} has no {attribute!r}") from None
    return script


def _as_reply(item: Scripted, request: Request) -> Reply:
    if isinstance(item, BaseException):
        raise item
    if isinstance(item, Reply):
        return item
    text = item or ""
    ends = [text.find(mark) for mark in request.stop if mark and mark in text]
    text = text[: min(ends)] if ends else text
    # Words stand in for tokens: enough for totals that can be checked by hand.
    return Reply(text, usage=Usage(prompt=len(prompt_text(request).split()), completion=len(text.split())))
