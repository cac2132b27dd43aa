"""Look-up question answering as in ReAct (HotpotQA, FEVER): search an encyclopedia, look up words on a page, finish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialogue.envs.wiki.env import FeverEnv, HotpotQAEnv

__all__ = ["FeverEnv", "HotpotQAEnv"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from trialogue.envs.wiki import env

        return getattr(env, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
