"""Reads actions written as JSON calls and words them as commands of the language.

``{"action": …, "action_input": …}`` (LangChain), ``{"name": …, "arguments": {…}}`` (OpenAI tool calls as text, Hermes),
and ``Action: …`` with ``Action Input: …`` under it. A JSON decoder reads the arguments, never a count of brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from trialogue.agents.reading.language import Language, Template
from trialogue.agents.reading.text import one_line, storable

_KEYS = (("action", "action_input"), ("name", "arguments"), ("name", "parameters"), ("tool", "tool_input"))
_THOUGHTS = ("thought", "thoughts", "think", "reasoning", "思考")
_FINAL = {"final answer", "final_answer", "answer"}
OTHER = "command"
"""The function under which a command that fits no form is told again, as ``text``."""
_MOST_TRIES = 20  # openings of objects that are tried in one reply
_LONGEST_ECHO = 200  # characters of the model's own text shown back to it

_decoder = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Call:
    """A call as the model wrote it. ``start`` and ``end`` are its place in the text that it was found in."""

    name: str
    arguments: Any = None
    thought: str = ""
    start: int = 0
    end: int = 0


class BadCall(ValueError):
    """A call that cannot be worded as a command; the message is fit for the model."""


def find_call(text: str) -> Call | None:
    """The first JSON object in ``text`` that is a call. Raises BadCall when one begins that cannot be decoded."""
    for start in _openings(text):
        decoded = _decode(text, start)
        call = None if decoded is None else _call(decoded[0], start, decoded[1])
        if call is not None:
            return call
    broken = re.search(r'\{\s*"(?:action|name|tool)"\s*:', text)
    if broken:
        raise BadCall(f"The JSON of your action could not be read: {clip(text[broken.start() :])}")
    return None


def read_arguments(text: str) -> Any:
    """The value after ``Action Input:``: an object, or plain text. Raises BadCall for an object that is broken."""
    text = re.sub(r"^\s*(?:```|~~~)?\s*(?:json\b)?\s*", "", text, flags=re.I)
    if text.startswith("{"):
        decoded = _decode(text, 0)
        if decoded is None:
            raise BadCall(f"The JSON of your action input could not be read: {clip(text)}")
        return decoded[0]
    line = text.partition("\n")[0].strip()
    decoded = _decode(line, 0) if line.startswith('"') else None
    return decoded[0] if decoded is not None and decoded[1] == len(line) else line


def command_of(call: Call, language: Language) -> str:
    """The command that ``call`` means. Raises BadCall when its arguments do not fill the form that it names."""
    call = replace(call, name=one_line(call.name))
    if _words(call.name) in _THOUGHTS:
        raise BadCall('A thought is no action; write it as a line that begins with "think:".')
    if not call.name:
        raise BadCall("Your call names no command.")
    form = _form(call.name, language)
    arguments = call.arguments
    if form is None and call.name == OTHER and isinstance(arguments, dict) and isinstance(arguments.get("text"), str):
        return one_line(arguments["text"])
    if form is None or not form.parameters:
        return _without_form(call.name, form, arguments, language)
    if isinstance(arguments, dict):
        return form.fill(*values_of(form, arguments))
    if isinstance(arguments, str | int | float) and not isinstance(arguments, bool):
        return _with_text(call.name, form, str(arguments), language)
    raise BadCall(f"{call.name} needs {_wanted(form)}; got {clip(_text(arguments))}")


def lone_thought(text: str) -> str | None:
    """The thought of ``{"thought": …}``, an object that holds nothing else; None for any other text."""
    decoded = _decode(text.strip(), 0) if text.lstrip().startswith("{") else None
    if decoded is None or decoded[1] != len(text.strip()) or not isinstance(decoded[0], dict):
        return None
    told = list(decoded[0].items())
    return told[0][1] if len(told) == 1 and told[0][0] in _THOUGHTS and isinstance(told[0][1], str) else None


def clip(text: str, most: int = _LONGEST_ECHO) -> str:
    """``text`` on one line, cut at ``most`` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1] + "…"


def _openings(text: str) -> Iterator[int]:
    for count, found in enumerate(re.finditer(r"\{", text)):
        if count == _MOST_TRIES:
            return
        yield found.start()


def _decode(text: str, start: int) -> tuple[Any, int] | None:
    try:
        value, end = _decoder.raw_decode(text, start)
        return (_storable(value) if "\\u" in text else value), end
    except (ValueError, RecursionError):  # not JSON, or nested deeper than any call is
        return None


def _storable(value: Any) -> Any:
    """``value`` without the lone surrogates that ``\\ud800`` stands for."""
    return json.loads(storable(json.dumps(value, ensure_ascii=False)))


def _call(value: Any, start: int, end: int) -> Call | None:
    if not isinstance(value, dict):
        return None
    thought = next((value[key] for key in _THOUGHTS if isinstance(value.get(key), str)), "")
    for name, arguments in _KEYS:
        if isinstance(value.get(name), str) and (arguments in value or name == "action"):
            given = value.get(arguments)
            if arguments in ("arguments", "parameters"):
                given = _object(value[name], given)
            return Call(value[name].strip(), given, thought, start, end)
    return None


def _object(name: str, given: Any) -> dict[str, Any]:
    """Arguments of a tool call: an object, or its JSON text as OpenAI's interface has it."""
    if isinstance(given, str):
        decoded = _decode(given.strip(), 0)
        if decoded is None:
            raise BadCall(f"The JSON of the arguments of {clip(name, 80)} could not be read: {clip(given)}")
        given = decoded[0]
    if not isinstance(given, dict):
        raise BadCall(f"The arguments of {clip(name, 80)} must be a JSON object; got {clip(_text(given))}")
    return given


def _form(name: str, language: Language) -> Template | None:
    wanted = _words(name)
    if wanted in _FINAL and language.finish is not None:
        return language.finish
    if name in language.functions:
        return language.functions[name]
    return next((form for form in language.forms if wanted in (_words(form.head), _own_words(form))), None)


def _words(name: str) -> str:
    return " ".join(re.split(r"[\s_-]+", name.casefold().strip()))


def _own_words(form: Template) -> str:
    return _words(re.sub(r"\{[^{}]*\}|[\[\]]", " ", form.text))


def values_of(form: Template, arguments: dict[str, Any]) -> list[str]:
    """The values of ``arguments`` in the order of the form. A form with one argument takes a lone one of any name."""
    names = form.parameters
    if None in arguments.values():
        raise BadCall(f"{form.head} needs {_wanted(form)}; got null")
    if len(names) == 1 and len(arguments) == 1:
        return [_text(value) for value in arguments.values()]
    if set(arguments) == set(names) and len(arguments) == len(names):
        return [_text(arguments[name]) for name in names]
    if form.bracketed and arguments:
        return [_text(arguments)]
    raise BadCall(f"{form.head} needs {_wanted(form)}; got {clip(', '.join(arguments) or 'nothing')}")


def _with_text(name: str, form: Template, text: str, language: Language) -> str:
    text = one_line(text)
    if len(form.parameters) == 1:
        return form.fill(text)
    command = f"{form.head} {text}"
    if language.accepts(command):
        return command
    raise BadCall(f"{clip(name, 80)} needs {_wanted(form)}; got {clip(text)}")


def _without_form(name: str, form: Template | None, arguments: Any, language: Language) -> str:
    """A command that takes no arguments, is complete by itself, or is unknown (the environment will say so)."""
    if form is not None:
        return form.text
    if arguments is None or arguments == "" or arguments == {}:
        return name
    lone = isinstance(arguments, dict) and len(arguments) == 1
    text = _text(next(iter(arguments.values())) if lone else arguments)
    return f"{name} {text}" if language.plain else f"{name}[{text}]"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return one_line(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise BadCall("The JSON of your action is nested too deeply.") from None


def _wanted(form: Template) -> str:
    return ", ".join(form.parameters) + f" (as in {form.text})"
