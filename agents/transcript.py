"""The prompt of one episode: an opening, then entries that are only ever added at its end.

Each prompt begins with the whole of the one before it, so that a prefix cache reads only what is new. The one exception
is a prompt that no longer fits the model's window: then exemplars or the oldest steps are left out, which is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trialogue.agents.models.contract import Message, Role
from trialogue.agents.notation import Line, Notation, Wanted
from trialogue.agents.reading.text import one_line as one_line

EMPTY = "(nothing)"  # several endpoints refuse an empty message


@dataclass(frozen=True)
class Opening:
    """What stands before an episode. ``told`` is the instruction with the command language and how to answer.

    A text prompt leaves that out where exemplars show it: ``brief`` stands there instead.
    """

    brief: str
    told: str
    examples: str
    exemplars: tuple[str, ...]
    memory: str
    task: str

    def text(self) -> str:
        return "\n\n".join([self.brief if self.exemplars else self.told, *self._shown(), self.task])

    def system(self) -> str:
        return "\n\n".join([self.told, *self._shown()])

    def _shown(self) -> list[str]:
        return [*([self.examples, *self.exemplars] if self.exemplars else []), *([self.memory] if self.memory else [])]


EntryKind = Literal["heard", "said", "echo", "cue", "left_out"]


@dataclass(frozen=True)
class _Entry:
    """``number`` is that of the command it belongs to; of "left_out", how many commands were."""

    kind: EntryKind
    text: str = ""
    thoughts: tuple[str, ...] = ()
    action: str | None = None
    number: int = 0
    wanted: Wanted = "action"


class Transcript:
    """Append-only. Between two prompts something must be said, then heard: :meth:`said` or :meth:`echoed` first."""

    def __init__(self, opening: Opening, notation: Notation, answer: str = "OK.") -> None:
        self.opening = opening
        self.notation = notation
        self._answer = answer
        self._entries: list[_Entry] = []
        self._number = 1
        """Of the next command."""
        self._answering = 0
        """The number of what the next thing heard answers; 0 before any."""

    @property
    def number(self) -> int:
        return self._number

    def heard(self, text: str) -> None:
        self._entries.append(_Entry("heard", text, number=self._answering))

    def said(self, thoughts: Sequence[str], action: str | None) -> None:
        """A turn: thoughts, each on one line, and at most one command."""
        lines = tuple(map(one_line, thoughts))
        told = None if action is None else one_line(action)
        self._entries.append(_Entry("said", thoughts=lines, action=told, number=self._number))
        if action is not None:
            self._answering = self._number
            self._number += 1

    def echoed(self, text: str, wanted: Wanted) -> None:
        """A reply of which nothing could be made, after a prompt that wanted ``wanted``."""
        self._entries.append(_Entry("echo", one_line(text), number=self._number, wanted=wanted))
        self._answering = self._number

    def ask(self, words: str) -> None:
        """Tells a chat what its next reply should be; a text prompt says so by its last line."""
        self._entries.append(_Entry("cue", words))

    def as_text(self, wanted: Wanted) -> str:
        """The prompt as text that a model completes."""
        lines = [self.opening.text(), *_marked(self._lines()), self.notation.due(wanted, self._number)]
        return "\n".join(lines)

    def as_messages(self) -> tuple[Message, ...]:
        """The prompt as chat: the opening by the system, then assistant and user (or tool) in turns."""
        messages = [Message("system", self.opening.system())]
        for line in self._lines(chat=True):
            last = messages[-1]
            role = _role(line, last)
            content = "" if line.call else line.text or ("" if line.said else EMPTY)
            if role == last.role:
                content = "\n".join(filter(None, (messages.pop().content, content)))
                call_id = last.call_id
            else:
                call_id = last.calls[0].id if role == "tool" else ""
            messages.append(Message(role, content, (line.call,) if line.call else (), call_id))
        return tuple(_filled(message) for message in messages)

    def attempt(self) -> str:
        """The episode so far as text, without its opening."""
        return "\n".join(_marked(self._lines()))

    def drop_exemplar(self) -> str:
        """Leaves the last exemplar out: the best come first. Returns what was done, "" when none is left."""
        opening = self.opening
        if not opening.exemplars:
            return ""
        self.opening = replace(opening, exemplars=opening.exemplars[:-1])
        return f"an exemplar was left out of the prompt, {len(self.opening.exemplars)} left"

    def oldest(self) -> str:
        """The older half of the steps, as text: what :meth:`drop_oldest` would leave out. "" when there is none."""
        return "\n".join(_marked(self._lines(entries=self._entries[1 : self._half()])))

    def oldest_commands(self) -> int:
        """How many commands would be left out after :meth:`drop_oldest`, with those that were before."""
        older = self._entries[1 : self._half()]
        return sum(entry.number if entry.kind == "left_out" else entry.action is not None for entry in older)

    def drop_oldest(self, instead: str) -> str:
        """Puts ``instead`` in the place of the older half of the steps; what was seen first stays.

        Returns what was done, "" when there is nothing to leave out.
        """
        end, count = self._half(), self.oldest_commands()
        if not end:
            return ""
        self._entries[1:end] = [_Entry("left_out", instead, number=count)]
        return f"the {count} oldest steps were left out of the prompt"

    def _half(self) -> int:
        """Where the older half of the entries ends: always after an observation, and before the last; 0 if nowhere."""
        heard = [place for place, entry in enumerate(self._entries) if entry.kind == "heard"]
        ends = [place + 1 for place in heard[1:-1]]
        return next((end for end in ends if end >= len(self._entries) // 2), ends[-1] if ends else 0)

    def _lines(self, chat: bool = False, entries: Sequence[_Entry] | None = None) -> Iterator[Line]:
        for entry in self._entries if entries is None else entries:
            match entry.kind:
                case "heard":
                    yield self.notation.heard(entry.text, entry.number)
                case "left_out":
                    yield self.notation.heard(entry.text, 0)
                case "said":
                    said = self.notation.said(entry.thoughts, entry.action, entry.number, self._answer)
                    yield from (line for line in said if chat or not line.chat_only)
                case "echo":
                    yield self.notation.echo(entry.text, entry.wanted, entry.number)
                case "cue" if chat:
                    yield Line(entry.text)


def _marked(lines: Iterator[Line]) -> list[str]:
    return [f"{line.mark}{line.text}" for line in lines]


def _role(line: Line, last: Message) -> Role:
    if line.said:
        return "assistant"
    return "tool" if last.calls or last.role == "tool" else "user"


def _filled(message: Message) -> Message:
    return message if message.content or message.calls else Message(message.role, EMPTY, call_id=message.call_id)
