"""ReWOO: plan every command at once, carry the plan out, then answer (Xu et al. 2023, section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from trialogue.agents.answering.asking import Asker, AskSettings
from trialogue.agents.answering.question import question_label
from trialogue.agents.answering.reading import read_answer
from trialogue.agents.answering.single import answer_turn
from trialogue.agents.contract import Briefing, Liberty, Turn, TurnKind, View
from trialogue.agents.models.contract import Model
from trialogue.agents.react import ExemplarsFor
from trialogue.agents.reading import Language, Template
from trialogue.agents.reading.calls import clip
from trialogue.agents.reading.repairs import repair
from trialogue.agents.rewoo.plan import Step, read_plan, with_evidence
from trialogue.agents.rewoo.prompts import planner_prompt, solver_prompt
from trialogue.agents.wording import wording_for
from trialogue.exemplars.contract import Exemplar


class RewooSettings(AskSettings):
    """What decides how the agent plans and answers: how it asks, and

    * ``repairs``: mend commands in reading, and again once evidence is put in
    * ``plan_tokens``, ``answer_tokens``: bounds of the planner's and of the solver's reply
    * ``evidence_chars``: what a command brought is cut at this many characters, in later commands and for the solver
    """

    repairs: bool = True
    plan_tokens: int = Field(default=400, ge=1)
    answer_tokens: int = Field(default=60, ge=1)
    evidence_chars: int = Field(default=300, ge=1)


class RewooAgent:
    """Planner, worker, solver (section 2.1), at two calls of the model an episode.

    The planner writes all commands before anything is known. They are executed one a turn without asking the model;
    ``#E1`` in a later one stands for what the first brought, on one line. Then the solver reads plan and evidence and
    gives the answer. Where the command language has none to give (no ``finish[answer]``), the plan is the whole
    episode: when it is used up the agent gives up.

    An unreadable plan, or answer, is an "unreadable" turn; the next asks again with the next seed. A command that was
    not accepted brings the environment's words as evidence. Raises UsageError for settings that the model cannot meet.
    """

    def __init__(self, model: Model, settings: RewooSettings, exemplars_for: ExemplarsFor | None = None) -> None:
        self._asker = Asker(model, settings)
        self._model = model
        self._settings = settings
        self._exemplars_for = exemplars_for
        self.exemplar_ids: tuple[str, ...] = ()

    def begin(self, briefing: Briefing) -> None:
        self._briefing = briefing
        self._wording = wording_for(briefing.env)
        self._language = Language(briefing.templates, None, briefing.dialect)
        self._examples = self._exemplars(briefing)
        self.exemplar_ids = tuple(exemplar.id for exemplar in self._examples)
        self._asker.begin(briefing)
        self._seen = ""
        self._planned: tuple[Step, ...] = ()
        self._pending: Step | None = None
        self._done: list[tuple[Step, str]] = []
        """The steps that were carried out, with their evidence."""

    async def turn(self, view: View) -> Turn:
        self._hear(view)
        if not self._planned:
            return await self._plan(view)
        if len(self._done) < len(self._planned):
            return self._work(view)
        finish = self._language.finish
        return self._give_up() if finish is None else await self._solve(finish)

    def conditions(self) -> Mapping[str, object]:
        return self._asker.conditions()

    def _exemplars(self, briefing: Briefing) -> Sequence[Exemplar]:
        if self._exemplars_for is None or not self._settings.exemplars:
            return ()
        return self._exemplars_for(briefing.env, briefing.type, briefing.dialect)[: self._settings.exemplars]

    async def _plan(self, view: View) -> Turn:
        """Asks for the plan and, once it can be read, begins with its first command."""
        settings, language = self._settings, self._language
        prompt = planner_prompt(self._seen, self._briefing.goal, self._examples, language, self._wording)
        reply = await self._model.generate(self._asker.request(prompt, settings.plan_tokens))
        text = f"{self._asker.cue(prompt)} {reply.text}"
        plan = read_plan(text, language, finish_reason=reply.finish_reason, repairs=settings.repairs)
        if not plan.steps:
            kind: TurnKind = "truncated" if reply.finish_reason == "length" else "unreadable"
            problem = self._wording.plan_missing.format(example=language.example())
            return Turn(kind, (), None, (reply.text,), plan.liberties, problem)
        self._planned = plan.steps
        return self._work(view, (reply.text,), plan.liberties, (f"planned {len(plan.steps)} commands",))

    def _hear(self, view: View) -> None:
        """Takes in what was seen first, or the evidence that the last command brought."""
        if view.observation is None:
            return
        if not self._planned:
            self._seen = view.observation
        elif self._pending is not None:
            self._done.append((self._pending, clip(view.observation, self._settings.evidence_chars)))
            self._pending = None

    def _work(
        self, view: View, raw: tuple[str, ...] = (), read: tuple[Liberty, ...] = (), notes: tuple[str, ...] = ()
    ) -> Turn:
        """The next command of the plan, with the evidence that it asks for; nothing is asked of the model."""
        step = self._pending = self._planned[len(self._done)]
        action, missing = with_evidence(step.action, {done.number: evidence for done, evidence in self._done})
        liberties: tuple[Liberty, ...] = ()
        if self._settings.repairs:
            action, liberties = repair(action, Language(self._briefing.templates, view.admissible))
        if missing:
            notes = (*notes, f"{step.name} asks for evidence that is not there: {', '.join(missing)}")
        return Turn("action", (step.thought,) if step.thought else (), action, raw, (*read, *liberties), notes=notes)

    async def _solve(self, finish: Template) -> Turn:
        prompt = solver_prompt(self._briefing.goal, self._done, self._wording)
        reply = await self._model.generate(self._asker.request(prompt, self._settings.answer_tokens))
        answered = read_answer(
            reply.text,
            language=self._language,
            finish_reason=reply.finish_reason,
            cue=self._asker.cue(prompt),
            question=question_label(self._wording),
            bare=True,
        )
        return answer_turn(answered, finish, self._wording.unanswered, (reply.text,), ("the solver is asked",))

    def _give_up(self) -> Turn:
        count = len(self._planned)
        return Turn("give_up", problem=f"the plan is used up: its {count} commands did not reach the goal")
