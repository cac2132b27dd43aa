"""From ReAct to CoT-SC and back: internal and external knowledge (Yao et al. 2023, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from trialogue.agents.answering.self_consistency import CotScAgent, CotScSettings, Survey
from trialogue.agents.contract import Briefing, Turn, View
from trialogue.agents.models.contract import Model
from trialogue.agents.react import ExemplarsFor, ReactAgent
from trialogue.agents.react_settings import ReactSettings
from trialogue.agents.review import When

REACT_STEPS = {"hotpotqa": 7, "fever": 5}
"""After how many steps the paper gives ReAct up, where more no longer helped; elsewhere as in HotpotQA."""


class BackOffSettings(BaseModel):
    """The settings of the two agents that it is made of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    react: ReactSettings = ReactSettings()
    cot_sc: CotScSettings = CotScSettings()

    @property
    def review(self) -> When:
        """Whether a person reviews what the agent does: only ReAct's turns can be."""
        return self.react.review


class ReactFirstSettings(BackOffSettings):
    """``react_steps``: how many commands and unreadable turns ReAct has (None: 5 in FEVER, else 7).

    The episode must be allowed at least one step more, or CoT-SC never answers.
    """

    react_steps: int | None = Field(default=None, ge=1)


class BackOffAgent:
    """Base: a ReAct agent and a CoT-SC agent, told the same."""

    def __init__(
        self,
        model: Model,
        settings: BackOffSettings,
        exemplars_for: ExemplarsFor | None = None,
        person: Model | None = None,
    ) -> None:
        self._settings = settings
        self._react = ReactAgent(model, settings.react, exemplars_for, person)
        self._cot_sc = CotScAgent(model, settings.cot_sc, exemplars_for)

    def begin(self, briefing: Briefing) -> None:
        """Raises UsageError where the command language cannot end an episode with an answer."""
        self._cot_sc.begin(briefing)
        self._react.begin(briefing)

    @property
    def exemplar_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self._react.exemplar_ids, *self._cot_sc.exemplar_ids]))

    def conditions(self) -> Mapping[str, object]:
        parts = {"react": self._react.conditions(), "cot_sc": self._cot_sc.conditions()}
        return {**self._settings.model_dump(mode="json"), **parts}


class ReactThenCotSc(BackOffAgent):
    """ReAct; where it gives no answer within its steps, CoT-SC (section 3.2, A: ReAct -> CoT-SC).

    Turns that hold only thoughts are no steps; unreadable ones are.
    """

    def __init__(
        self,
        model: Model,
        settings: ReactFirstSettings,
        exemplars_for: ExemplarsFor | None = None,
        person: Model | None = None,
    ) -> None:
        super().__init__(model, settings, exemplars_for, person)
        self._limit = settings.react_steps

    def begin(self, briefing: Briefing) -> None:
        super().begin(briefing)
        self._most = self._limit or REACT_STEPS.get(briefing.env, REACT_STEPS["hotpotqa"])
        self._steps = 0

    async def turn(self, view: View) -> Turn:
        if self._steps >= self._most:
            turn = await self._cot_sc.turn(view)
            return replace(turn, notes=(f"cot_sc answers: react gave no answer in {self._most} steps", *turn.notes))
        turn = await self._react.turn(view)
        self._steps += turn.kind != "thought"
        if not self._cot_sc.is_answer(turn.action):
            return turn
        return replace(turn, notes=(*turn.notes, f"react answers, in step {self._steps} of {self._most}"))


class CotScThenReact(BackOffAgent):
    """CoT-SC; where less than half of its samples agree, ReAct (section 3.2, B: CoT-SC -> ReAct).

    Samples that abstain are samples too. ReAct begins in the same turn, with what was seen first.
    """

    def begin(self, briefing: Briefing) -> None:
        super().begin(briefing)
        self._acts = False
        self._seen: View | None = None

    async def turn(self, view: View) -> Turn:
        if self._acts:
            return self._told(await self._react.turn(view))
        self._seen = self._seen or view
        survey = await self._cot_sc.survey()
        poll = survey.poll
        if 2 * poll.most >= poll.samples:
            turn = self._cot_sc.turn_of(survey)
            return replace(turn, notes=(f"cot_sc answers: {poll.most} of {poll.samples} samples agree", *turn.notes))
        self._acts = True
        return self._after(survey, self._told(await self._react.turn(self._seen)))

    def _told(self, turn: Turn) -> Turn:
        if not self._cot_sc.is_answer(turn.action):
            return turn
        return replace(turn, notes=(*turn.notes, "react answers"))

    def _after(self, survey: Survey, turn: Turn) -> Turn:
        poll = survey.poll
        why = f"react acts: {poll.most} of {poll.samples} samples agree, less than half"
        return replace(
            turn,
            raw=(*survey.raw, *turn.raw),
            liberties=(*survey.liberties, *turn.liberties),
            notes=(why, str(poll), *turn.notes),
        )
