"""The opening of an episode's prompt: instruction, exemplars, memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from trialogue.agents.contract import Briefing, Lesson
from trialogue.agents.notation import Notation
from trialogue.agents.transcript import Opening, Transcript, one_line
from trialogue.agents.wording import Wording
from trialogue.exemplars.contract import Exemplar

Thoughts = Literal["none", "sparse", "dense", "decision_points"]
Prompt = Literal["full", "task"]


def new_transcript(
    briefing: Briefing,
    exemplars: Sequence[Exemplar],
    wording: Wording,
    thoughts: Thoughts,
    notation: Notation,
    memory: str = "",
    prompt: Prompt = "full",
) -> Transcript:
    """The opening of an episode. A chat is told the command language and how to answer; a text prompt only when no
    exemplar shows it; neither where ``prompt`` is the task alone. ``memory`` is as :func:`render_memory` gives it."""
    if prompt == "task":
        return Transcript(Opening("", "", "", (), memory, ""), notation, wording.thought_answer)
    replies = wording.replies[notation.name]
    reply = {"none": replies.none, "sparse": replies.sparse}.get(thoughts, replies.due)
    commands = wording.commands.format(commands=", ".join(briefing.templates))
    opening = Opening(
        brief=wording.instruction,
        told=f"{wording.instruction}\n{commands}\n{reply}",
        examples=wording.examples,
        exemplars=tuple(render_exemplar(exemplar, wording, thoughts, notation) for exemplar in exemplars),
        memory=memory,
        task=wording.task,
    )
    return Transcript(opening, notation, wording.thought_answer)


def first_observation(observation: str, goal: str, wording: Wording) -> str:
    """``observation``, and the goal on a line of its own unless it is told there already."""
    told = goal.casefold() in observation.casefold()
    return observation if told else f"{observation}\n{wording.goal.format(goal=goal)}"


def render_exemplar(exemplar: Exemplar, wording: Wording, thoughts: Thoughts, notation: Notation) -> str:
    """The episode as a transcript, with the thoughts that go with this placement (none for an agent that only acts)."""
    nothing = Opening("", "", "", (), "", "")
    shown = Transcript(nothing, notation, wording.thought_answer)
    shown.heard(first_observation(exemplar.observation, exemplar.goal, wording))
    with_events = any(step.event for step in exemplar.steps)
    for step in exemplar.steps:
        left_out = thoughts == "none" or (thoughts == "decision_points" and with_events and not step.event)
        shown.said(() if left_out else step.thoughts, step.action)
        shown.heard(step.observation)
    return shown.attempt()


def render_memory(lessons: Iterable[Lesson], wording: Wording, attempt: str = "") -> str:
    """The reflections of ``lessons``, each under the number of its trial, and the last ``attempt``; "" when empty."""
    trials = [
        wording.trial.format(number=lesson.trial, text=one_line(lesson.reflection))
        for lesson in lessons
        if lesson.reflection
    ]
    reflections = "\n".join([wording.memory, *trials]) if trials else ""
    return "\n\n".join(filter(None, [f"{wording.attempt}\n{attempt}" if attempt else "", reflections]))
