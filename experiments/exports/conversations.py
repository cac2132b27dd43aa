"""What a model was asked and said in an episode, as conversations: read back from the store, and proved to be exact.

The store holds a chat prompt as one rendered text. It is taken apart again, and the hash of the request that was
stored with it tells whether the messages are the ones that were sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from trialogue.agents.models import request_hash
from trialogue.agents.models.contract import Constraint, Message, Reply, Request, Role, Tool, ToolCall
from trialogue.agents.review import ASK
from trialogue.errors import DataError
from trialogue.experiments.store import Store

Prompt = str | tuple[Message, ...]

_HEAD = re.compile(rf"^\[({'|'.join(get_args(Role))})(?: ([^\]\n]+))?\]\n", re.MULTILINE)
_CALL = re.compile(r"^call (\S+): (\S+) ", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """One call of a model: its number in the episode, what was asked and what came."""

    number: int
    request: Request
    reply: Reply


@dataclass(frozen=True)
class Conversation:
    """Calls whose prompts each begin with the whole of the one before: one growing prompt."""

    calls: tuple[Call, ...]

    @property
    def is_chat(self) -> bool:
        return not isinstance(self.calls[0].request.prompt, str)


def calls_of(store: Store, episode: int) -> list[Call]:
    """The model's calls in their order; overflows and the cards of a reviewing person are left out.

    Raises DataError where a prompt cannot be read back as it was sent.
    """
    prompts, settings = store.prompts(episode), store.request_settings(episode)
    calls = []
    for number, (stored_hash, reply) in store.replies(episode).items():
        if reply.finish_reason == "overflow" or prompts[number].rstrip().endswith(ASK):
            continue
        request = _request(prompts[number], settings[number], stored_hash)
        if request is None:
            raise DataError(f"episode {episode}: the messages of call {number} cannot be told apart in the record")
        calls.append(Call(number, request, reply))
    return calls


def conversations(calls: Sequence[Call]) -> list[Conversation]:
    """The calls by growing prompt. A prompt that was shortened, a vote and a reflection begin one of their own."""
    threads: list[list[Call]] = []
    for call in calls:
        thread = next((t for t in reversed(threads) if _goes_on(t[-1].request.prompt, call.request.prompt)), None)
        if thread is None:
            threads.append([call])
        else:
            thread.append(call)
    return [Conversation(tuple(thread)) for thread in threads]


def _goes_on(before: Prompt, now: Prompt) -> bool:
    if isinstance(before, str) or isinstance(now, str):
        return isinstance(before, str) and isinstance(now, str) and len(now) > len(before) and now.startswith(before)
    return len(now) > len(before) and now[: len(before)] == before


def _request(rendered: str, settings: Mapping[str, Any], stored_hash: str) -> Request | None:
    """The request of this hash: its prompt as text, or as messages. None where it is neither.

    A text that does not begin as messages do is what was sent, by whatever version's hash.
    """
    for read in (str, _messages):
        request = _with_settings(read(rendered), settings)
        if request_hash(request) == stored_hash:
            return request
    return None if _HEAD.match(rendered) else _with_settings(rendered, settings)


def _with_settings(prompt: Prompt, settings: Mapping[str, Any]) -> Request:
    constraint = settings.get("constraint")
    tools = settings.get("tools") or ()
    return Request(
        prompt,
        stop=tuple(settings["stop"]),
        max_tokens=settings["max_tokens"],
        temperature=settings["temperature"],
        seed=settings["seed"],
        constraint=constraint and Constraint(tuple(constraint["choices"]), constraint["free_prefix"]),
        tools=tuple(Tool(tool["name"], tool["description"], tuple(tool["parameters"])) for tool in tools),
    )


def _messages(rendered: str) -> tuple[Message, ...]:
    """The inverse of the store's rendering, as far as the texts of messages leave it unambiguous."""
    heads = list(_HEAD.finditer(rendered))
    ends = [*(head.start() for head in heads), len(rendered)][1:]
    return tuple(
        _message(head, rendered[head.end() : end].removesuffix("\n")) for head, end in zip(heads, ends, strict=True)
    )


def _message(head: re.Match[str], body: str) -> Message:
    role: Any = head[1]  # one of Role, by the pattern
    call_id = head[2] or ""
    if role != "assistant":
        return Message(role, body, call_id=call_id)
    marks = list(_CALL.finditer(body))
    ends = [*(mark.start() for mark in marks), len(body) + 1][1:]
    calls = tuple(ToolCall(mark[1], mark[2], body[mark.end() : end - 1]) for mark, end in zip(marks, ends, strict=True))
    content = body[: max(0, marks[0].start() - 1)] if marks else body
    return Message(role, content, calls, call_id)
