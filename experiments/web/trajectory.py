"""One episode as what happened in it, turn by turn, and two of them side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialogue.experiments.failure_tags import Tag
from trialogue.experiments.records import StepRecord
from trialogue.experiments.web.reader import Reader
from trialogue.experiments.web.tags import tags_by_episode

MARKS = {
    "thought": "T",
    "action": "A",
    "observation": "O",
    "repair": "R",
    "problem": "!",
    "note": "N",
    "memory": "M",
    "prompt": "P",
    "lesson": "L",
}
"""The letter of each kind of entry, beside its colour."""


@dataclass(frozen=True)
class Entry:
    """``kind`` is one of :data:`MARKS`; ``label`` says more of it in a word or two, where there is more."""

    kind: str
    text: str
    label: str = ""

    @property
    def mark(self) -> str:
        return MARKS[self.kind]


@dataclass(frozen=True)
class TurnView:
    """One turn. ``step`` is that of its action, or of an unreadable turn that cost one; None for thoughts alone.

    ``calls`` are the model calls that it used.
    """

    number: int
    step: int | None
    calls: range
    entries: tuple[Entry, ...]

    @property
    def done(self) -> tuple[str, ...]:
        """Its action, and what the environment answered."""
        return tuple(entry.text for entry in self.entries if entry.kind in ("action", "observation"))


@dataclass(frozen=True)
class Trajectory:
    """``head`` is the episode's row with its sums, ``closing`` what was kept and found at its end."""

    head: Mapping[str, Any]
    turns: tuple[TurnView, ...]
    closing: tuple[Entry, ...]
    tags: tuple[Tag, ...]


def trajectory(reader: Reader, episode: int, *, prompts: bool = False) -> Trajectory:
    """With ``prompts``, what each call added to the prompt before. Raises UsageError when there is no such episode."""
    head = reader.head(episode)
    tags = dict(tags_by_episode(reader, [episode])).get(episode, ())
    return Trajectory(head, tuple(_turns(reader, episode, prompts)), tuple(_closing(head)), tags)


def _turns(reader: Reader, episode: int, prompts: bool) -> Iterator[TurnView]:
    steps = {step.turn: step for step in reader.steps(episode)}
    asked = reader.prompts(episode) if prompts else {}
    memory, calls, prompt = "", 0, ""
    for row in reader.turns(episode):
        entries: list[Entry] = []
        used = range(calls, row["calls"])
        for call in used:
            if call in asked:
                entries.append(Entry("prompt", asked[call].removeprefix(prompt), f"call {call}"))
                prompt = asked[call]
        if row["memory"] != memory:
            entries.append(Entry("memory", row["memory"] or "(none)", "memory"))
        step = steps.get(row["turn"])
        entries.extend(_entries(row, step))
        yield TurnView(row["turn"], step.step if step else None, used, tuple(entries))
        memory, calls = row["memory"], row["calls"]


def _entries(turn: Any, step: StepRecord | None) -> Iterator[Entry]:
    for thought in json.loads(turn["thoughts"]):
        yield Entry("thought", thought, turn["event"])
    for liberty in json.loads(turn["liberties"]):
        yield Entry("repair", f"{liberty['before']!r} → {liberty['after']!r}", liberty["kind"])
    for note in json.loads(turn["notes"]):
        yield Entry("note", note)
    if turn["problem"] and turn["action"] is None:
        yield Entry("problem", turn["problem"], turn["kind"])
    if step is None:
        return
    if step.action is not None:
        yield Entry("action", step.action)
        yield Entry("observation", step.observation, f"score {step.score:g}" if step.reward else "")
        if not step.valid:
            yield Entry("problem", step.reason, "invalid")
    elif step.observation:
        yield Entry("observation", step.observation)


def _closing(head: Mapping[str, Any]) -> Iterator[Entry]:
    lesson = json.loads(head["lesson"] or "{}")
    for key in ("attempt", "reflection"):
        if lesson.get(key):
            yield Entry("lesson", lesson[key], key)
    if head["error"]:
        yield Entry("problem", head["error"], "error")
    for note in json.loads(head["notes"]):
        yield Entry("note", note)


@dataclass(frozen=True)
class Pairing:
    """Two episodes, step by step. ``parting`` is the first row in which they differ, None where none does.

    ``why`` says in what they differ there.
    """

    rows: tuple[tuple[tuple[TurnView, ...], tuple[TurnView, ...]], ...]
    parting: int | None
    why: str


def pair(a: Trajectory, b: Trajectory) -> Pairing:
    """Both step by step: the turns of thoughts alone stand with the step that follows them."""
    left, right = by_step(a.turns), by_step(b.turns)
    rows = []
    for n in range(max(len(left), len(right))):
        rows.append((left[n] if n < len(left) else (), right[n] if n < len(right) else ()))
    for n, (x, y) in enumerate(rows):
        if why := _difference(_done(x), _done(y)):
            return Pairing(tuple(rows), n, why)
    return Pairing(tuple(rows), None, "")


def by_step(turns: Sequence[TurnView]) -> list[tuple[TurnView, ...]]:
    """The turns in groups that end with a step each; what follows the last step is a group of its own."""
    groups: list[list[TurnView]] = [[]]
    for turn in turns:
        groups[-1].append(turn)
        if turn.step is not None:
            groups.append([])
    return [tuple(group) for group in groups if group]


def _done(turns: Sequence[TurnView]) -> tuple[str, ...]:
    return tuple(text for turn in turns for text in turn.done)


def _difference(a: tuple[str, ...], b: tuple[str, ...]) -> str:
    if a == b:
        return ""
    if not a or not b:
        return "only one of them acts"
    return "the same action, answered differently" if a[0] == b[0] else "different actions"
