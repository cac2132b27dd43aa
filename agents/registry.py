"""Agents by name. A new agent is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trialogue.agents.contract import Agent, AgentInfo
from trialogue.agents.expert_agent import ExpertAgent
from trialogue.agents.models.contract import Model
from trialogue.agents.random_agent import RandomAgent
from trialogue.agents.react import ExemplarsFor, ReactAgent, ReactSettings
from trialogue.errors import UnknownName, UsageError


class NoSettings(BaseModel):
    """For agents that have nothing to set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ActSettings(ReactSettings):
    """Those of ``react``; but this agent never thinks."""

    thoughts: Literal["none"] = "none"


@dataclass(frozen=True)
class _Entry:
    summary: str
    settings: type[BaseModel]
    make: Callable[[Model | None, Any, ExemplarsFor | None], Agent]
    needs_model: bool = False
    source: str = ""


def _react(model: Model | None, settings: ReactSettings, exemplars_for: ExemplarsFor | None) -> Agent:
    if model is None:
        raise UsageError("this agent asks a model; name one, such as local:smollm2-135m")
    return ReactAgent(model, settings, exemplars_for)


_REACT = "Yao et al. 2023, ReAct: Synergizing Reasoning and Acting in Language Models"
_AGENTS: dict[str, _Entry] = {
    "act": _Entry("commands only, no thoughts", ActSettings, _react, True, f"{_REACT}, section 4 (Act)"),
    "react": _Entry("thoughts between commands, placed as thoughts says", ReactSettings, _react, True, _REACT),
    "random": _Entry("admissible commands, drawn uniformly", NoSettings, lambda *_: RandomAgent()),
    "expert": _Entry("the environment's own expert", NoSettings, lambda *_: ExpertAgent()),
}


def make_agent(
    name: str,
    *,
    model: Model | None = None,
    settings: Mapping[str, Any] | None = None,
    exemplars_for: ExemplarsFor | None = None,
) -> Agent:
    """A fresh agent. Raises UnknownName for an unknown name or setting, UsageError for a value that cannot be."""
    entry = _entry(name)
    return entry.make(model, _settings(name, entry.settings, settings or {}), exemplars_for)


def needs_model(name: str) -> bool:
    """Whether the agent named ``name`` asks a model. Raises UnknownName."""
    return _entry(name).needs_model


def describe() -> list[AgentInfo]:
    """Every agent, with its settings and their defaults."""
    return [
        AgentInfo(name, entry.summary, entry.source, entry.settings().model_dump(mode="json"))
        for name, entry in _AGENTS.items()
    ]


def _entry(name: str) -> _Entry:
    if name not in _AGENTS:
        raise UnknownName("agent", name, _AGENTS)
    return _AGENTS[name]


def _settings(name: str, kind: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    for key in given:
        if key not in kind.model_fields:
            raise UnknownName(f"setting of {name}", key, kind.model_fields)
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        wrong = "; ".join(f"{_at(item['loc'])}: {item['msg']}, got {item['input']!r}" for item in error.errors())
        raise UsageError(f"settings of {name}: {wrong}") from None


def _at(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location))
