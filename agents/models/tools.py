"""Native tool calls in the JSON of an OpenAI-compatible endpoint. API: the OpenAI reference, "Function calling"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trialogue.agents.models.contract import Message, Tool, ToolCall


def tool_field(tool: Tool) -> dict[str, object]:
    """An entry of the request's ``tools``."""
    names = list(dict.fromkeys(tool.parameters))
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
    }
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def message_field(message: Message) -> dict[str, object]:
    """An entry of the request's ``messages``. Beside calls, a content that is empty is null, as servers send it."""
    field: dict[str, object] = {"role": message.role, "content": message.content}
    if message.calls:
        field |= {"content": message.content or None, "tool_calls": [_call_field(call) for call in message.calls]}
    if message.call_id:
        field["tool_call_id"] = message.call_id
    return field


def read_tool_calls(entries: object) -> tuple[ToolCall, ...]:
    """The calls of an answer's message; what names no function is passed over. A missing id is made up by place."""
    listed = entries if isinstance(entries, list) else []
    return tuple(_read_call(place, entry) for place, entry in enumerate(listed) if _function(entry))


class CallMerger:
    """Gathers the parts of calls in a streamed answer: the first id and name, the arguments joined."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, str]] = {}

    def add(self, entries: object) -> None:
        """``entries`` is a delta's ``tool_calls``."""
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, Mapping):
                self._add(entry)

    def merged(self) -> list[dict[str, object]]:
        """The calls as an answer that is not streamed holds them."""
        calls = [self._calls[index] for index in sorted(self._calls)]
        return [{"id": c["id"], "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls]

    def _add(self, entry: Mapping[str, Any]) -> None:
        function = _function(entry)
        call = self._calls.setdefault(self._index(entry), {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or plain_text(entry.get("id"))
        call["name"] = call["name"] or plain_text(function.get("name"))
        call["arguments"] += _arguments(function.get("arguments"))

    def _index(self, entry: Mapping[str, Any]) -> int:
        """Its place; where the server tells none, an id that is new begins a call."""
        index = entry.get("index")
        if isinstance(index, int):
            return index
        last = max(self._calls, default=-1)
        begins = bool(entry.get("id")) and entry["id"] not in [call["id"] for call in self._calls.values()]
        return last + 1 if begins else max(last, 0)


def plain_text(value: object) -> str:
    """``value`` if it is text, else "".

    A lone surrogate (a character that the token limit cut in half) is replaced: it could be neither stored nor sent.
    """
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else ""


def _call_field(call: ToolCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _read_call(place: int, entry: Mapping[str, Any]) -> ToolCall:
    function = _function(entry)
    return ToolCall(
        id=plain_text(entry.get("id")) or f"call_{place}",
        name=plain_text(function.get("name")),
        arguments=plain_text(_arguments(function.get("arguments"))),
    )


def _function(entry: object) -> Mapping[str, Any]:
    function = entry.get("function") if isinstance(entry, Mapping) else None
    return function if isinstance(function, Mapping) else {}


def _arguments(value: object) -> str:
    """Text as it stands, also when it is no JSON; several servers send the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
