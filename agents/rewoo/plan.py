"""Plans written before the first command (ReWOO, Xu et al. 2023, section 2 and figure 2), read and written.

A plan is lines ``Plan: what for`` and ``#E1 = command``; a later command may hold ``#E1``, in whose place the evidence
is put: what the first command brought. Reading is a pure function of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from trialogue.agents.contract import Liberty
from trialogue.agents.reading import Language
from trialogue.agents.reading.calls import clip
from trialogue.agents.reading.reasoning import strip_reasoning
from trialogue.agents.reading.repairs import repair
from trialogue.agents.reading.text import storable

_EVIDENCE = re.compile(r"#E(\d{1,4})(?!\d)", re.I)
_COMMAND = re.compile(r"#E(\d{1,4})(?!\d)[\s*_`]{0,8}[=:：][\s*_`]{0,8}", re.I)
_PLAN = re.compile(r"[\s*_#>\d.)-]{0,16}(?:plan|计划)[\s*_]{0,8}\d{0,4}[\s*_]{0,8}[:：][\s*_]{0,8}", re.I)


@dataclass(frozen=True)
class Step:
    """One command of a plan: ``number`` is that of its evidence, ``thought`` what it is for ("" if not said)."""

    number: int
    thought: str
    action: str

    @property
    def name(self) -> str:
        return f"#E{self.number}"


@dataclass(frozen=True)
class Plan:
    """``steps`` in their order; ``liberties`` tell what was skipped or altered in reading."""

    steps: tuple[Step, ...]
    liberties: tuple[Liberty, ...] = ()


def read_plan(text: str, language: Language, *, finish_reason: str = "stop", repairs: bool = True) -> Plan:
    """Reads a plan. It never raises, whatever the text; a text without a plan gives no steps.

    A line whose command is none of ``language`` is skipped, and so is one that would end the episode (answering comes
    after the plan), any other text, and, where ``finish_reason`` is "length", a command that was cut off.
    """
    reader = _Reader(language, repairs)
    visible = strip_reasoning(storable(text))
    if visible.reasoning:
        reader.note("reasoning_removed", visible.reasoning)
    parts = [part for line in visible.text.splitlines() for part in _parts(line)]
    if finish_reason == "length" and parts and not parts[-1].rstrip().endswith("]"):
        reader.note("cut_off", parts.pop())
    for part in parts:
        reader.read(part)
    return Plan(tuple(reader.steps), tuple(reader.liberties))


def write_plan(steps: Iterable[Step]) -> str:
    """``steps`` as lines that :func:`read_plan` reads."""
    return "\n".join(
        line
        for step in steps
        for line in ([f"Plan: {step.thought}"] if step.thought else []) + [f"{step.name} = {step.action}"]
    )


def with_evidence(action: str, evidence: Mapping[int, str]) -> tuple[str, tuple[str, ...]]:
    """``action`` with evidence in its places, and the names of what is not there: these stay as they are."""
    missing = [found[0] for found in _EVIDENCE.finditer(action) if int(found[1]) not in evidence]
    filled = _EVIDENCE.sub(lambda found: evidence.get(int(found[1]), found[0]), action)
    return filled, tuple(dict.fromkeys(missing))


class _Reader:
    def __init__(self, language: Language, repairs: bool) -> None:
        self.steps: list[Step] = []
        self.liberties: list[Liberty] = []
        self._language = language
        self._repairs = repairs
        self._thought = ""

    def note(self, kind: str, before: str, after: str = "") -> None:
        self.liberties.append(Liberty(kind, clip(before), clip(after)))

    def read(self, part: str) -> None:
        if command := _COMMAND.match(part):
            self._command(int(command[1]), part[command.end() :].strip(), part)
        elif _PLAN.match(part):
            self._thought = " ".join(_without_label(part).split())
        else:
            self.note("plan_line_skipped", part)

    def _command(self, number: int, written: str, line: str) -> None:
        """Adds the command, unless it is none."""
        action, liberties = repair(written, self._language) if self._repairs else (written, ())
        form = self._language.finish
        if not self._language.accepts(action) or (form is not None and form.match(action) is not None):
            self.note("plan_line_skipped", line)
        else:
            self.liberties += liberties
            self.steps.append(Step(number, self._thought, action))
        self._thought = ""


def _without_label(part: str) -> str:
    """What is planned. A reply may repeat the label that its prompt ended in."""
    while plan := _PLAN.match(part):
        part = part[plan.end() :]
    return part


def _parts(line: str) -> list[str]:
    """``line``, cut where a command begins: plan and command may stand on one line."""
    is_open = [depth > 0 for depth in accumulate((c == "[") - (c == "]") for c in line)]  # after each character
    starts = [found.start() for found in _COMMAND.finditer(line) if not is_open[found.start()]]
    parts = [line[start:end].strip() for start, end in zip([0, *starts], [*starts, len(line)], strict=True)]
    return [part for part in parts if part.strip("*_`-#> \t")]
