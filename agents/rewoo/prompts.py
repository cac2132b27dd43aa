"""What the planner and the solver are told (ReWOO, Xu et al. 2023, section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trialogue.agents.answering.asking import Prompt
from trialogue.agents.answering.question import ANSWER, ask, question_label
from trialogue.agents.models.contract import Message
from trialogue.agents.prompt import first_observation
from trialogue.agents.reading import Language
from trialogue.agents.rewoo.plan import Step, write_plan
from trialogue.agents.transcript import one_line
from trialogue.agents.wording import Wording
from trialogue.exemplars.contract import Exemplar

PLAN = "Plan:"


def planner_prompt(
    observation: str, goal: str, exemplars: Sequence[Exemplar], language: Language, wording: Wording
) -> Prompt:
    """The command language (without the command that answers), how to plan, tasks with their plans, and the task."""
    commands = ", ".join(form.text for form in language.forms if form != language.finish)
    shown = [f"{_task(e.observation, e.goal, wording)}\n{write_plan(plan_of(e, language))}" for e in exemplars]
    told = f"{wording.commands.format(commands=commands)}\n{wording.plan_ahead}"
    opening = "\n\n".join([told, *([wording.plan_examples, *shown] if shown else [])])
    task = _task(observation, goal, wording)
    return Prompt(
        text=f"{opening}\n\n{wording.task}\n{task}\n{PLAN}",
        messages=(Message("system", opening), Message("user", task)),
        cue=PLAN,
        stop=("\n\n",),
    )


def solver_prompt(goal: str, done: Iterable[tuple[Step, str]], wording: Wording) -> Prompt:
    """The question, and each step that was carried out with its evidence."""
    lines = [
        f"{write_plan([step])}\n{wording.evidence.format(name=step.name, text=evidence)}" for step, evidence in done
    ]
    opening, told = f"{wording.answer_task} {wording.solve}", "\n".join([ask(goal, wording), *lines])
    return Prompt(
        text=f"{opening}\n\n{told}\n{ANSWER}",
        messages=(Message("system", f"{opening}\n{wording.answer_plain}"), Message("user", told)),
        cue=ANSWER,
        stop=("\n",),
        chat_stop=(f"\n{question_label(wording)}",),
    )


def plan_of(exemplar: Exemplar, language: Language) -> list[Step]:
    """The plan of an exemplar: its own or, where none was written, what was done in it up to the answer."""
    told = [(step.thought, step.action) for step in exemplar.plan]
    told = told or [(" ".join(step.thoughts), step.action) for step in exemplar.steps]
    finish = language.finish
    kept = [(thought, action) for thought, action in told if finish is None or finish.match(action) is None]
    return [Step(number, one_line(thought), action) for number, (thought, action) in enumerate(kept, start=1)]


def _task(observation: str, goal: str, wording: Wording) -> str:
    return first_observation(observation, goal, wording).strip()
