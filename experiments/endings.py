"""How an episode can end. Every ending has a name."""

from __future__ import annotations

from enum import StrEnum

from trialogue.errors import ContextOverflow, ModelError


class Ending(StrEnum):
    """Every way in which an episode ends. ``SOLVED_EARLIER`` marks a trial that an earlier success made needless."""

    SOLVED = "solved"
    FAILED = "failed"
    STEP_LIMIT = "step_limit"
    STUCK = "stuck"
    NO_ACTION = "no_action"
    BUDGET = "budget"
    CONTEXT_OVERFLOW = "context_overflow"
    MODEL_ERROR = "model_error"
    ENV_ERROR = "env_error"
    SOLVED_EARLIER = "solved_earlier"


ERRORS = frozenset({Ending.MODEL_ERROR, Ending.ENV_ERROR})
"""Endings that say nothing about the agent: they are reported apart from failures, never folded into them."""

FATAL = frozenset({"quota", "auth", "interrupted"})
"""Kinds of ModelError after which every other episode would fail too: the run stops, nothing is marked."""


def ending_of(failure: ModelError) -> tuple[Ending, str]:
    """How an episode ends in which a model gave no answer, and the error to record. Raises one of a FATAL kind."""
    if failure.kind in FATAL:
        raise failure
    ending = Ending.CONTEXT_OVERFLOW if isinstance(failure, ContextOverflow) else Ending.MODEL_ERROR
    return ending, f"{failure.kind}: {failure}"
