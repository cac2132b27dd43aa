"""The contract of an exemplar: one few-shot episode, the same for every agent.

An agent that does not think is shown the same episode without its thoughts (ReAct, Yao et al. 2023, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ExemplarStep:
    """``thoughts`` come before ``action``; ``event`` names the decision point that called for them."""

    thoughts: tuple[str, ...]
    action: str
    observation: str
    event: str = ""


@dataclass(frozen=True)
class PlannedStep:
    """A command written down before anything is known: what it is for, and ``#E1`` where evidence is to be put in."""

    thought: str
    action: str


@dataclass(frozen=True)
class Exemplar:
    """A successful episode in one dialect of its environment.

    ``task`` rebuilds the game it was recorded from; "" where that is not known. For agents that go another way to the
    same end: ``reasoning`` leads from knowledge to the answer without commands (chain of thought, Wei et al. 2022), ""
    where none was written; ``plan`` is made before the first command (ReWOO, Xu et al. 2023), () where none was.
    """

    id: str
    env: str
    type: str
    task: str
    goal: str
    dialect: str
    observation: str
    steps: tuple[ExemplarStep, ...]
    reasoning: str = ""
    plan: tuple[PlannedStep, ...] = ()

    def without_thoughts(self) -> Exemplar:
        return replace(self, steps=tuple(replace(step, thoughts=(), event="") for step in self.steps))
