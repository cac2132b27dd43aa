"""Won episodes as a model that is prompted with the task alone would have played them.

Whoever played, with however many exemplars: the thoughts, the commands and what answered them are written as
:class:`trialogue.agents.react.ReactAgent` with ``prompt: task`` writes them, in the notation of its papers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trialogue.agents.contract import Briefing
from trialogue.agents.expert_agent import SLIP
from trialogue.agents.notation import Notation, Wanted, notation_named
from trialogue.agents.prompt import first_observation, new_transcript, render_memory
from trialogue.agents.react import digest, plain_prompt
from trialogue.agents.reflexion import asked_to_reflect, told_before_reflection
from trialogue.agents.transcript import one_line
from trialogue.agents.wording import Wording, wording_for
from trialogue.errors import DataError
from trialogue.experiments.records import StepRecord
from trialogue.experiments.store import Store

Thoughts = Literal["keep", "drop"]


@dataclass(frozen=True)
class Segment:
    """A part of a text: ``loss`` says whether the model is to learn to write it, its line break included."""

    text: str
    loss: bool


@dataclass(frozen=True)
class Reply:
    """One reply of the model, and what answers it (None: nothing but what answers a thought)."""

    thoughts: tuple[str, ...]
    action: str | None
    loss: bool
    observation: str | None


class TaskPrompt:
    """An episode of ``env``, told as ``thoughts`` says. ``opening`` is its prompt, ``segments`` is what follows it.

    Commands that were not accepted, and slips of an expert, have no loss. Turns of which nothing could be read are left
    out. Raises DataError for an environment whose commands are native calls, and for a memory that cannot be told.
    """

    def __init__(self, store: Store, row: Any, env: str, thoughts: Thoughts) -> None:
        self._wording = wording = wording_for(env)
        if wording.notation == "tools":
            raise DataError(f"episodes of {env} are native calls of functions, which no text tells; set --prompt sent")
        self._notation = notation_named(wording.notation, ())
        self._wanted: Wanted = "either" if thoughts == "keep" else "action"
        turns = store.turns(row["id"])
        self._memory = _memory(store, row["id"], turns, wording)
        placed: Literal["sparse", "none"] = "sparse" if thoughts == "keep" else "none"
        briefing = Briefing(env, row["task"], row["type"], row["goal"], ())
        self._transcript = new_transcript(briefing, (), wording, placed, self._notation, self._memory, "task")
        self._transcript.heard(first_observation(row["observation"], row["goal"], wording))
        self.opening = self._transcript.as_text(self._wanted)
        steps = {step.turn: step for step in store.steps(row["id"])}
        self.segments = self._told(_replies(turns, steps, self._notation.joint, thoughts))

    def reflection(self, ending: str, said: str) -> tuple[str, list[Segment]]:
        """As :class:`trialogue.agents.reflexion.ReflexionAgent` is asked what it learnt, and what was ``said``."""
        told = told_before_reflection(self._transcript.attempt(), self._memory, self._wording, "task")
        prompt = plain_prompt(told, asked_to_reflect(ending, self._wording), self._wording.reflection)
        return prompt, [Segment(f" {one_line(said)}\n\n", True)]

    def _told(self, replies: Iterable[Reply]) -> list[Segment]:
        segments: list[Segment] = []
        transcript, before = self._transcript, self.opening
        for reply in replies:
            answer = self._wording.thought_answer
            written = _written(self._notation, reply, self._wanted, transcript.number, answer)
            transcript.said(reply.thoughts, reply.action)
            if reply.observation is not None:
                transcript.heard(reply.observation)
            after = transcript.as_text(self._wanted)
            segments += [Segment(written, reply.loss), Segment(after[len(before) + len(written) :], False)]
            before = after
        return segments[:-1]


def _memory(store: Store, episode: int, turns: Iterable[Any], wording: Wording) -> str:
    """The memory that stood in the prompts of an episode; the digest in its turns tells whether it is the one."""
    digests = {turn["memory"] for turn in turns}
    if digests <= {""}:
        return ""
    memory = render_memory(store.lessons(episode), wording)
    if digests != {digest(memory)}:
        raise DataError(f"episode {episode}: its memory held more or less than the reflections; set --prompt sent")
    return memory


def _replies(turns: Iterable[Any], steps: Mapping[int, StepRecord], joint: bool, thoughts: Thoughts) -> Iterator[Reply]:
    for turn in turns:
        step = steps.get(turn["turn"])
        kept = tuple(map(one_line, json.loads(turn["thoughts"]))) if thoughts == "keep" else ()
        if turn["action"] is None or step is None:
            if turn["kind"] == "thought":
                yield from (Reply((thought,), None, True, None) for thought in kept)
            continue
        slipped = any(note.startswith(SLIP) for note in json.loads(turn["notes"]))
        if not joint:
            yield from (Reply((thought,), None, True, None) for thought in kept)
            kept = ()
        yield Reply(kept, one_line(turn["action"]), step.valid and not slipped, step.observation)


def _written(notation: Notation, reply: Reply, wanted: Wanted, number: int, answer: str) -> str:
    """What the model writes of a reply, after the words that its prompt ends in."""
    lines = [line for line in notation.said(reply.thoughts, reply.action, number, answer) if line.said]
    text = "\n".join(f"{line.mark}{line.text}" for line in lines)
    return text.removeprefix(notation.due(wanted, number)) + "\n"
