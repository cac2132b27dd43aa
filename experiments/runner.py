"""Plays what a store has planned: several episodes at once, resumable at every point.

A model's replies are stored before they are used. An episode that was cut off is played again from its start with
the stored replies, which cost nothing, and goes on with the model where they end.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from trialogue import __version__
from trialogue.agents import make_agent, needs_model
from trialogue.agents.contract import Agent, Turn
from trialogue.agents.models import Model, ReplayingModel, make_model, request_hash
from trialogue.agents.models.contract import Reply, Request
from trialogue.envs import make as make_env
from trialogue.envs.contract import TextEnv
from trialogue.errors import UsageError
from trialogue.exemplars import exemplars_for, exemplars_in
from trialogue.experiments.config import AgentConfig, ExperimentConfig, ModelConfig, TasksConfig
from trialogue.experiments.endings import Ending
from trialogue.experiments.episode import Episode, EpisodeLog, Rules
from trialogue.experiments.queue import AffinityQueue
from trialogue.experiments.store import EndRecord, StepRecord, Store, dumps


class Observer:
    """Told what happens, for whoever shows it. The base class shows nothing."""

    def started(self, planned: int, finished: int) -> None: ...

    def replied(self, reply: Reply) -> None: ...

    def ended(self, run: str, end: EndRecord) -> None: ...


@dataclass(frozen=True)
class Chain:
    """The trials of one agent at one task with one seed; each is played only if none before it was won."""

    run_name: str
    agent: str
    tasks: str
    task: str
    type: str
    seed: int
    trials: tuple[Trial, ...]

    @property
    def is_open(self) -> bool:
        return any(trial.ending is None for trial in self.trials)


@dataclass(frozen=True)
class Trial:
    episode: int
    ending: str | None
    won: bool


async def run_experiment(config: ExperimentConfig, store: Store, observer: Observer | None = None) -> None:
    """Plays every episode of ``store`` that has not ended.

    Raises UsageError before the first episode when an agent, model or environment cannot be made; ModelError
    when a model says that it will answer nobody (quota, key): what had finished stays finished.
    """
    observer = observer or Observer()
    async with AsyncExitStack() as stack:
        models = await _make_models(config, stack)
        workshop = Workshop(config, models)
        _set_conditions(config, store, workshop)
        chains = list(read_chains(store))
        episodes = store.episodes()
        observer.started(len(episodes), sum(row["ending"] is not None for row in episodes))
        queue = AffinityQueue((c for c in chains if c.is_open), group=lambda c: (c.tasks, c.type, c.run_name))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(config.concurrency):
                    group.create_task(_work(queue, workshop, store, observer))
        except* Exception as errors:
            raise _first(errors) from None
        finally:
            _set_conditions(config, store, workshop)


def read_chains(store: Store) -> Iterator[Chain]:
    rows = store.episodes()
    rows.sort(key=lambda row: row["id"])
    for _, group in groupby(rows, key=lambda row: (row["run"], row["task_index"], row["seed"])):
        chain = list(group)
        first = chain[0]
        trials = tuple(Trial(row["id"], row["ending"], bool(row["won"])) for row in chain)
        named = (first["run_name"], first["agent"], first["tasks"], first["task"], first["type"])
        yield Chain(*named, first["seed"], trials)


class Workshop:
    """Makes agents and environments as the configuration says."""

    def __init__(self, config: ExperimentConfig, models: Mapping[str, Model]) -> None:
        self.config = config
        self.rules = Rules(config.limits, config.stuck)
        self._models = models
        self._exemplars = {
            name: exemplars_for if agent.exemplars is None else exemplars_in(agent.exemplars)
            for name, agent in config.agents.items()
        }

    def model(self, name: str) -> Model | None:
        """The model of agent ``name``, or None where it plays without one."""
        model = model_of(self.config, self.config.agents[name])
        return None if model is None else self._models[_key(model)]

    def agent(self, name: str, model: Model | None) -> Agent:
        agent = self.config.agents[name]
        return make_agent(agent.agent, model=model, settings=agent.settings, exemplars_for=self._exemplars[name])

    def env(self, tasks: str) -> TextEnv:
        return make_env(self.config.tasks[tasks].env, **self.config.tasks[tasks].settings)


def model_of(config: ExperimentConfig, agent: AgentConfig) -> ModelConfig | None:
    """The model an agent plays with. Raises UsageError when it needs one and none is configured."""
    if not needs_model(agent.agent):
        return None
    model = agent.model or config.model
    if model is None:
        raise UsageError(f"agent {agent.agent!r} needs a model: set `model:` in the experiment or in the agent")
    return model


async def _make_models(config: ExperimentConfig, stack: AsyncExitStack) -> dict[str, Model]:
    wanted = {_key(model): model for agent in config.agents.values() if (model := model_of(config, agent))}
    models: dict[str, Model] = {}
    for key, model in wanted.items():
        # Loading weights takes seconds and would hold up the event loop.
        models[key] = await asyncio.to_thread(make_model, model.name, **model.settings)
        stack.push_async_callback(models[key].close)
    return models


def _key(model: ModelConfig) -> str:
    return dumps(model.model_dump(mode="json"))


def _set_conditions(config: ExperimentConfig, store: Store, workshop: Workshop) -> None:
    versions = {name: _env_versions(tasks) for name, tasks in config.tasks.items()}
    for run in store.runs():
        store.set_conditions(run["id"], conditions(config, workshop, run["agent"], run["tasks"], versions))


def conditions(
    config: ExperimentConfig, workshop: Workshop, agent: str, tasks: str, versions: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Everything that a number of this run depends on beside its tasks and seeds (JSON values)."""
    model = workshop.model(agent)
    return {
        "agent": {
            "name": config.agents[agent].agent,
            **_exemplar_file(config.agents[agent]),
            **workshop.agent(agent, model).conditions(),
        },
        "model": None if model is None else {"name": model.name, **model.conditions()},
        "env": {"name": config.tasks[tasks].env, **config.tasks[tasks].settings},
        "split": config.tasks[tasks].split,
        "limits": config.limits.model_dump(mode="json"),
        "stuck": None if config.stuck is None else config.stuck.model_dump(mode="json"),
        "trials": config.trials,
        "versions": {"trialogue": __version__, "python": platform.python_version(), **versions[tasks]},
    }


def _exemplar_file(agent: AgentConfig) -> dict[str, str]:
    """The SHA-256 of the agent's own file of exemplars, if it has one: a file can change under its name."""
    if agent.exemplars is None:
        return {}
    return {"exemplar_file": hashlib.sha256(agent.exemplars.read_bytes()).hexdigest()}


def _env_versions(tasks: TasksConfig) -> dict[str, str]:
    env = make_env(tasks.env, **tasks.settings)
    try:
        return env.versions()
    finally:
        env.close()


class EnvPool:
    """The environments of one worker, one for each task set, since they are costly to make."""

    def __init__(self, make: Callable[[str], TextEnv]) -> None:
        self._make = make
        self._envs: dict[str, TextEnv] = {}

    async def get(self, tasks: str) -> TextEnv:
        if tasks not in self._envs:
            self._envs[tasks] = await asyncio.to_thread(self._make, tasks)
        return self._envs[tasks]

    def discard(self, tasks: str) -> None:
        """After an error: an environment that failed is not trusted again."""
        self._envs.pop(tasks).close()

    def close(self) -> None:
        for tasks in list(self._envs):
            self.discard(tasks)


async def _work(queue: AffinityQueue[Chain], workshop: Workshop, store: Store, observer: Observer) -> None:
    envs = EnvPool(workshop.env)
    try:
        next_ = queue.take()
        while next_ is not None:
            group, chain = next_
            await _play_chain(chain, envs, workshop, store, observer)
            next_ = queue.take(group)
    finally:
        envs.close()


async def _play_chain(chain: Chain, envs: EnvPool, workshop: Workshop, store: Store, observer: Observer) -> None:
    """Plays the trials that are still open, until one is won."""
    won = False
    for trial in chain.trials:
        if trial.ending is not None:
            won = won or trial.won
            continue
        if won:
            end = EndRecord(Ending.SOLVED_EARLIER, won=True, score=1.0, steps=0, turns=0, seconds=0.0)
        else:
            end = await _play(chain, trial.episode, await envs.get(chain.tasks), workshop, store, observer)
        store.end_episode(trial.episode, end)
        observer.ended(chain.run_name, end)
        won = won or end.won
        if end.ending == Ending.ENV_ERROR:
            envs.discard(chain.tasks)


async def _play(
    chain: Chain, episode: int, env: TextEnv, workshop: Workshop, store: Store, observer: Observer
) -> EndRecord:
    log = StoreLog(store, episode, observer)
    model = workshop.model(chain.agent)
    agent = workshop.agent(chain.agent, None if model is None else log.recording(model))
    log.exemplar_ids = lambda: getattr(agent, "exemplar_ids", ())
    end = await Episode(env, agent, chain.task, chain.seed, workshop.rules, log, log.tokens).play()
    return replace(end, notes=tuple(log.notes))


class StoreLog(EpisodeLog):
    """Writes an episode into the store as it happens, and compares a resumed one with what was stored before."""

    def __init__(self, store: Store, episode: int, observer: Observer) -> None:
        self.notes: list[str] = []
        self.exemplar_ids: Callable[[], Iterable[str]] = tuple
        self._store = store
        self._episode = episode
        self._observer = observer
        self._stored = store.replies(episode)
        self._before = {step.step: step for step in store.start_episode(episode)}
        self._tokens = 0
        self._calls = 0

    def recording(self, model: Model) -> Model:
        return ReplayingModel(
            model, self._stored, on_new=self._on_new, on_reply=self._on_reply, on_stale=self._on_stale
        )

    def tokens(self) -> int:
        return self._tokens

    def described(self, goal: str, dialect: str, observation: str) -> None:
        self._store.describe_episode(self._episode, goal=goal, dialect=dialect, observation=observation)

    def turned(self, number: int, turn: Turn) -> None:
        if number == 0:
            self._store.set_exemplars(self._episode, list(self.exemplar_ids()))
        self._store.add_turn(self._episode, number, self._calls, turn)

    def stepped(self, step: StepRecord) -> None:
        before = self._before.get(step.step)
        if before is not None and (before.action, before.observation) != (step.action, step.observation):
            self.notes.append(
                f"step {step.step} differs from before the interruption: "
                f"{before.action!r} -> {before.observation!r}, now {step.action!r} -> {step.observation!r}"
            )
        self._store.add_step(self._episode, step)

    def _on_new(self, call: int, request: Request, reply: Reply) -> None:
        self._store.add_reply(self._episode, call, request, request_hash(request), reply)
        self._observer.replied(reply)

    def _on_reply(self, call: int, reply: Reply) -> None:
        self._calls = call + 1
        self._tokens += reply.usage.prompt + reply.usage.completion

    def _on_stale(self, call: int) -> None:
        self._store.drop_replies(self._episode, call)
        self.notes.append(f"from call {call} on the prompts differ from before the interruption: asked again")


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
