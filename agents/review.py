"""A person in the loop: approves, or replaces, what the model wants before it is executed.

ReAct (Yao et al. 2023, section 4 and figure 5) has a person correct thoughts in the middle of an episode. The person is
a model like any other (``human:keyboard``), so that every decision is stored, and a resumed run asks nobody twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

from trialogue.agents.contract import View
from trialogue.agents.models.contract import Message, Model, Request
from trialogue.agents.notation import THINK
from trialogue.agents.reading import Reading
from trialogue.errors import UsageError

When = Literal["never", "always", "unsure"]

ASK = (
    "Enter approves. A command replaces the command; a line that begins with 'think:' replaces the thought, and the "
    "model goes on from it."
)
APPROVED = {"", "y", "yes", "ok"}


@runtime_checkable
class Deciding(Protocol):
    """A person whose decisions are known beforehand: brings a reviewer of its own, whatever the setting ``review``."""

    def reviewer(self, when: When) -> Reviewer: ...


class Reviewer:
    """Asks ``person`` about a reading: always, or when the model seems unsure."""

    def __init__(self, person: Model, when: When) -> None:
        self._person = person
        self._when = when

    @classmethod
    def of(cls, when: When, person: Model | None) -> Reviewer | None:
        """The reviewer for the setting ``review``; None for "never". Raises UsageError when nobody is there to ask."""
        if isinstance(person, Deciding):
            return person.reviewer(when)
        if when == "never":
            return None
        if person is None:
            raise UsageError(f"review: {when} asks a person, and this run has none; set review: never")
        return cls(person, when)

    async def reviewed(
        self, reading: Reading, view: View, notes: list[str], *, goal: str, repeats: bool, seed: Callable[[], int]
    ) -> Reading:
        """``reading`` as the person wants it; what was decided is added to ``notes``."""
        why = _doubt(reading, view, repeats)
        if self._when == "unsure" and not why:
            return reading
        card = _card(reading, why, view, goal)
        reply = await self._person.generate(Request((Message("user", card),), seed=seed()))
        said = " ".join(reply.text.split())
        if said.casefold() in APPROVED:
            notes.append("a person approved")
            return reading
        if said.casefold().startswith(THINK):
            thought = said[len(THINK) :].strip()
            notes.append(f"a person replaced the thought {' '.join(reading.thoughts)!r} by {thought!r}")
            return replace(
                reading, kind="thought", thoughts=(thought,), action=None, problem="", echo=said, by_person=True
            )
        replaced = reading.action or " ".join(reading.thoughts) or "what could not be read"
        notes.append(f"a person replaced {replaced!r} by {said!r}")
        return replace(reading, kind="action", action=said, problem="", echo=said, by_person=True)


def _doubt(reading: Reading, view: View, repeats: bool) -> str:
    """Why the model seems unsure, "" if it does not."""
    if reading.kind in ("unreadable", "truncated"):
        return reading.problem
    if reading.action is None:
        return ""
    if view.admissible is not None and reading.action not in view.admissible:
        return f"{reading.action!r} is not among the commands that are possible now"
    return "the same was done before, and it was answered the same" if repeats else ""


def _card(reading: Reading, why: str, view: View, goal: str) -> str:
    """What the person decides on: the goal, what the agent sees, and what it wants."""
    told = [f"goal: {goal}"]
    told += [view.observation] if view.observation is not None else []
    told += [f"{THINK} {thought}" for thought in reading.thoughts]
    told += [f"command: {reading.action}"] if reading.action is not None else []
    told += ["(nothing could be read)"] if not reading.thoughts and reading.action is None else []
    told += [f"unsure: {why}"] if why else []
    return "\n".join([*told, ASK])
