"""Plays what a store has planned: several episodes at once, resumable at every point.

A model's replies are stored before they are used. An episode that was cut off is played again from its start with
the stored replies, which cost nothing, and goes on with the model where they end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from trialogue.agents.contract import Learner
from trialogue.agents.models.contract import Reply
from trialogue.errors import BudgetSpent, ModelError
from trialogue.experiments.budget import Meter
from trialogue.experiments.config import ExperimentConfig
from trialogue.experiments.endings import ERRORS, Ending, ending_of
from trialogue.experiments.episode import Episode
from trialogue.experiments.hosts import EnvHost
from trialogue.experiments.queue import AffinityQueue
from trialogue.experiments.recording import Observer, StoreLog
from trialogue.experiments.records import EndRecord
from trialogue.experiments.store import Store
from trialogue.experiments.workshop import Conditions, Workshop, make_models

SOLVED_EARLIER = EndRecord(Ending.SOLVED_EARLIER, won=True, score=1.0, steps=0, turns=0, seconds=0.0)


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
    """``number`` counts from 0; ``is_last`` where no other follows in its chain."""

    episode: int
    number: int
    is_last: bool
    ending: str | None
    won: bool


@dataclass(frozen=True)
class Table(Observer):
    """What every episode of a run is played at."""

    workshop: Workshop
    store: Store
    observer: Observer
    meter: Meter

    def replied(self, reply: Reply) -> None:
        self.meter.replied(reply)
        self.observer.replied(reply)


async def run_experiment(config: ExperimentConfig, store: Store, observer: Observer | None = None) -> None:
    """Plays every episode of ``store`` that has not ended.

    Raises UsageError before the first episode when an agent, model or environment cannot be made; ModelError
    when a model says that it will answer nobody (quota, key), BudgetSpent when the run may cost no more: what had
    finished stays finished.
    """
    observer = observer or Observer()
    planned = store.planned()
    observer.started(len(planned), sum(row["ending"] is not None for row in planned))
    chains = [chain for chain in read_chains(planned) if chain.is_open]
    if not chains:
        return  # the conditions stay those under which the episodes were played
    async with AsyncExitStack() as stack:
        # Loading weights takes seconds and would hold up the event loop.
        models = await asyncio.to_thread(make_models, config)
        for model in models.values():
            stack.push_async_callback(model.close)
        workshop = Workshop(config, models)
        stack.callback(workshop.close)
        conditions = await asyncio.to_thread(Conditions, workshop)
        _set_conditions(store, conditions)
        try:
            await _play_all(chains, Table(workshop, store, observer, _meter(config, store)))
        finally:
            _set_conditions(store, conditions)


def _meter(config: ExperimentConfig, store: Store) -> Meter:
    tokens, cost = store.spent()
    return Meter(config.budget, cost=cost, tokens=tokens)


def read_chains(planned: Sequence[Any]) -> Iterator[Chain]:
    """The chains of the rows of :meth:`Store.planned`, in their order."""
    for _, group in groupby(planned, key=lambda row: (row["run"], row["task_index"], row["seed"])):
        chain = list(group)
        first = chain[0]
        trials = tuple(
            Trial(row["id"], row["trial"], row is chain[-1], row["ending"], bool(row["won"])) for row in chain
        )
        named = (first["run_name"], first["agent"], first["tasks"], first["task"], first["type"])
        yield Chain(*named, first["seed"], trials)


def _set_conditions(store: Store, conditions: Conditions) -> None:
    changed = {"changed_on_the_way": changes} if (changes := store.changes()) else {}
    for run in store.runs():
        store.set_conditions(run["id"], {**conditions.of(run["agent"], run["tasks"]), **changed})


async def _play_all(chains: list[Chain], table: Table) -> None:
    queue = AffinityQueue(chains, group=lambda c: (c.tasks, c.type, c.run_name))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(table.workshop.config.concurrency):
                group.create_task(_work(queue, table))
    except* Exception as errors:
        raise _first(errors) from None
    if queue.take() is not None or any(row["ending"] is None for row in table.store.planned()):
        table.meter.check()


class HostPool:
    """The environments of one worker, one for each task set, since they are costly to make."""

    def __init__(self, make: Callable[[str], EnvHost]) -> None:
        self._make = make
        self._hosts: dict[str, EnvHost] = {}

    def get(self, tasks: str) -> EnvHost:
        if tasks not in self._hosts:
            self._hosts[tasks] = self._make(tasks)
        return self._hosts[tasks]

    def discard(self, tasks: str) -> None:
        """After an error: an environment that failed is not trusted again, and may still be hanging."""
        self._hosts.pop(tasks).kill()

    def close(self) -> None:
        for host in self._hosts.values():
            host.close()


async def _work(queue: AffinityQueue[Chain], table: Table) -> None:
    """Plays chains until none is left, or the budget is spent: what is under way then stays open."""
    hosts = HostPool(table.workshop.host)
    try:
        next_ = queue.take()
        while next_ is not None:
            group, chain = next_
            await _play_chain(chain, hosts, table)
            next_ = queue.take(group)
    except BudgetSpent:
        return
    finally:
        hosts.close()


async def _play_chain(chain: Chain, hosts: HostPool, table: Table) -> None:
    """Plays the trials that are still open, until one is won."""
    won = False
    for trial in chain.trials:
        if trial.ending is not None:
            won = won or trial.won
            continue
        if won:
            end = SOLVED_EARLIER
            table.store.skip_episode(trial.episode, end)
        else:
            end = await _play(chain, trial, hosts.get(chain.tasks), table)
            table.store.end_episode(trial.episode, end)
            table.meter.ended(end)
        table.observer.ended(chain.run_name, end)
        won = won or end.won
        if end.ending == Ending.ENV_ERROR:
            hosts.discard(chain.tasks)


async def _play(chain: Chain, trial: Trial, host: EnvHost, table: Table) -> EndRecord:
    """One trial, and what is learnt from it. The lesson is stored before this returns, the ending by the caller."""
    store, workshop = table.store, table.workshop
    log = StoreLog(store, trial.episode, table)
    agent = workshop.agent(chain.agent, log.recorded)
    log.exemplar_ids = lambda: getattr(agent, "exemplar_ids", ())
    memory = store.lessons(trial.episode) if isinstance(agent, Learner) else ()
    episode = Episode(
        host,
        agent,
        chain.task,
        chain.seed,
        workshop.rules,
        log,
        spent=log.spent,
        go_on=table.meter.check,
        trial=trial.number,
        memory=memory,
    )
    end = await episode.play()
    if isinstance(agent, Learner) and not (end.won or trial.is_last or end.ending in ERRORS):
        end = await _learn(agent, trial, end, store)
    return replace(end, notes=tuple(log.notes))


async def _learn(agent: Learner, trial: Trial, end: EndRecord, store: Store) -> EndRecord:
    """Stores the agent's lesson from a lost trial. A model that gives no answer changes how the trial ended."""
    try:
        store.set_lesson(trial.episode, await agent.learn(end.ending))
    except ModelError as failure:
        ending, error = ending_of(failure)
        return replace(end, ending=ending, error=f"in learning from {end.ending}: {error}")
    return end


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
