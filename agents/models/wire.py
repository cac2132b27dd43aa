"""The JSON of an OpenAI-compatible endpoint, read with tolerance: servers leave fields out, or set them to null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast, get_args

from trialogue.agents.models.contract import FinishReason, Reply, Request, Usage
from trialogue.agents.models.tools import CallMerger, message_field, plain_text, read_tool_calls, tool_field
from trialogue.errors import UsageError

Api = Literal["chat", "completions"]


class Malformed(Exception):
    """An answer of status 200 that holds no reply."""


def body_of(request: Request, model: str, api: Api) -> dict[str, object]:
    """The request's JSON. In chat, stops that are only line breaks are left out: many chat replies open with one."""
    body: dict[str, object] = {"model": model, "max_tokens": request.max_tokens, "temperature": request.temperature}
    if api == "chat":
        if isinstance(request.prompt, str):
            raise UsageError('this model takes messages (api "chat"); the prompt is text. Use api "completions"?')
        body["messages"] = [message_field(message) for message in request.prompt]
        if request.tools:
            body["tools"] = [tool_field(tool) for tool in request.tools]
    else:
        if not isinstance(request.prompt, str):
            raise UsageError('this model takes text (api "completions"); the prompt is messages. Use api "chat"?')
        body["prompt"] = request.prompt
    stop = stops_of(request, api)
    if stop:
        body["stop"] = stop
    if request.seed is not None:
        body["seed"] = request.seed
    return body


def stops_of(request: Request, api: Api) -> list[str]:
    return [mark for mark in request.stop if mark.strip("\r\n") or api == "completions"]


def read_json(content: bytes) -> object:
    """Raises Malformed for what is not JSON in UTF-8."""
    try:
        return json.loads(content)
    except ValueError as error:
        raise Malformed(f"the answer is not JSON ({error}): {content[:300]!r}") from None


def read_reply(body: object) -> Reply:
    """Raises Malformed when ``body`` has no choice to read. A null content is an empty text, not an error."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(choices, list) or not choices:
        raise Malformed(f"the answer has no choices: {str(body)[:300]}")
    choice = choices[0]
    if not isinstance(choice, Mapping):
        raise Malformed(f"the answer's first choice is no object: {str(choice)[:300]}")
    message = _mapping(choice, "message")
    content = message.get("content") if message else choice.get("text")
    calls = read_tool_calls(message.get("tool_calls"))
    return Reply(_text(content), _finish_reason(choice.get("finish_reason")), _usage(body), calls=calls)


def merge_chunks(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The chunks of one streamed answer as the body that the same answer has when it is not streamed.

    The last chunk often has no choices and only usage. Raises Malformed when no chunk says why the text ended.
    """
    texts: list[str] = []
    calls = CallMerger()
    finish: object = None
    rest: dict[str, Any] = {}
    for chunk in chunks:
        rest |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for choice in (chunk.get("choices") or [])[:1]:
            delta = _mapping(choice, "delta")
            texts.append(_text(delta.get("content") if delta else choice.get("text")))
            calls.add(delta.get("tool_calls"))
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise Malformed("the streamed answer broke off before its end")
    message = {"content": "".join(texts), "tool_calls": calls.merged()}
    return {**rest, "choices": [{"message": message, "finish_reason": finish}]}


def _text(content: object) -> str:
    """``content`` is text, null, or a list of parts of which some are text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    return plain_text(content)


def _finish_reason(value: object) -> FinishReason:
    return cast(FinishReason, value) if value in _SENT_REASONS else "other"


_SENT_REASONS = {reason for reason in get_args(FinishReason) if reason != "overflow"}  # that one is ours: see replay.py


def _usage(body: Mapping[str, Any]) -> Usage:
    usage, timings = _mapping(body, "usage"), _mapping(body, "timings")
    cached = _mapping(usage, "prompt_tokens_details").get("cached_tokens")
    return Usage(
        prompt=_count(usage.get("prompt_tokens")),
        completion=_count(usage.get("completion_tokens")),
        cached=_count(timings.get("cache_n") if cached is None else cached),
    )


def _mapping(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = body.get(key)
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
