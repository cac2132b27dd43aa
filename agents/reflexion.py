"""Reflexion (Shinn et al. 2023), and its control: the same trials without memory."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trialogue.agents.contract import Briefing, Lesson
from trialogue.agents.models.contract import Model, Request
from trialogue.agents.prompt import Prompt, render_memory
from trialogue.agents.react import ExemplarsFor, ReactAgent, plain_request, plain_text
from trialogue.agents.react_settings import ReactSettings
from trialogue.agents.wording import Wording
from trialogue.errors import ContextOverflow

LATER = 0.7
"""The temperature of later trials, with and without memory: at 0 a trial without memory would only be played again."""


def told_before_reflection(attempt: str, memory: str, wording: Wording, prompt: Prompt) -> str:
    """What a model is shown before it is asked to reflect: its attempt, and what it remembered in it."""
    return "\n\n".join(filter(None, [wording.instruction if prompt == "full" else "", memory, attempt]))


def asked_to_reflect(ending: str, wording: Wording) -> str:
    return wording.reflect.format(ending=ending.replace("_", " "))


class RetrySettings(ReactSettings):
    """Those of ``react``; later trials are sampled."""

    later_temperature: float | None = Field(default=LATER, ge=0.0)


class ReflexionSettings(RetrySettings):
    """Those of ``retry``, and what is remembered.

    * ``strategy``: what the next trial sees: the "reflection", the "last_attempt" itself, or "both" (section 4.2)
    * ``window``: how many reflections, the latest ones (section 3: memory is bounded, usually by 1 to 3)
    * ``reflection_tokens``: bound of a reflection
    """

    strategy: Literal["reflection", "last_attempt", "both"] = "reflection"
    window: int = Field(default=3, ge=1)
    reflection_tokens: int = Field(default=200, ge=1)


class ReflexionAgent(ReactAgent):
    """ReAct that writes a reflection after each failed trial and reads it in the next (Shinn et al. 2023, section 3).

    It is told how the trial ended, never what would have been right.
    """

    def __init__(
        self,
        model: Model,
        settings: ReflexionSettings,
        exemplars_for: ExemplarsFor | None = None,
        person: Model | None = None,
    ) -> None:
        super().__init__(model, settings, exemplars_for, person)
        self._strategy = settings

    async def learn(self, ending: str) -> Lesson:
        attempt = self._transcript.attempt()
        strategy = self._strategy.strategy
        reflection = "" if strategy == "last_attempt" else await self._reflection(ending, attempt)
        return Lesson(self._briefing.trial, reflection, "" if strategy == "reflection" else attempt)

    def _remembered(self, briefing: Briefing) -> str:
        strategy = self._strategy.strategy
        lessons = () if strategy == "last_attempt" else briefing.memory[-self._strategy.window :]
        attempt = briefing.memory[-1].attempt if briefing.memory and strategy != "reflection" else ""
        return render_memory(lessons, self._wording, attempt)

    async def _reflection(self, ending: str, attempt: str) -> str:
        """What the model says about the attempt, on one line; "" when it twice said nothing."""
        asked = asked_to_reflect(ending, self._wording)
        temperature = self._strategy.temperature_of("thought", self._briefing.trial)
        # Asked the same way at temperature 0 it would say the same again.
        return await self._said_of(attempt, asked, temperature) or await self._said_of(
            attempt, asked, max(temperature, LATER)
        )

    async def _said_of(self, attempt: str, asked: str, temperature: float) -> str:
        lines = attempt.splitlines()
        while True:
            told = told_before_reflection("\n".join(lines), self._memory, self._wording, self._settings.prompt)
            try:
                reply = await self._model.generate(self._reflecting(told, asked, temperature))
            except ContextOverflow:
                if len(lines) < 2:
                    raise
                lines = lines[len(lines) // 2 :]  # what came last says most about why it failed
            else:
                return plain_text(self._model, reply)

    def _reflecting(self, told: str, asked: str, temperature: float) -> Request:
        settings = self._strategy
        return plain_request(
            self._model,
            told,
            asked,
            settings.reflection_tokens,
            seed=self._next_seed(),
            temperature=temperature,
            cue=self._wording.reflection,
        )
