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
class Exemplar:
    """A successful episode in one dialect of its environment.

    ``task`` rebuilds the game it was recorded from; "" where that is not known.
    """

    id: str
    env: str
    type: str
    task: str
    goal: str
    dialect: str
    observation: str
    steps: tuple[ExemplarStep, ...]

    def without_thoughts(self) -> Exemplar:
        return replace(self, steps=tuple(replace(step, thoughts=(), event="") for step in self.steps))
