"""Tools: typed Python functions as actions, and questions that take several calls to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialogue.envs.tools.env import ToolsEnv
    from trialogue.envs.tools.tool import Tool, ToolFailure
    from trialogue.envs.tools.toolbox import Limits, Toolbox

__all__ = ["Limits", "Tool", "ToolFailure", "Toolbox", "ToolsEnv"]

_HOME = {"ToolsEnv": "env", "Tool": "tool", "ToolFailure": "tool", "Toolbox": "toolbox", "Limits": "toolbox"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
