"""Household tasks in text: ALFWorld's games (real ones, and generated ones that need no download)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialogue.envs.household.env import HouseholdEnv

__all__ = ["HouseholdEnv"]


def __getattr__(name: str) -> Any:
    if name == "HouseholdEnv":
        from trialogue.envs.household.env import HouseholdEnv

        return HouseholdEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
