"""Makes the models, agents and environments of an experiment as its configuration says."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping
from typing import Any

from trialogue import __version__
from trialogue.agents import default_model, make_agent, needs_model, needs_person, package_of
from trialogue.agents.contract import Agent
from trialogue.agents.models import Model, make_model
from trialogue.envs import make as make_env
from trialogue.envs.contract import TextEnv
from trialogue.errors import UsageError
from trialogue.exemplars import exemplars_for, exemplars_in
from trialogue.experiments.config import AgentConfig, ExperimentConfig, ModelConfig
from trialogue.experiments.episode import Rules
from trialogue.experiments.hosts import EnvHost, Here, Place, place_of
from trialogue.experiments.records import dumps

PERSON = ModelConfig(name="human:keyboard")
"""The model that asks the person at the keyboard, for agents whose actions are reviewed."""


class Workshop:
    """``models`` are those of :func:`make_models`. Raises DataError for a broken file of exemplars."""

    def __init__(self, config: ExperimentConfig, models: Mapping[str, Model]) -> None:
        self.config = config
        self.rules = Rules(config.limits, config.stuck)
        self._models = models
        self._exemplars = {
            name: exemplars_for if agent.exemplars is None else exemplars_in(agent.exemplars)
            for name, agent in config.agents.items()
        }
        self._spare: dict[str, TextEnv] = {}

    def agent(self, name: str, recorded: Callable[[Model], Model] = lambda model: model) -> Agent:
        """A fresh agent, which asks its models as ``recorded`` gives them back."""
        agent = self.config.agents[name]
        model, person = self.model(name), self._person(agent)
        return make_agent(
            agent.agent,
            model=None if model is None else recorded(model),
            settings=agent.settings,
            exemplars_for=self._exemplars[name],
            person=None if person is None else recorded(person),
        )

    def model(self, name: str) -> Model | None:
        """The model of agent ``name``, or None where it plays without one."""
        model = model_of(self.config, self.config.agents[name])
        return None if model is None else self._models[_key(model)]

    def host(self, tasks: str) -> EnvHost:
        """An environment for the task set ``tasks``, where the configuration wants it; to be closed by the caller."""
        chosen, where = self.config.tasks[tasks], self.config.environments
        place: Callable[[], Place] = lambda: Here(lambda: self._env(tasks))  # noqa: E731 (one of two ways to make it)
        if where != "threads":
            place = place_of(where, chosen.env, chosen.settings)
        return EnvHost(place, self.config.limits.step_seconds)

    def versions(self, tasks: str) -> dict[str, str]:
        """Those of its environment, which is then kept for the first host that wants one in this process."""
        self._spare[tasks] = self._env(tasks)
        return self._spare[tasks].versions()

    def _env(self, tasks: str) -> TextEnv:
        spare = self._spare.pop(tasks, None)  # at once: hosts ask from threads of their own
        return spare or make_env(self.config.tasks[tasks].env, **self.config.tasks[tasks].settings)

    def close(self) -> None:
        """Closes the environments that nobody asked for."""
        while self._spare:
            self._spare.popitem()[1].close()

    def _person(self, agent: AgentConfig) -> Model | None:
        return self._models[_key(PERSON)] if needs_person(agent.agent, agent.settings) else None


class Conditions:
    """Everything that a number of a run depends on beside its tasks and seeds (JSON values).

    What stays the same is looked up once; what a model really accepted is known only after it was asked.
    """

    def __init__(self, workshop: Workshop) -> None:
        config = workshop.config
        self._workshop = workshop
        self._agents = {name: _agent_conditions(workshop, name) for name in config.agents}
        self._versions = {name: workshop.versions(name) for name in config.tasks}

    def of(self, agent: str, tasks: str) -> dict[str, Any]:
        config = self._workshop.config
        model = self._workshop.model(agent)
        return {
            "agent": self._agents[agent],
            "model": None if model is None else {"name": model.name, **model.conditions()},
            "env": {"name": config.tasks[tasks].env, **config.tasks[tasks].settings},
            "split": config.tasks[tasks].split,
            "limits": config.limits.model_dump(mode="json"),
            "stuck": None if config.stuck is None else config.stuck.model_dump(mode="json"),
            "trials": config.trials,
            "versions": {"trialogue": __version__, "python": platform.python_version(), **self._versions[tasks]},
        }


def model_of(config: ExperimentConfig, agent: AgentConfig) -> ModelConfig | None:
    """The model an agent plays with. Raises UsageError when it needs one and none is configured."""
    if not needs_model(agent.agent):
        return None
    default = default_model(agent.agent)
    model = agent.model or (ModelConfig(name=default) if default else config.model)
    if model is None:
        raise UsageError(f"agent {agent.agent!r} needs a model: set `model:` in the experiment or in the agent")
    return model


def make_models(config: ExperimentConfig) -> dict[str, Model]:
    """Every model of the experiment, each once, the person at the keyboard included where an agent asks for one.

    Loading weights can take seconds. Raises what ``make_model`` raises.
    """
    wanted = [model for agent in config.agents.values() if (model := model_of(config, agent))]
    if any(needs_person(agent.agent, agent.settings) for agent in config.agents.values()):
        wanted.append(PERSON)
    return {key: make_model(model.name, **model.settings) for key, model in {_key(m): m for m in wanted}.items()}


def _key(model: ModelConfig) -> str:
    return dumps(model.model_dump(mode="json"))


def _agent_conditions(workshop: Workshop, name: str) -> dict[str, Any]:
    agent = workshop.config.agents[name]
    package = {"package": package_of(agent.agent)} if package_of(agent.agent) else {}
    return {"name": agent.agent, **package, **_exemplar_file(agent), **workshop.agent(name).conditions()}


def _exemplar_file(agent: AgentConfig) -> dict[str, str]:
    """The SHA-256 of the agent's own file of exemplars, if it has one: a file can change under its name."""
    if agent.exemplars is None:
        return {}
    return {"exemplar_file": hashlib.sha256(agent.exemplars.read_bytes()).hexdigest()}
