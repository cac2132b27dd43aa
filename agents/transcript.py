"""The prompt of one episode: an opening, then entries that are only ever added at its end.

Each prompt begins with the whole of the one before it, so that a prefix cache reads only what is new. The one exception
is a prompt that no longer fits the model's window: then exemplars or the oldest steps are left out, which is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trialogue.agents.models.contract import Message, Role
from trialogue.agents.notation import Line, Notation, Wanted
from trialogue.agents.reading.text import one_line as one_line

EMPTY = "(nothing)"  # several endpoints refuse an empty message


@dataclass(frozen=True)
class Opening:
    """What stands before an episode, "" for what does not. ``told`` is the instruction with the command language and
    how to answer.

    A text prompt leaves that out where exemplars show it: ``brief`` stands there instead.
    """

    brief: str
    told: str
    examples: str
    exemplars: tuple[str, ...]
    memory: str
    task: str

    def text(self) -> str:
        return "\n\n".join(filter(None, [self.brief if self.exemplars else self.told, *self._shown(), self.task]))

    def system(self) -> str:
        return "\n\n".join(filter(None, [self.told, *self._shown()]))

    def _shown(self) -> list[str]:
        return [*([self.examples, *self.exemplars] if self.exemplars else []), *([self.memory] if self.memory else [])]


EntryKind = Literal["heard", "said", "echo", "cue", "left_out"]


@dataclass(frozen=True)
class _Entry:
    """Written once, when it is added. ``commands`` is how many it holds; of "left_out", how many were left out."""

    kind: EntryKind
    lines: tuple[Line, ...]
    commands: int = 0


class Transcript:
    """Append-only. Between two prompts something must be said, then heard: :meth:`said` or :meth:`echoed` first."""

    def __init__(self, opening: Opening, notation: Notation, answer: str = "OK.") -> None:
        self.opening = opening
        self.notation = notation
        self._answer = answer
        self._entries: list[_Entry] = []
        self._messages: list[Message] = []
        """The first ``_in_messages`` entries as chat: only what is new is made into messages for each prompt."""
        self._in_messages = 0
        self._number = 1
        """Of the next command."""
        self._answering = 0
        """The number of what the next thing heard answers; 0 before any."""

    @property
    def number(self) -> int:
        return self._number

    def heard(self, text: str) -> None:
        self._entries.append(_Entry("heard", (self.notation.heard(text, self._answering),)))

    def said(self, thoughts: Sequence[str], action: str | None) -> None:
        """A turn: thoughts, each on one line, and at most one command."""
        told = None if action is None else one_line(action)
        lines = self.notation.said(tuple(map(one_line, thoughts)), told, self._number, self._answer)
        self._entries.append(_Entry("said", tuple(lines), commands=int(action is not None)))
        if action is not None:
            self._answering = self._number
            self._number += 1

    def echoed(self, text: str, wanted: Wanted) -> None:
        """A reply of which nothing could be made, after a prompt that wanted ``wanted``."""
        self._entries.append(_Entry("echo", (self.notation.echo(one_line(text), wanted, self._number),)))
        self._answering = self._number

    def ask(self, words: str) -> None:
        """Tells a chat what its next reply should be; a text prompt says so by its last line."""
        self._entries.append(_Entry("cue", (Line(words, chat_only=True),)))

    def as_text(self, wanted: Wanted) -> str:
        """The prompt as text that a model completes."""
        opening = self.opening.text()
        lines = [*_marked(self._entries), self.notation.due(wanted, self._number)]
        return "\n".join([opening, *lines] if opening else lines)

    def as_messages(self) -> tuple[Message, ...]:
        """The prompt as chat: the opening by the system, then assistant and user (or tool) in turns."""
        for entry in self._entries[self._in_messages :]:
            for line in entry.lines:
                self._put(line)
        self._in_messages = len(self._entries)
        opening = self.opening.system()
        return (*([Message("system", opening)] if opening else []), *map(_filled, self._messages))

    def _put(self, line: Line) -> None:
        """Adds a line to the chat; what follows in the same role joins the message before it."""
        last = self._messages[-1] if self._messages else Message("system", "")
        role = _role(line, last)
        content = "" if line.call else line.text or ("" if line.said else EMPTY)
        if role == last.role:
            content = "\n".join(filter(None, (self._messages.pop().content, content)))
            call_id = last.call_id
        else:
            call_id = last.calls[0].id if role == "tool" else ""
        self._messages.append(Message(role, content, (line.call,) if line.call else (), call_id))

    def attempt(self) -> str:
        """The episode so far as text, without its opening."""
        return "\n".join(_marked(self._entries))

    def drop_exemplar(self) -> str:
        """Leaves the last exemplar out: the best come first. Returns what was done, "" when none is left."""
        opening = self.opening
        if not opening.exemplars:
            return ""
        self.opening = replace(opening, exemplars=opening.exemplars[:-1])
        return f"an exemplar was left out of the prompt, {len(self.opening.exemplars)} left"

    def oldest(self) -> str:
        """The older half of the steps, as text: what :meth:`drop_oldest` would leave out. "" when there is none."""
        return "\n".join(_marked(self._entries[1 : self._half()]))

    def oldest_commands(self) -> int:
        """How many commands would be left out after :meth:`drop_oldest`, with those that were before."""
        return sum(entry.commands for entry in self._entries[1 : self._half()])

    def drop_oldest(self, instead: str) -> str:
        """Puts ``instead`` in the place of the older half of the steps; what was seen first stays.

        Returns what was done, "" when there is nothing to leave out.
        """
        end, count = self._half(), self.oldest_commands()
        if not end:
            return ""
        self._entries[1:end] = [_Entry("left_out", (self.notation.heard(instead, 0),), commands=count)]
        self._messages, self._in_messages = [], 0
        return f"the {count} oldest steps were left out of the prompt"

    def _half(self) -> int:
        """Where the older half of the entries ends: always after an observation, and before the last; 0 if nowhere."""
        heard = [place for place, entry in enumerate(self._entries) if entry.kind == "heard"]
        ends = [place + 1 for place in heard[1:-1]]
        return next((end for end in ends if end >= len(self._entries) // 2), ends[-1] if ends else 0)


def _marked(entries: Sequence[_Entry]) -> list[str]:
    """The lines of ``entries`` as they stand in a text."""
    return [f"{line.mark}{line.text}" for entry in entries for line in entry.lines if not line.chat_only]


def _role(line: Line, last: Message) -> Role:
    if line.said:
        return "assistant"
    return "tool" if last.calls or last.role == "tool" else "user"


def _filled(message: Message) -> Message:
    return message if message.content or message.calls else Message(message.role, EMPTY, call_id=message.call_id)
