"""Reads one call, in any of three notations, into a tool's name and its arguments.

* ``lookup[planets, Aster, day]``: one argument as it stands; several set apart by commas (quoted where they hold one),
  or one JSON object;
* ``Action: lookup`` with ``Action Input: {"table": …}`` under it (a lone text argument may stand without JSON);
* JSON: ``{"name": …, "arguments": {…}}``, OpenAI's tool call around it or not, or ``{"action": …, "action_input": …}``.

Arguments that cannot be read are an error, never an empty object: a tool is not run on a guess.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from typing import Any

from trialogue.envs.tools.tool import BadArguments, Tool, echo

_BRACKETS = re.compile(r"([A-Za-z_]\w*)\s*\[(.*)\]", re.DOTALL)
_TWO_LINES = re.compile(r"Action:([^\n]*)\n\s*Action Input:(.*)", re.DOTALL)
_KEYS = (("name", "arguments"), ("name", "parameters"), ("action", "action_input"), ("tool", "tool_input"))


class NoCall(ValueError):
    """Text that is not a call in any notation; the message is fit for the model."""


def read_call(text: str, tools: Mapping[str, Tool]) -> tuple[str, Any]:
    """The name, and the arguments as :func:`read_arguments` takes them. Raises NoCall, BadArguments."""
    if match := _BRACKETS.fullmatch(text):
        return match[1], _Bracketed(match[2].strip())
    if match := _TWO_LINES.fullmatch(text):
        return match[1].strip(), match[2].strip()
    if text.startswith("{"):
        return _json_call(text)
    if re.match(r"[A-Za-z_]\w*\s*\[", text):
        raise NoCall(f"the closing bracket of the call is missing: {echo(text)}")
    example = next(iter(tools.values())).template if tools else "name[argument]"
    raise NoCall(f"not a call; write one such as {example}; got {echo(text)}")


def read_arguments(tool: Tool, given: Any) -> dict[str, Any]:
    """``given`` as an object: JSON text, an object, or what stood in brackets. Raises BadArguments."""
    if isinstance(given, _Bracketed):
        return _from_brackets(tool, given.text)
    if isinstance(given, str):
        given = _from_text(tool, given)
    if not isinstance(given, dict):
        raise BadArguments(f"{tool.signature}: the arguments must be a JSON object; got {echo(given)}")
    return given


class _Bracketed:
    def __init__(self, text: str) -> None:
        self.text = text


def _json_call(text: str) -> tuple[str, Any]:
    value = _decode(text, "the call")
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    for name, arguments in _KEYS:
        if isinstance(value, dict) and isinstance(value.get(name), str) and arguments in value:
            return value[name], value[arguments]
    raise NoCall(f'not a call; JSON calls read {{"name": …, "arguments": {{…}}}}; got {echo(text)}')


def _from_text(tool: Tool, text: str) -> Any:
    """JSON; or one text argument as it stands, when it could not be meant as JSON."""
    if len(tool.parameters) == 1 and text and not text.startswith(("{", "[", '"')):
        return {tool.parameters[0]: text}
    return _decode(text, f"the arguments of {tool.name}")


def _from_brackets(tool: Tool, text: str) -> dict[str, Any]:
    names = tool.parameters
    if re.match(r'\{\s*["}]', text):
        value = _decode(text, f"the arguments of {tool.name}")
        return dict(value)
    values = [text] if len(names) == 1 and text else _split(text)
    required = sum(field.is_required() for field in tool.arguments.model_fields.values())
    if not required <= len(values) <= len(names):
        raise BadArguments(f"{tool.signature} takes {_count(required, len(names))}; got {len(values)}: {echo(text)}")
    return dict(zip(names, values, strict=False))


def _split(text: str) -> list[str]:
    """At the commas outside double quotes."""
    if not text:
        return []
    try:
        return [value.strip() for value in next(csv.reader([text.replace("\n", " ")], skipinitialspace=True))]
    except csv.Error as error:
        raise BadArguments(f"the arguments could not be read ({error}): {echo(text)}") from None


def _decode(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"the JSON of {what} could not be read ({str(error)[:100]}); got {echo(text)}") from None


def _count(least: int, most: int) -> str:
    said = str(most) if least == most else f"{least} to {most}"
    return f"{said} argument{'' if said == '1' else 's'}"
