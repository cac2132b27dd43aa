"""The contract of a model: a prompt in, text out, with usage and finish reason.

Every model (an endpoint, the embedded one, a scripted one) is a :class:`Model`. What was asked for and what an
endpoint really accepted are kept apart: ``conditions`` tells the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "overflow", "other"]
"""Why a reply ended. "overflow" is no reply, but the record that the prompt did not fit the model's window."""


@dataclass(frozen=True)
class Tool:
    """A function offered for native tool calls; every parameter is required and a string."""

    name: str
    description: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class ToolCall:
    """One native tool call. ``arguments`` is the JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One chat message. ``calls`` are those of an assistant; ``call_id`` says which call a "tool" message answers."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True)
class Constraint:
    """Decoding restricted to one line: one of ``choices``, or ``free_prefix`` and then any text.

    ``free_prefix`` is None when only the choices are allowed. Example: choices ("look", "go to desk 1") and
    free_prefix "think: " for an action or a thought.
    """

    choices: tuple[str, ...]
    free_prefix: str | None = None


@dataclass(frozen=True)
class Request:
    """One call. ``prompt`` is text (completions) or messages (chat); ``max_tokens`` bounds the reply in tokens.

    Stops made of line breaks alone are not used in chat: chat replies often open with a line break. ``tools`` are
    offered for native calls (chat only).
    """

    prompt: str | tuple[Message, ...]
    stop: tuple[str, ...] = ()
    max_tokens: int = 100
    temperature: float = 0.0
    seed: int | None = None
    constraint: Constraint | None = None
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens. ``cached`` are those of ``prompt`` that a prefix cache answered (0 where not reported)."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(frozen=True)
class Reply:
    """One answer. ``text`` is "" when there was none (a null content); ``cost`` is None without prices.

    ``retries`` calls failed before it, for the reasons ``retried`` (kinds of ModelError).
    """

    text: str
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    retries: int = 0
    seconds: float = 0.0
    calls: tuple[ToolCall, ...] = ()
    retried: tuple[str, ...] = ()


class Model(Protocol):
    """A model that can be asked concurrently."""

    @property
    def name(self) -> str:
        """As written in a configuration: ``openai:gpt-4o``, ``local:smollm2-135m``."""
        ...

    @property
    def style(self) -> Literal["chat", "completion"]:
        """Whether ``Request.prompt`` should be messages or text."""
        ...

    @property
    def can_constrain(self) -> bool:
        """Whether ``Request.constraint`` is enforced; a request with one is refused (UsageError) otherwise."""
        ...

    @property
    def can_call_tools(self) -> bool:
        """Whether ``Request.tools`` can be offered; a request with some is refused (UsageError) otherwise."""
        ...

    async def generate(self, request: Request) -> Reply:
        """Raises ModelError (its ``kind`` says whether a retry was of use), ContextOverflow."""
        ...

    def conditions(self) -> Mapping[str, object]:
        """What decides the replies beside the request: versions, file hash, refused parameters (JSON values)."""
        ...

    async def close(self) -> None: ...
