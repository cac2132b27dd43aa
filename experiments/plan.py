"""From a configuration to the episodes that will be played, all known before the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialogue.envs import make
from trialogue.envs.contract import Task
from trialogue.errors import UnknownName, UsageError
from trialogue.experiments.config import ExperimentConfig, TasksConfig
from trialogue.experiments.records import EpisodePlan, RunPlan


@dataclass(frozen=True)
class Plan:
    """Runs are numbered from 1 in the order of the configuration, episodes from 1, task by task."""

    runs: tuple[RunPlan, ...]
    episodes: tuple[EpisodePlan, ...]


def make_plan(config: ExperimentConfig) -> Plan:
    """Lists every episode, agents side by side on each task, so that even a half-finished run compares pairs."""
    tasks = {name: select_tasks(name, tasks) for name, tasks in config.tasks.items()}
    runs = tuple(
        RunPlan(number, f"{agent}/{name}", agent, name)
        for number, (name, agent) in enumerate(((t, a) for t in config.tasks for a in config.agents), start=1)
    )
    return Plan(runs, tuple(_episodes(config, runs, tasks)))


def select_tasks(name: str, config: TasksConfig) -> list[Task]:
    """The tasks of one set. Raises UsageError when nothing is left or an id is unknown; DataError without data."""
    env = make(config.env, **config.settings)
    try:
        if config.ids is not None:
            tasks = [env.task(task) for task in config.ids]
        elif config.split is not None:
            tasks = list(env.tasks(config.split))
        else:
            raise UsageError(f"tasks.{name}: name a split (known without data: {', '.join(env.splits)}) or list ids")
    finally:
        env.close()
    if config.types is not None:
        known = {task.type for task in tasks}
        for type_ in config.types:
            if type_ not in known:
                raise UnknownName("task type", type_, known)
        tasks = [task for task in tasks if task.type in config.types]
    tasks = _first_of_each_type(tasks, config.per_type)[: config.limit]
    if not tasks:
        raise UsageError(f"tasks.{name}: no task is left of split {config.split!r}")
    return tasks


def _first_of_each_type(tasks: Sequence[Task], number: int | None) -> list[Task]:
    seen: Counter[str] = Counter()
    chosen = []
    for task in tasks:
        seen[task.type] += 1
        if number is None or seen[task.type] <= number:
            chosen.append(task)
    return chosen


def _episodes(
    config: ExperimentConfig, runs: Sequence[RunPlan], tasks: Mapping[str, Sequence[Task]]
) -> Iterator[EpisodePlan]:
    number = 0
    for name in config.tasks:
        for seed in config.seeds:
            for index, task in enumerate(tasks[name]):
                for run in (run for run in runs if run.tasks == name):
                    for trial in range(config.trials):
                        number += 1
                        yield EpisodePlan(number, run.id, task.id, index, task.type, task.split, seed, trial)
