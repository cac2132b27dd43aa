"""Standard prompting and chain of thought (Wei et al. 2022): one question, one answer, no look at the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from trialogue.agents.answering.asking import Asker, AskSettings
from trialogue.agents.answering.question import Solved, ask, question_label, question_prompt, solved
from trialogue.agents.answering.reading import Answered, read_answer
from trialogue.agents.contract import Briefing, Turn, View
from trialogue.agents.models.contract import Model, Reply, Request
from trialogue.agents.react import ExemplarsFor
from trialogue.agents.reading import Language, Template
from trialogue.agents.wording import wording_for
from trialogue.errors import UsageError


class StandardSettings(AskSettings):
    """What decides how the agent answers: how it asks, and ``answer_tokens``, bound of an answer."""

    answer_tokens: int = Field(default=40, ge=1)

    @property
    def tokens(self) -> int:
        """Bound of a reply."""
        return self.answer_tokens


class CotSettings(StandardSettings):
    """Those of ``standard``, and ``reasoning_tokens``: bound of the reasoning before the answer."""

    reasoning_tokens: int = Field(default=200, ge=1)

    @property
    def tokens(self) -> int:
        return self.reasoning_tokens + self.answer_tokens


class AnsweringAgent:
    """Base of the agents whose one turn is ``finish[answer]``: the answer to the goal, taken as a question.

    Raises UsageError for settings that the model cannot meet. ``begin`` raises it where the command language cannot end
    an episode with an answer. A turn whose reply names no answer is "unreadable"; every further turn asks again with
    the next seed, as often as the episode lets it.
    """

    reasons: ClassVar[bool]

    def __init__(self, model: Model, settings: StandardSettings, exemplars_for: ExemplarsFor | None = None) -> None:
        self._asker = Asker(model, settings)
        self._model = model
        self._settings = settings
        self._exemplars_for = exemplars_for
        self.exemplar_ids: tuple[str, ...] = ()

    def begin(self, briefing: Briefing) -> None:
        self._language = Language(briefing.templates, None, briefing.dialect)
        self._finish = require_finish(self._language, briefing.env)
        self._wording = wording_for(briefing.env)
        shown = self._exemplars(briefing)
        self.exemplar_ids = tuple(shown)
        question = ask(briefing.goal, self._wording)
        self._prompt = question_prompt(question, tuple(shown.values()), self._wording, reasons=self.reasons)
        self._asker.begin(briefing)

    async def turn(self, view: View) -> Turn:
        reply = await self._model.generate(self._request())
        return self._turn(self._read(reply), (reply.text,))

    def is_answer(self, command: str | None) -> bool:
        """Whether ``command`` ends the episode with an answer."""
        return command is not None and self._finish.match(command) is not None

    def conditions(self) -> Mapping[str, object]:
        return self._asker.conditions()

    def _exemplars(self, briefing: Briefing) -> dict[str, Solved]:
        """Those that can be shown, by their ids, at most as many as the settings say."""
        if self._exemplars_for is None or not self._settings.exemplars:
            return {}
        found = self._exemplars_for(briefing.env, briefing.type, briefing.dialect)
        told = {exemplar.id: solved(exemplar, self._wording, reasons=self.reasons) for exemplar in found}
        shown = {id: exemplar for id, exemplar in told.items() if exemplar is not None}
        return dict(list(shown.items())[: self._settings.exemplars])

    def _request(self) -> Request:
        """The question, with the next seed."""
        return self._asker.request(self._prompt, self._settings.tokens)

    def _read(self, reply: Reply) -> Answered:
        return read_answer(
            reply.text,
            language=self._language,
            finish_reason=reply.finish_reason,
            cue=self._asker.cue(self._prompt),
            question=question_label(self._wording),
            bare=not self.reasons,
        )

    def _turn(self, answered: Answered, raw: tuple[str, ...], notes: tuple[str, ...] = ()) -> Turn:
        return answer_turn(answered, self._finish, self._wording.unanswered, raw, notes)


class StandardAgent(AnsweringAgent):
    """Question and answer, nothing else (ReAct, Yao et al. 2023, section 3.2: Standard)."""

    reasons = False


class CotAgent(AnsweringAgent):
    """Reasons step by step, then answers (Wei et al. 2022, section 2; as in Yao et al. 2023, section 3.2: CoT).

    An exemplar without reasoning of its own is not shown.
    """

    reasons = True

    def __init__(self, model: Model, settings: CotSettings, exemplars_for: ExemplarsFor | None = None) -> None:
        super().__init__(model, settings, exemplars_for)


def answer_turn(
    answered: Answered, finish: Template, problem: str, raw: tuple[str, ...], notes: tuple[str, ...] = ()
) -> Turn:
    """The turn that ends the episode with what was ``answered``, or tells the ``problem`` that nothing was."""
    thoughts = (answered.reasoning,) if answered.reasoning else ()
    if answered.answer is None:
        return Turn(answered.kind, thoughts, None, raw, answered.liberties, problem, notes=notes)
    return Turn("action", thoughts, finish.fill(answered.answer), raw, answered.liberties, notes=notes)


def require_finish(language: Language, env: str) -> Template:
    """The form that ends an episode with an answer. Raises UsageError where ``language`` has none."""
    if language.finish is None:
        raise UsageError(
            f"this agent answers a question, and {env!r} has no command such as finish[answer]; its commands are: "
            f"{', '.join(language.templates)}. Use an agent that acts, such as react"
        )
    return language.finish
