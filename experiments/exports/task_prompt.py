"""Won episodes as a model that is prompted with the task alone would have played them.

Whoever played, with however many exemplars: the thoughts, the commands and what answered them are written as
:class:`trialogue.agents.react.ReactAgent` with ``prompt: task`` writes them, in the notation of its papers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from trialogue.agents.contract import Briefing
from trialogue.agents.expert_agent import SLIP
from trialogue.agents.notation import Notation, Wanted, notation_named
from trialogue.agents.prompt import first_observation, new_transcript
from trialogue.agents.transcript import one_line
from trialogue.agents.wording import wording_for
from trialogue.errors import DataError
from trialogue.experiments.store import Store


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


def task_prompt(store: Store, row: Any, env: str, thoughts: Literal["keep", "drop"]) -> tuple[str, list[Segment]]:
    """The prompt of an episode, and the segments that follow it.

    Commands that were not accepted, and slips of an expert, have no loss. Turns of which nothing could be read are left
    out. Raises DataError for an environment whose commands are native calls.
    """
    wording = wording_for(env)
    if wording.notation == "tools":
        raise DataError(f"episodes of {env} are native calls of functions, which no text can tell; set --prompt sent")
    notation = notation_named(wording.notation, ())
    wanted: Wanted = "either" if thoughts == "keep" else "action"
    placed: Literal["sparse", "none"] = "sparse" if thoughts == "keep" else "none"
    briefing = Briefing(env, row["task"], row["type"], row["goal"], ())
    transcript = new_transcript(briefing, (), wording, placed, notation, prompt="task")
    transcript.heard(first_observation(row["observation"], row["goal"], wording))
    opening = transcript.as_text(wanted)
    segments: list[Segment] = []
    before = opening
    for reply in _replies(store, row["id"], notation, thoughts):
        written = _written(notation, reply, wanted, transcript.number, wording.thought_answer)
        transcript.said(reply.thoughts, reply.action)
        if reply.observation is not None:
            transcript.heard(reply.observation)
        after = transcript.as_text(wanted)
        segments += [Segment(written, reply.loss), Segment(after[len(before) + len(written) :], False)]
        before = after
    return opening, segments[:-1]


def _replies(store: Store, episode: int, notation: Notation, thoughts: Literal["keep", "drop"]) -> Iterator[Reply]:
    steps = {step.turn: step for step in store.steps(episode)}
    for turn in store.turns(episode):
        step = steps.get(turn["turn"])
        kept = tuple(map(one_line, json.loads(turn["thoughts"]))) if thoughts == "keep" else ()
        if turn["action"] is None or step is None:
            if turn["kind"] == "thought":
                yield from (Reply((thought,), None, True, None) for thought in kept)
            continue
        slipped = any(note.startswith(SLIP) for note in json.loads(turn["notes"]))
        if not notation.joint:
            yield from (Reply((thought,), None, True, None) for thought in kept)
            kept = ()
        yield Reply(kept, one_line(turn["action"]), step.valid and not slipped, step.observation)


def _written(notation: Notation, reply: Reply, wanted: Wanted, number: int, answer: str) -> str:
    """What the model writes of a reply, after the words that its prompt ends in."""
    lines = [line for line in notation.said(reply.thoughts, reply.action, number, answer) if line.said]
    text = "\n".join(f"{line.mark}{line.text}" for line in lines)
    return text.removeprefix(notation.due(wanted, number)) + "\n"
