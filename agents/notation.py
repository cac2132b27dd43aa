"""How thoughts, commands and observations are written in a prompt.

* ``arrow``: ``> think: …`` answered by ``OK.``, and ``> command`` (ReAct, Yao et al. 2023, appendix C: ALFWorld)
* ``labelled``: ``Thought 1: …``, ``Action 1: …``, ``Observation 1: …`` (ibid.: HotpotQA, FEVER)
* ``labelled_zh``: the same with Chinese labels and full-width colons
* ``json``: one object a line, ``{"thought": …, "action": …, "action_input": …}`` (LangChain's chat agents)
* ``tools``: native tool calls (the OpenAI API's ``tools``); chat only

Each renders the same entries as text to complete or as chat messages; :mod:`trialogue.agents.reading` reads them all.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trialogue.agents.models.contract import Constraint, Tool, ToolCall
from trialogue.agents.reading.native import tool_of, tools_of

THINK = "think:"
NotationName = Literal["arrow", "labelled", "labelled_zh", "json", "tools"]
Wanted = Literal["action", "thought", "both", "either"]
"""What the next reply should hold: a command, a thought, a thought and then a command, or one of them."""


@dataclass(frozen=True)
class Line:
    """One line of a transcript: ``said`` by the model, or heard by it.

    ``mark`` stands before it in text only; ``chat_only`` lines are an answer that only a chat needs.
    """

    text: str
    said: bool = False
    mark: str = ""
    chat_only: bool = False
    call: ToolCall | None = None


class Notation(ABC):
    """One way of writing. ``number`` counts commands from 1. ``joint``: a reply may hold a thought and a command."""

    name: NotationName
    joint = False
    overhead = 0
    """Tokens that the writing itself takes, beyond those of the command."""

    @abstractmethod
    def said(self, thoughts: Sequence[str], action: str | None, number: int, answer: str) -> list[Line]:
        """What the model said, thoughts first. ``answer`` is what a thought without a command is answered by."""

    @abstractmethod
    def heard(self, text: str, number: int) -> Line:
        """What answers command ``number``; 0 is what was seen before any."""

    def echo(self, text: str, wanted: Wanted, number: int) -> Line:
        """A reply of which nothing could be made."""
        return Line(text, said=True)

    def due(self, wanted: Wanted, number: int) -> str:
        """What a text prompt ends in, for the model to go on from."""
        return ""

    def stop(self, wanted: Wanted, *, chat: bool) -> tuple[str, ...]:
        """Where a reply ends. A chat reply ends by itself, and often opens with a line break."""
        return () if chat else ("\n",)

    def constraint(self, choices: tuple[str, ...], thought: bool, number: int, *, chat: bool) -> Constraint | None:
        """One of ``choices``, or a thought where ``thought``. None where commands cannot be constrained."""
        return None

    def tools(self, templates: Sequence[str]) -> tuple[Tool, ...]:
        """What is offered for native calls."""
        return ()


class Arrow(Notation):
    name: NotationName = "arrow"

    def said(self, thoughts: Sequence[str], action: str | None, number: int, answer: str) -> list[Line]:
        lines: list[Line] = []
        for thought in thoughts:
            lines += [self.echo(f"{THINK} {thought}".rstrip(), "thought", number), Line(answer)]
        return lines if action is None else [*lines, self.echo(action, "action", number)]

    def heard(self, text: str, number: int) -> Line:
        return Line(text)

    def echo(self, text: str, wanted: Wanted, number: int) -> Line:
        return Line(text, said=True, mark="> " if text else ">")

    def due(self, wanted: Wanted, number: int) -> str:
        return f"> {THINK}" if wanted == "thought" else ">"

    def constraint(self, choices: tuple[str, ...], thought: bool, number: int, *, chat: bool) -> Constraint | None:
        return Constraint(choices, f"{THINK} " if thought else None)


@dataclass(frozen=True)
class Labels:
    thought: str
    action: str
    observation: str
    colon: str = ": "
    gap: str = " "


class Labelled(Notation):
    joint = True
    overhead = 10

    def __init__(self, name: NotationName, labels: Labels) -> None:
        self.name = name
        self._labels = labels

    def said(self, thoughts: Sequence[str], action: str | None, number: int, answer: str) -> list[Line]:
        lines = [Line(self._line(self._labels.thought, number, thought), said=True) for thought in thoughts]
        if action is None:
            return [*lines, Line(answer, chat_only=True)]
        return [*lines, Line(self._line(self._labels.action, number, action), said=True)]

    def heard(self, text: str, number: int) -> Line:
        return Line(self._line(self._labels.observation, number, text) if number else text)

    def echo(self, text: str, wanted: Wanted, number: int) -> Line:
        if not self.due(wanted, number):
            return Line(text, said=True)
        label = self._labels.action if wanted == "action" else self._labels.thought
        return Line(self._line(label, number, text), said=True)

    def due(self, wanted: Wanted, number: int) -> str:
        if wanted == "either":
            return ""
        return self._line(self._labels.action if wanted == "action" else self._labels.thought, number, "")

    def stop(self, wanted: Wanted, *, chat: bool) -> tuple[str, ...]:
        if chat or wanted in ("both", "either"):
            return (f"\n{self._labels.observation}",)
        return ("\n",)

    def constraint(self, choices: tuple[str, ...], thought: bool, number: int, *, chat: bool) -> Constraint | None:
        if not thought and not chat:
            return Constraint(choices)  # the prompt ends in the label
        labels = self._labels
        free = f"{labels.thought}{labels.gap}{number}{labels.colon}" if thought else None
        return Constraint(tuple(self._line(labels.action, number, choice) for choice in choices), free)

    def _line(self, label: str, number: int, text: str) -> str:
        labels = self._labels
        return f"{label}{labels.gap}{number}{labels.colon}{text}".rstrip()


class Json(Notation):
    name: NotationName = "json"
    joint = True
    overhead = 30

    def said(self, thoughts: Sequence[str], action: str | None, number: int, answer: str) -> list[Line]:
        told: dict[str, object] = {"thought": " ".join(thoughts)} if any(thoughts) else {}
        if action is not None:
            return [Line(_dumps({**told, **self._command(action)}), said=True)]
        return [Line(_dumps(told), said=True), Line(answer)]

    def heard(self, text: str, number: int) -> Line:
        return Line(text)

    def _command(self, action: str) -> dict[str, object]:
        name, bracket, argument = action.partition("[")
        if bracket and argument.endswith("]") and name.strip().isidentifier():
            return {"action": name.strip(), "action_input": argument[:-1]}
        return {"action": action}


class Tools(Notation):
    name: NotationName = "tools"
    joint = True
    overhead = 30

    def __init__(self, templates: Sequence[str]) -> None:
        self._templates = tuple(templates)

    def said(self, thoughts: Sequence[str], action: str | None, number: int, answer: str) -> list[Line]:
        lines = [Line(thought, said=True) for thought in thoughts if thought]
        if action is None:
            return [*(lines or [Line("", said=True)]), Line(answer)]
        name, arguments = tool_of(action, self._templates)
        # As text (exemplars, a reflection's transcript) a call is told like any other JSON call.
        told = _dumps({"name": name, "arguments": arguments})
        return [*lines, Line(told, said=True, call=ToolCall(f"call_{number}", name, _dumps(arguments)))]

    def heard(self, text: str, number: int) -> Line:
        return Line(text)

    def tools(self, templates: Sequence[str]) -> tuple[Tool, ...]:
        return tools_of(templates)


def notation_named(name: NotationName, templates: Sequence[str]) -> Notation:
    """The notation ``name`` for a command language."""
    if name == "tools":
        return Tools(templates)
    return _NOTATIONS[name]


_NOTATIONS: dict[str, Notation] = {
    "arrow": Arrow(),
    "labelled": Labelled("labelled", Labels("Thought", "Action", "Observation")),
    "labelled_zh": Labelled("labelled_zh", Labels("思考", "行动", "观察", colon="：", gap="")),
    "json": Json(),
}


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
