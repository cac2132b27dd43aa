"""What a whole run may cost: money, tokens, time, and errors."""

from __future__ import annotations

import time
from collections.abc import Callable

from trialogue.agents.models.contract import Reply
from trialogue.errors import BudgetSpent
from trialogue.experiments.config import Budget
from trialogue.experiments.endings import ERRORS
from trialogue.experiments.records import EndRecord


class Meter:
    """Adds up what this run spends, on top of what was spent before (``cost``, ``tokens``: of stored replies)."""

    def __init__(
        self, budget: Budget, *, cost: float = 0.0, tokens: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._budget = budget
        self._cost = cost
        self._tokens = tokens
        self._clock = clock
        self._started = clock()
        self._ended = self._errors = 0

    def replied(self, reply: Reply) -> None:
        self._cost += reply.cost or 0.0
        self._tokens += reply.usage.prompt + reply.usage.completion

    def ended(self, end: EndRecord) -> None:
        """Counts an episode of this run; what earlier runs finished says nothing about this one."""
        self._ended += 1
        self._errors += end.ending in ERRORS

    def check(self) -> None:
        """Raises BudgetSpent when a bound is reached."""
        if reached := self._reached():
            raise BudgetSpent(
                f"{reached}. What has finished is stored; raise the bound under `budget:` (or --set budget.…) and run "
                "the same command to go on."
            )

    def _reached(self) -> str:
        budget = self._budget
        if budget.cost is not None and self._cost >= budget.cost:
            return f"the budget of {budget.cost:g} is spent (so far {self._cost:.4f})"
        if budget.tokens is not None and self._tokens >= budget.tokens:
            return f"the budget of {budget.tokens} tokens is spent (so far {self._tokens})"
        if budget.seconds is not None and self._clock() - self._started >= budget.seconds:
            return f"the budget of {budget.seconds:g} seconds is spent"
        rate = self._errors / self._ended if self._ended else 0.0
        if budget.error_rate is not None and self._ended >= budget.errors_after and rate >= budget.error_rate:
            return f"{self._errors} of this run's {self._ended} episodes ended in an error"
        return ""
