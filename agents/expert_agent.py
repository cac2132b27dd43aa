"""The expert agent: plays the environment's own expert, as a ceiling, to record exemplars and to make training data."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trialogue.agents.contract import Briefing, Correctable, Lesson, Policy, Reflective, Thinker, Turn, View
from trialogue.agents.prompt import render_memory
from trialogue.agents.react import digest
from trialogue.agents.wording import wording_for
from trialogue.errors import UsageError

SLIP = "a slip, in place of: "
"""What the note of a slip begins with; the command that it replaced follows."""


class ExpertSettings(BaseModel):
    """How the expert plays.

    * ``thoughts``: "none", "sparse" (where something is decided), "dense" (before every command)
    * ``slips``: the share of commands in whose place another admissible one is played, drawn by seed, task and trial.
      Whoever learns from such episodes also sees how one gets back on the way (Ross et al. 2011, DAgger, for the
      reason; noise in a demonstrator as in Laskey et al. 2017, DART)
    * ``reflections``: keep what a lost trial showed, and begin the next with it
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    thoughts: Literal["none", "sparse", "dense"] = "none"
    slips: float = Field(default=0.0, ge=0.0, lt=1.0)
    reflections: bool = False


class ExpertAgent:
    """Plays ``Briefing.expert``, which reads only what a player reads. Asks no model."""

    exemplar_ids: tuple[str, ...] = ()

    def __init__(self, settings: ExpertSettings | None = None) -> None:
        self._settings = settings or ExpertSettings()

    def begin(self, briefing: Briefing) -> None:
        """Raises UsageError where the environment has no expert, or none that can do what the settings ask for."""
        expert = briefing.expert
        if expert is None:
            raise UsageError(f"the environment {briefing.env!r} has no expert; choose another agent")
        settings = self._settings
        if settings.thoughts != "none" and not isinstance(expert, Thinker):
            raise UsageError(f"the expert of {briefing.env!r} acts and does not think; set thoughts: none")
        if settings.slips and not isinstance(expert, Correctable):
            raise UsageError(f"the expert of {briefing.env!r} cannot go on after a slip; set slips: 0")
        if settings.reflections and not isinstance(expert, Reflective):
            raise UsageError(f"the expert of {briefing.env!r} does not reflect; set reflections: false")
        self._expert: Policy = expert
        self._trial = briefing.trial
        self._memory = ""
        if settings.reflections and isinstance(expert, Reflective):
            for lesson in briefing.memory:
                expert.recall(lesson.reflection)
            memory = render_memory(briefing.memory, wording_for(briefing.env))
            self._memory = digest(memory) if memory else ""
        self._random = random.Random(f"{briefing.seed} {briefing.trial} {briefing.task}")

    async def turn(self, view: View) -> Turn:
        """Raises UsageError where slips are to be drawn and the environment does not list its commands."""
        action = self._expert.act(view.observation or "", view.admissible)
        if self._settings.slips and self._random.random() < self._settings.slips:
            return self._slip(action, view)
        return Turn("action", thoughts=self._thoughts(), action=action, memory=self._memory)

    async def learn(self, ending: str) -> Lesson:
        """See :class:`trialogue.agents.contract.Learner`. Without ``reflections`` it learns nothing."""
        expert = self._expert
        if self._settings.reflections and isinstance(expert, Reflective):
            return Lesson(self._trial, expert.reflection())
        return Lesson(self._trial)

    def conditions(self) -> Mapping[str, object]:
        return self._settings.model_dump(mode="json")

    def _thoughts(self) -> tuple[str, ...]:
        if self._settings.thoughts == "none" or not isinstance(self._expert, Thinker):
            return ()
        thought = self._expert.thought(dense=self._settings.thoughts == "dense")
        return (thought,) if thought else ()

    def _slip(self, action: str, view: View) -> Turn:
        if not view.admissible:
            raise UsageError("slips are drawn from admissible commands, and none are listed; set slips: 0")
        slip = self._random.choice(sorted(view.admissible))
        if isinstance(self._expert, Correctable):
            self._expert.did(slip)
        return Turn("action", action=slip, notes=(SLIP + action,), memory=self._memory)
