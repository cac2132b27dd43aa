"""Agents by name. A new agent is one file and one line here.

Other packages bring theirs by the entry point group ``trialogue.agents``; see :mod:`trialogue.agents.plugins`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trialogue.agents import plugins
from trialogue.agents.answering import (
    BackOffSettings,
    CotAgent,
    CotScAgent,
    CotScSettings,
    CotScThenReact,
    CotSettings,
    ReactFirstSettings,
    ReactThenCotSc,
    StandardAgent,
    StandardSettings,
)
from trialogue.agents.contract import Agent, AgentInfo
from trialogue.agents.expert_agent import ExpertAgent, ExpertSettings
from trialogue.agents.human import KEYBOARD, HumanSettings
from trialogue.agents.models.contract import Model
from trialogue.agents.plan_react import PlanReactAgent, PlanReactSettings
from trialogue.agents.random_agent import RandomAgent
from trialogue.agents.react import ExemplarsFor, ReactAgent
from trialogue.agents.react_settings import ReactSettings
from trialogue.agents.reflexion import ReflexionAgent, ReflexionSettings, RetrySettings
from trialogue.agents.rewoo import RewooAgent, RewooSettings
from trialogue.errors import UnknownName, UsageError


class NoSettings(BaseModel):
    """For agents that have nothing to set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ActSettings(ReactSettings):
    """Those of ``react``; but this agent never thinks."""

    thoughts: Literal["none"] = "none"


class ToolCallSettings(ReactSettings):
    """Those of ``react``; commands are native calls of functions."""

    notation: Literal["tools"] = "tools"


@dataclass(frozen=True)
class Parts:
    """What an agent is made of beside its settings, each None where it is not to be had.

    ``model`` is the one it plays with, ``exemplars_for`` looks up few-shot episodes, ``person`` asks the person at the
    keyboard and is given to agents whose setting ``review`` wants one.
    """

    model: Model | None = None
    exemplars_for: ExemplarsFor | None = None
    person: Model | None = None

    def required_model(self) -> Model:
        """``model``; raises UsageError where there is none."""
        if self.model is None:
            raise UsageError("this agent asks a model; name one, such as local:smollm2-135m")
        return self.model


@dataclass(frozen=True)
class AgentEntry:
    """An agent as it is known by name: ``make`` gives a fresh one, of its parts and its validated settings.

    ``summary`` is one line, ``source`` the paper. ``default_model`` is the one that it plays with unless it is given
    one of its own, whatever the experiment's is; "" where there is no such.
    """

    summary: str
    settings: type[BaseModel]
    make: Callable[[Parts, Any], Agent]
    needs_model: bool = False
    source: str = ""
    default_model: str = ""


def _acting(kind: Callable[..., Agent]) -> Callable[[Parts, Any], Agent]:
    """For agents that a person may review."""
    return lambda parts, settings: kind(parts.required_model(), settings, parts.exemplars_for, parts.person)


def _asking(kind: Callable[..., Agent]) -> Callable[[Parts, Any], Agent]:
    return lambda parts, settings: kind(parts.required_model(), settings, parts.exemplars_for)


_react = _acting(ReactAgent)
_REACT = "Yao et al. 2023, ReAct: Synergizing Reasoning and Acting in Language Models"
_REFLEXION = "Shinn et al. 2023, Reflexion: Language Agents with Verbal Reinforcement Learning"
_PLAN = "Wang et al. 2023, Plan-and-Solve Prompting"
_REWOO = "Xu et al. 2023, ReWOO: Decoupling Reasoning from Observations for Efficient Augmented Language Models"
_COT = "Wei et al. 2022, Chain-of-Thought Prompting Elicits Reasoning in Large Language Models"
_COT_SC = "Wang et al. 2022, Self-Consistency Improves Chain of Thought Reasoning in Language Models"
_AGENTS: dict[str, AgentEntry] = {
    "standard": AgentEntry(
        "an answer straight from the question",
        StandardSettings,
        _asking(StandardAgent),
        True,
        f"{_REACT}, section 3.2 (Standard)",
    ),
    "cot": AgentEntry(
        "reasons step by step, then answers, without commands",
        CotSettings,
        _asking(CotAgent),
        True,
        f"{_COT}, section 2",
    ),
    "cot_sc": AgentEntry(
        "the majority of several sampled chains of thought",
        CotScSettings,
        _asking(CotScAgent),
        True,
        f"{_COT_SC}, section 2",
    ),
    "act": AgentEntry("commands only, no thoughts", ActSettings, _react, True, f"{_REACT}, section 4 (Act)"),
    "react": AgentEntry("thoughts between commands, placed as thoughts says", ReactSettings, _react, True, _REACT),
    "react_cot_sc": AgentEntry(
        "ReAct, then CoT-SC where it gives no answer within its steps",
        ReactFirstSettings,
        _acting(ReactThenCotSc),
        True,
        f"{_REACT}, section 3.2",
    ),
    "cot_sc_react": AgentEntry(
        "CoT-SC, then ReAct where less than half of the samples agree",
        BackOffSettings,
        _acting(CotScThenReact),
        True,
        f"{_REACT}, section 3.2",
    ),
    "reflexion": AgentEntry(
        "ReAct that reflects on each failed trial and reads that in the next",
        ReflexionSettings,
        _acting(ReflexionAgent),
        True,
        f"{_REFLEXION}, section 3",
    ),
    "retry": AgentEntry(
        "the control of reflexion: the same trials, no memory", RetrySettings, _react, True, f"{_REFLEXION}, section 4"
    ),
    "plan_react": AgentEntry(
        "a plan first, then ReAct", PlanReactSettings, _acting(PlanReactAgent), True, f"{_PLAN}, section 2"
    ),
    "rewoo": AgentEntry(
        "all commands planned at once, carried out, then an answer",
        RewooSettings,
        _asking(RewooAgent),
        True,
        f"{_REWOO}, section 2",
    ),
    "native_tools": AgentEntry(
        "ReAct whose commands are native calls of functions (chat models)", ToolCallSettings, _react, True, _REACT
    ),
    "human": AgentEntry(
        "a person at the keyboard, in the model's place", HumanSettings, _react, True, default_model=KEYBOARD
    ),
    "random": AgentEntry("admissible commands, drawn uniformly", NoSettings, lambda *_: RandomAgent()),
    "expert": AgentEntry("the environment's own expert", ExpertSettings, lambda _, settings: ExpertAgent(settings)),
}


def make_agent(
    name: str,
    *,
    model: Model | None = None,
    settings: Mapping[str, Any] | None = None,
    exemplars_for: ExemplarsFor | None = None,
    person: Model | None = None,
) -> Agent:
    """A fresh agent; "module:ENTRY" names one that is not registered.

    Raises UnknownName for an unknown name or setting, UsageError for a value that cannot be, and for an agent of
    another package that cannot be imported.
    """
    entry = find(name)
    return entry.make(Parts(model, exemplars_for, person), _settings(name, entry.settings, settings or {}))


def needs_model(name: str) -> bool:
    """Whether the agent named ``name`` asks a model. Raises as :func:`make_agent` does."""
    return find(name).needs_model


def default_model(name: str) -> str:
    """The model that agent ``name`` plays with unless it is given one of its own, "" where there is no such."""
    return find(name).default_model


def package_of(name: str) -> str:
    """The package, with its version, that brings the agent ``name``; "" for ours, and for "module:ENTRY"."""
    others = {} if name in _AGENTS else {plugin.name: plugin.package for plugin in plugins.installed()}
    return others.get(name, "")


def needs_person(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a person reviews what the agent does: its setting ``review`` is there and is not "never"."""
    return getattr(_settings(name, find(name).settings, settings), "review", "never") != "never"


def find(name: str) -> AgentEntry:
    """The entry of an agent, one of ours, of another package, or "module:ENTRY". Raises as :func:`make_agent` does."""
    if name in _AGENTS:
        return _AGENTS[name]
    if ":" in name:
        offer = f"no agent at {name!r}"
        return _checked(plugins.load(name, offer), offer)
    offers = {plugin.name: plugin for plugin in plugins.installed()}
    if name not in offers:
        raise UnknownName("agent", name, {*_AGENTS, *offers})
    return _load(offers[name])


def describe() -> list[AgentInfo]:
    """Every agent, with its settings and their defaults; those of other packages are imported to be asked."""
    return [_info(name, entry) for name, entry in _AGENTS.items()] + [_told(p) for p in plugins.installed()]


def _told(plugin: plugins.Plugin) -> AgentInfo:
    try:
        return _info(plugin.name, _load(plugin), plugin.package)
    except UsageError as error:
        return AgentInfo(plugin.name, "", package=plugin.package, error=str(error))


def _info(name: str, entry: AgentEntry, package: str = "") -> AgentInfo:
    defaults = entry.settings.model_construct().model_dump(mode="json")
    settings = {key: defaults.get(key, "(required)") for key in entry.settings.model_fields}
    return AgentInfo(name, entry.summary, entry.source, settings, package)


def _load(plugin: plugins.Plugin) -> AgentEntry:
    if error := plugins.conflict(plugin, plugin.name in _AGENTS):
        raise UsageError(error)
    offer = f"{plugin.package} offers {plugin.name!r} as {plugin.entry_point}"
    return _checked(plugins.load(plugin.entry_point, offer), offer)


def _checked(found: object, offer: str) -> AgentEntry:
    if not isinstance(found, AgentEntry):
        raise UsageError(f"{offer}: expected an AgentEntry, got {found!r}")
    return found


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
