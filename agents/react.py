"""Act and ReAct (Yao et al. 2023) in one agent, whose placement of thoughts is a setting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trialogue.agents.contract import Briefing, Liberty, Turn, View
from trialogue.agents.decision_points import DecisionPoints
from trialogue.agents.models.contract import Constraint, Message, Model, Request
from trialogue.agents.prompt import THINK, Thoughts, Transcript, first_observation, new_transcript
from trialogue.agents.reading import Language, Reading, read_reply
from trialogue.agents.wording import Wording, wording_digest, wording_for
from trialogue.errors import UsageError
from trialogue.exemplars.contract import Exemplar

ExemplarsFor = Callable[[str, str, str], Sequence[Exemplar]]
"""The exemplars for an environment, a task type and a dialect, best first."""


class ReactSettings(BaseModel):
    """What decides how the agent acts.

    * ``thoughts``: "none" (Act), "sparse" (the model decides, at most ``max_thoughts_in_a_row`` turns running), "dense"
      (one before every action), "decision_points" (one when something happens, or nothing new for ``patience`` turns)
    * ``constrained``: decode admissible commands only and, where the model may choose to think, thoughts
    * ``repairs``: mend commands in reading
    * ``exemplars``: how many are shown
    * ``show_admissible``: list the admissible commands after each observation
    * ``show_reasons``: say why a command was not accepted, after the environment's own words
    * ``action_tokens``, ``thought_tokens``: bounds of one call, added up where a reply may hold both
    * ``format``: of the prompt; "auto" is as the model's style
    * ``reask``: how often an unreadable reply is asked for again within a turn
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    thoughts: Thoughts = "sparse"
    constrained: bool = False
    repairs: bool = True
    exemplars: int = Field(default=2, ge=0)
    show_admissible: bool = False
    show_reasons: bool = False
    temperature: float = Field(default=0.0, ge=0.0)
    action_tokens: int = Field(default=60, ge=1)
    thought_tokens: int = Field(default=120, ge=1)
    max_thoughts_in_a_row: int = Field(default=3, ge=1)
    patience: int = Field(default=5, ge=1)
    format: Literal["auto", "completion", "chat"] = "auto"
    reask: int = Field(default=0, ge=0, le=10)


@dataclass
class _Draft:
    """A turn in the making."""

    event: str = ""
    raw: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    liberties: list[Liberty] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        self.thoughts += reading.thoughts
        self.liberties += reading.liberties

    def turn(self, reading: Reading) -> Turn:
        return Turn(
            kind=reading.kind,
            thoughts=tuple(self.thoughts),
            action=reading.action,
            raw=tuple(self.raw),
            liberties=tuple(self.liberties),
            problem=reading.problem,
            event=self.event,
        )


class ReactAgent:
    """Prompts ``model`` with exemplars and the episode so far, and reads its replies.

    Raises UsageError for settings that the model cannot meet. ``exemplar_ids`` names, after ``begin``, the exemplars
    that the episode is really played with.
    """

    def __init__(self, model: Model, settings: ReactSettings, exemplars_for: ExemplarsFor | None = None) -> None:
        if settings.constrained and not model.can_constrain:
            raise UsageError(
                f"constrained decoding was asked for, and {model.name} cannot do it; set constrained: false"
            )
        if settings.format == "chat" and model.style == "completion":
            raise UsageError(f"{model.name} completes text; format: chat needs a chat model. Set format: auto")
        self._model = model
        self._settings = settings
        self._exemplars_for = exemplars_for
        self._as_chat = settings.format == "chat" or (settings.format == "auto" and model.style == "chat")
        self.exemplar_ids: tuple[str, ...] = ()

    def begin(self, briefing: Briefing) -> None:
        settings = self._settings
        exemplars = self._exemplars(briefing)
        self.exemplar_ids = tuple(exemplar.id for exemplar in exemplars)
        self._briefing = briefing
        self._wording: Wording = wording_for(briefing.env)
        self._transcript: Transcript = new_transcript(briefing, exemplars, self._wording, settings.thoughts)
        self._points = DecisionPoints(briefing.goal, settings.patience)
        self._heard_anything = False
        self._calls = 0
        self._thoughts_in_a_row = 0

    async def turn(self, view: View) -> Turn:
        self._hear(view)
        draft = _Draft(event=self._event(view))
        if self._settings.thoughts == "dense" or draft.event:
            reading = await self._think(view, draft)
            if reading.action is not None:
                return draft.turn(reading)
        reading = await self._act(view, draft)
        self._thoughts_in_a_row = self._thoughts_in_a_row + 1 if reading.kind == "thought" else 0
        return draft.turn(reading)

    def conditions(self) -> Mapping[str, object]:
        rendered = "chat" if self._as_chat else "completion"
        return {**self._settings.model_dump(mode="json"), "format": rendered, "wording": wording_digest()}

    def _exemplars(self, briefing: Briefing) -> Sequence[Exemplar]:
        if self._exemplars_for is None or not self._settings.exemplars:
            return ()
        return self._exemplars_for(briefing.env, briefing.type, briefing.dialect)[: self._settings.exemplars]

    def _hear(self, view: View) -> None:
        """Puts what is new into the transcript. After a thought nothing is: its answer stands there already."""
        if view.observation is None:
            if view.problem:
                self._transcript.heard(view.problem)
            return
        lines = [view.observation]
        if not self._heard_anything:
            lines = [first_observation(view.observation, self._briefing.goal, self._wording)]
        if view.problem and self._settings.show_reasons:
            lines.append(view.problem)
        if view.admissible is not None and self._settings.show_admissible:
            lines.append(self._wording.admissible.format(commands=" | ".join(view.admissible)))
        self._heard_anything = True
        self._transcript.heard("\n".join(lines))

    def _event(self, view: View) -> str:
        if self._settings.thoughts != "decision_points":
            return ""
        return self._points.event(view.observation, view.problem)

    async def _think(self, view: View, draft: _Draft) -> Reading:
        """Asks for a thought. An action that comes with it is taken, where actions are not constrained."""
        self._transcript.ask_for_thought(self._wording.thought_due)
        reading = await self._ask(view, draft, thought_due=True)
        if reading.action is not None and self._settings.constrained:
            dropped = Liberty("unconstrained_action", reading.action, "")
            reading = replace(reading, kind="thought", action=None, liberties=(*reading.liberties, dropped))
        if not reading.thoughts:
            missing = Liberty("thought_missing", reading.echo, "")
            reading = replace(reading, liberties=(*reading.liberties, missing))
        draft.add(reading)
        self._say(reading.thoughts or ("",), reading.action)
        return reading

    async def _act(self, view: View, draft: _Draft) -> Reading:
        """Asks for an action (or, where the model may choose, a thought); asks again as often as is allowed."""
        reading = await self._try(view, draft)
        for _ in range(self._settings.reask):
            if reading.kind in ("action", "thought"):
                break
            self._transcript.heard(reading.problem)
            reading = await self._try(view, draft)
        return reading

    async def _try(self, view: View, draft: _Draft) -> Reading:
        reading = self._judged(await self._ask(view, draft))
        draft.add(reading)
        if reading.kind in ("action", "thought"):
            self._say(reading.thoughts if self._settings.thoughts == "sparse" else (), reading.action)
        else:
            self._transcript.said(reading.echo)
        return reading

    def _judged(self, reading: Reading) -> Reading:
        """``reading``, with thoughts that nobody asked for noted, and refused if they are all there is."""
        if not reading.thoughts or (self._thought_allowed and reading.kind == "thought"):
            return reading
        if self._settings.thoughts == "sparse" and reading.action is not None:
            return reading
        unasked = tuple(Liberty("thought_unasked", thought, "") for thought in reading.thoughts)
        reading = replace(reading, liberties=(*reading.liberties, *unasked))
        if reading.kind != "thought":
            return reading
        example = self._language(None).example()
        return replace(reading, kind="unreadable", problem=self._wording.thought_refused.format(example=example))

    @property
    def _thought_allowed(self) -> bool:
        """Whether a reply may be a thought and nothing else."""
        return self._settings.thoughts == "sparse" and self._thoughts_in_a_row < self._settings.max_thoughts_in_a_row

    def _say(self, thoughts: Sequence[str], action: str | None) -> None:
        for thought in thoughts:
            self._transcript.said(f"{THINK} {thought}")
            self._transcript.heard(self._wording.thought_answer)
        if action is not None:
            self._transcript.said(action)

    async def _ask(self, view: View, draft: _Draft, thought_due: bool = False) -> Reading:
        reply = await self._model.generate(self._request(view, thought_due))
        self._calls += 1
        draft.raw.append(reply.text)
        return read_reply(
            reply.text,
            finish_reason=reply.finish_reason,
            language=self._language(view.admissible),
            repairs=self._settings.repairs,
            thought_due=thought_due,
        )

    def _request(self, view: View, thought_due: bool) -> Request:
        settings = self._settings
        tokens = settings.thought_tokens if thought_due else settings.action_tokens
        if self._thought_allowed and not thought_due:
            tokens += settings.thought_tokens
        return Request(
            prompt=self._prompt(),
            stop=() if self._as_chat else ("\n",),
            max_tokens=tokens,
            temperature=settings.temperature,
            seed=call_seed(self._briefing.seed, self._calls),
            constraint=self._constraint(view) if settings.constrained and not thought_due else None,
        )

    def _prompt(self) -> str | tuple[Message, ...]:
        if self._as_chat:
            return self._transcript.as_messages()
        text = self._transcript.as_text()
        return text if self._model.style == "completion" else (Message("user", text),)

    def _constraint(self, view: View) -> Constraint:
        if not view.admissible:
            raise UsageError(
                f"constrained decoding needs admissible commands, and {self._briefing.env!r} does not list any; "
                "set constrained: false"
            )
        return Constraint(view.admissible, f"{THINK} " if self._thought_allowed else None)

    def _language(self, admissible: tuple[str, ...] | None) -> Language:
        return Language(self._briefing.templates, admissible, self._briefing.dialect)


def call_seed(seed: int, call: int) -> int:
    """The seed of the ``call``-th model call (from 0) of an episode, in [0, 2**31)."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{call}".encode()).digest()[:4]) >> 1
