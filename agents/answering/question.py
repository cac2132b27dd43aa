"""The prompt of an agent that answers without commands: task, solved questions, question.

As in ReAct (Yao et al. 2023, section 3.2) these are its prompts without actions and observations; the chain of
thought keeps its reasoning (Wei et al. 2022, section 2), the standard prompt is question and answer alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialogue.agents.answering.asking import Prompt
from trialogue.agents.models.contract import Message
from trialogue.agents.reading import Template
from trialogue.agents.wording import Wording
from trialogue.exemplars.contract import Exemplar

THOUGHT, ANSWER = "Thought:", "Answer:"
_FINISH = Template("finish[{answer}]")


@dataclass(frozen=True)
class Solved:
    """An exemplar as question, reasoning ("" where none is shown) and answer."""

    question: str
    reasoning: str
    answer: str

    @property
    def reply(self) -> str:
        return "\n".join([*([f"{THOUGHT} {self.reasoning}"] if self.reasoning else []), f"{ANSWER} {self.answer}"])


def question_prompt(question: str, exemplars: Sequence[Solved], wording: Wording, *, reasons: bool) -> Prompt:
    """``question`` after ``exemplars``: as text, or as a chat whose user asks and whose assistant answers.

    With ``reasons`` the reasoning is asked for too.
    """
    cue = THOUGHT if reasons else ANSWER
    shown = [f"{solved.question}\n{solved.reply}" for solved in exemplars]
    how = wording.answer_reasoned if reasons else wording.answer_plain
    messages = [Message("system", f"{wording.answer_task}\n{how}")]
    for solved in exemplars:
        messages += [Message("user", solved.question), Message("assistant", solved.reply)]
    further = (f"\n{question_label(wording)}",)
    return Prompt(
        text="\n\n".join([wording.answer_task, *shown, f"{question}\n{cue}"]),
        messages=(*messages, Message("user", question)),
        cue=cue,
        stop=further if reasons else ("\n",),
        chat_stop=further,
    )


def question_label(wording: Wording) -> str:
    """What every question begins with: where a reply comes to it, the model invents a further one."""
    return wording.question.partition("{")[0].strip()


def ask(goal: str, wording: Wording) -> str:
    """``goal`` as a question: without the words that only say what is to be done with it."""
    return wording.question.format(question=goal.removeprefix(wording.goal_opening))


def solved(exemplar: Exemplar, wording: Wording, *, reasons: bool) -> Solved | None:
    """``exemplar`` without its commands; None where it ends in no answer, or has no reasoning to show."""
    answer = answer_of(exemplar)
    if answer is None or (reasons and not exemplar.reasoning):
        return None
    reasoning = " ".join(exemplar.reasoning.split()) if reasons else ""
    return Solved(ask(exemplar.goal, wording), reasoning, answer)


def answer_of(exemplar: Exemplar) -> str | None:
    """What the episode was finished with; None where it was not finished by an answer."""
    arguments = _FINISH.match(exemplar.steps[-1].action)
    return arguments[0] if arguments else None
