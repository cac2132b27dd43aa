"""Native tool calls: the command language offered as functions, and a call read as a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from trialogue.agents.contract import Liberty, TurnKind
from trialogue.agents.models.contract import Tool, ToolCall
from trialogue.agents.reading.calls import OTHER, BadCall, Call, clip, command_of, read_arguments
from trialogue.agents.reading.language import Language, Template, functions_of
from trialogue.agents.reading.pieces import is_thought
from trialogue.agents.reading.reader import Reading, read_reply
from trialogue.agents.reading.repairs import repair
from trialogue.agents.reading.text import storable

_KEPT = {"reasoning_removed", "invented_observation", "extra_action", "trailing_text", "final_answer_ignored"}
"""What is noted of the text beside a call; how a command in it was mended is of no account there."""


def tools_of(templates: Sequence[str]) -> tuple[Tool, ...]:
    """One function for each form of command."""
    named = functions_of(tuple(templates))
    return tuple(Tool(name, form.text, form.parameters) for name, form in named.items())


def tool_of(command: str, templates: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The function, with its arguments, that means ``command``: of the forms it fits, the one with most own words."""
    told = {name: _told(form, command) for name, form in functions_of(tuple(templates)).items()}
    fitting = {name: arguments for name, arguments in told.items() if arguments is not None}
    if not fitting:
        return OTHER, {"text": command}
    name = max(fitting, key=len)
    return name, fitting[name]


def read_calls(
    text: str, calls: Sequence[ToolCall], *, finish_reason: str, language: Language, repairs: bool
) -> Reading:
    """Reads a reply that may hold native calls: its text is a thought, its first call the action.

    Without a call, a command in the text is still taken; other text is a thought.
    """
    beside = read_reply(
        text, finish_reason=finish_reason, language=language, repairs=repairs, thought_due=bool(text.strip())
    )
    if not calls:
        reading = read_reply(text, finish_reason=finish_reason, language=language, repairs=repairs)
        meant = reading.kind == "truncated" or _is_surely_a_command(reading, language)
        return reading if meant or beside.kind != "thought" else beside
    calls = [replace(call, name=storable(call.name), arguments=storable(call.arguments)) for call in calls]
    noted = (*_noted(beside), *(Liberty("extra_action", _written(call), "") for call in calls[1:]))
    echo = clip(f"{beside.echo} {_written(calls[0])}".strip())
    try:
        command = _command(calls[0], language)
    except BadCall as bad:
        kind: TurnKind = "truncated" if finish_reason == "length" else "unreadable"
        return Reading(kind, beside.thoughts, None, noted, str(bad), echo)
    command, mended = repair(command, language) if repairs else (command, ())
    liberties = (*(Liberty(mend.kind, clip(mend.before), clip(mend.after)) for mend in mended), *noted)
    return Reading("action", beside.thoughts, command, liberties, "", echo)


def _is_surely_a_command(reading: Reading, language: Language) -> bool:
    """Whether text beside no call holds a command: one of the language, or one that is written as such."""
    named = {"label", "json", "final_answer"} & {liberty.kind for liberty in reading.liberties}
    return reading.action is not None and (bool(named) or language.accepts(reading.action))


def _told(form: Template, command: str) -> dict[str, str] | None:
    """The arguments by which ``form`` gives exactly ``command``; None where it does not."""
    values = form.match(command)
    repeated = len(set(form.parameters)) < len(form.parameters)
    if values is None or repeated or form.fill(*values) != command:
        return None
    return dict(zip(form.parameters, values, strict=True))


def _noted(beside: Reading) -> list[Liberty]:
    noted = [liberty for liberty in beside.liberties if liberty.kind in _KEPT]
    return noted if beside.action is None else [*noted, Liberty("extra_action", clip(beside.action), "")]


def _written(call: ToolCall) -> str:
    return clip(f"{call.name}({call.arguments})")


def _command(call: ToolCall, language: Language) -> str:
    arguments = read_arguments(call.arguments) if call.arguments.strip() else {}
    if not isinstance(arguments, Mapping):
        raise BadCall(f"The arguments of {clip(call.name, 80)} must be a JSON object; got {clip(call.arguments)}")
    command = command_of(Call(call.name, dict(arguments)), language)
    if is_thought(command):
        raise BadCall("A thought is no action; write it beside the call of a function.")
    return command
