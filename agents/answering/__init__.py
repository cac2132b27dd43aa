"""Agents that answer a question from what the model knows: Standard, CoT, CoT-SC, and CoT-SC together with ReAct."""

from trialogue.agents.answering.back_off import (
    BackOffSettings,
    CotScThenReact,
    ReactFirstSettings,
    ReactThenCotSc,
)
from trialogue.agents.answering.self_consistency import CotScAgent, CotScSettings
from trialogue.agents.answering.single import CotAgent, CotSettings, StandardAgent, StandardSettings

__all__ = [
    "BackOffSettings",
    "CotAgent",
    "CotScAgent",
    "CotScSettings",
    "CotScThenReact",
    "CotSettings",
    "ReactFirstSettings",
    "ReactThenCotSc",
    "StandardAgent",
    "StandardSettings",
]
