"""TextWorld's games: from files, and generated ones that need no download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialogue.envs.textworld.env import TextWorldEnv

__all__ = ["TextWorldEnv"]


def __getattr__(name: str) -> Any:
    if name == "TextWorldEnv":
        from trialogue.envs.textworld.env import TextWorldEnv

        return TextWorldEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
