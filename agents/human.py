"""A person at the keyboard, in the place of the model: the same prompts, the same reader, the same record."""

from __future__ import annotations

from pydantic import Field

from trialogue.agents.react_settings import ReactSettings

KEYBOARD = "human:keyboard"


class HumanSettings(ReactSettings):
    """Those of ``react``, with what a person wants to see; thoughts are lines that begin with ``think:``."""

    exemplars: int = Field(default=0, ge=0)
    show_admissible: bool = True
    show_reasons: bool = True
