"""The prompt of one episode: an opening, then a transcript that only ever grows at its end.

It is rendered as text to complete, in the convention of the ALFWorld prompts of ReAct (Yao et al. 2023, appendix C):
commands and thoughts after ``>``, a thought as ``> think: …``, answered by ``OK.``; or as chat messages. Either way
each prompt begins with the whole of the one before it, so that a prefix cache reads only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from trialogue.agents.contract import Briefing
from trialogue.agents.models.contract import Message
from trialogue.agents.wording import Wording
from trialogue.exemplars.contract import Exemplar

THINK = "think:"
Thoughts = Literal["none", "sparse", "dense", "decision_points"]


@dataclass(frozen=True)
class _Line:
    """``said`` by the model; else heard by it. ``cue`` asks for a thought: a user's words, or the start of the line."""

    text: str
    said: bool = False
    cue: bool = False


class Transcript:
    """Append-only. Between two prompts something must be said, then heard: :meth:`said` first."""

    def __init__(self, opening: str, system: str) -> None:
        self._opening = opening
        self._system = system
        self._lines: list[_Line] = []

    def heard(self, text: str) -> None:
        self._lines.append(_Line(text))

    def said(self, text: str) -> None:
        self._lines.append(_Line(one_line(text), said=True))

    def ask_for_thought(self, words: str) -> None:
        """The next line is to be a thought: a text prompt then ends in ``> think:``, a chat with ``words``."""
        self._lines.append(_Line(words, cue=True))

    def as_text(self) -> str:
        """The prompt as text that a model completes."""
        lines = [f"> {line.text}".rstrip() if line.said else line.text for line in self._lines if not line.cue]
        due = bool(self._lines) and self._lines[-1].cue
        return "\n".join([self._opening, *lines, f"> {THINK}" if due else ">"])

    def as_messages(self) -> tuple[Message, ...]:
        """The prompt as chat: the opening by the system, then assistant and user in turns."""
        messages = [Message("system", self._system)]
        for line in self._lines:
            role: Literal["user", "assistant"] = "assistant" if line.said else "user"
            text = line.text or "(nothing)"  # several endpoints refuse an empty message
            if messages[-1].role == role:
                text = f"{messages.pop().content}\n{text}"
            messages.append(Message(role, text))
        return tuple(messages)


def new_transcript(
    briefing: Briefing, exemplars: Sequence[Exemplar], wording: Wording, thoughts: Thoughts
) -> Transcript:
    """The opening of an episode: instruction, exemplars, memory.

    A chat is told the command language and how to answer too; a text prompt only when no exemplar shows it.
    """
    reply = {"none": wording.reply_none, "sparse": wording.reply_sparse}.get(thoughts, wording.reply_due)
    commands = wording.commands.format(commands=", ".join(briefing.templates))
    shown = _exemplars(exemplars, wording, thoughts)
    memory = _memory(briefing.memory, wording)
    told = f"{wording.instruction}\n{commands}\n{reply}"
    opening = [wording.instruction if exemplars else told, *shown, *memory, wording.task]
    return Transcript("\n\n".join(opening), "\n\n".join([told, *shown, *memory]))


def first_observation(observation: str, goal: str, wording: Wording) -> str:
    """``observation``, and the goal on a line of its own unless it is told there already."""
    told = goal.casefold() in observation.casefold()
    return observation if told else f"{observation}\n{wording.goal.format(goal=goal)}"


def render_exemplar(exemplar: Exemplar, wording: Wording, thoughts: Thoughts) -> str:
    """The episode as a transcript, with the thoughts that go with this placement (none for an agent that only acts)."""
    lines = [first_observation(exemplar.observation, exemplar.goal, wording)]
    with_events = any(step.event for step in exemplar.steps)
    for step in exemplar.steps:
        left_out = thoughts == "none" or (thoughts == "decision_points" and with_events and not step.event)
        for thought in () if left_out else step.thoughts:
            lines += [f"> {THINK} {one_line(thought)}", wording.thought_answer]
        lines += [f"> {step.action}", step.observation]
    return "\n".join(lines)


def one_line(text: str) -> str:
    return " ".join(text.split())


def _exemplars(exemplars: Iterable[Exemplar], wording: Wording, thoughts: Thoughts) -> list[str]:
    shown = [render_exemplar(exemplar, wording, thoughts) for exemplar in exemplars]
    return [wording.examples, *shown] if shown else []


def _memory(memory: Sequence[str], wording: Wording) -> list[str]:
    if not memory:
        return []
    trials = (wording.trial.format(number=number, text=one_line(text)) for number, text in enumerate(memory, start=1))
    return ["\n".join([wording.memory, *trials])]
