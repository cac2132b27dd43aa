"""Opens the store of an experiment, new or to be resumed, and plays it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from trialogue.envs import make as make_env
from trialogue.errors import UsageError
from trialogue.exemplars import exemplars_in
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.plan import Plan, make_plan
from trialogue.experiments.records import IMPORTED
from trialogue.experiments.store import Store
from trialogue.experiments.workshop import Workshop, make_models


def default_path(name: str) -> Path:
    """Where the store of the experiment called ``name`` is kept."""
    return Path("runs") / f"{name}.sqlite"


def open_store(config: ExperimentConfig, path: Path, *, accept_changes: bool = False) -> Store:
    """The store at ``path``, planned if it is new.

    Raises UsageError with the differences when the store there belongs to another configuration, or when another
    process holds it. With ``accept_changes`` what is still open is played as configured now, and the record says so;
    what is planned (agents, tasks, seeds, trials) cannot change.
    """
    if not path.exists():
        rehearse(config)
        plan = make_plan(config)
        try_exemplars(config, plan)
        return Store.create(path, name=config.name, config=config.record(), runs=plan.runs, episodes=plan.episodes)
    store = Store.resume(path)
    try:
        _agree(config, store, accept_changes)
    except BaseException:
        store.close()
        raise
    return store


def _agree(config: ExperimentConfig, store: Store, accept_changes: bool) -> None:
    """Raises UsageError unless ``store`` is of ``config``, or its changes are accepted and leave the plan as it is."""
    stored = json.loads(store.meta("config"))
    if IMPORTED in stored:
        raise UsageError(f"{store.path} holds imported results, which cannot be played; name another store")
    # Read by this version first: a setting that it has gained since, left at its default, is no difference.
    stored = parse_config(stored, source=f"the configuration in {store.path}").record()
    changes = list(differences(stored, config.record()))
    if not changes:
        return
    told = "\n".join(f"  {change}" for change in changes)
    if not accept_changes:
        raise UsageError(
            f"{store.path} holds an experiment of another configuration:\n{told}\nGive this one another `name:` (or "
            "--store FILE); or go on with --accept-changes, which the record will tell."
        )
    rehearse(config)
    if not _plans(make_plan(config), store):
        raise UsageError(
            f"{store.path} holds an experiment of other agents, tasks, seeds or trials, which cannot be changed on the "
            f"way:\n{told}\nGive this one another `name:` (or --store FILE)."
        )
    store.change_config(config.record(), changes)


def _plans(plan: Plan, store: Store) -> bool:
    """Whether ``plan`` is what ``store`` was made for."""
    runs = [(row["id"], row["name"]) for row in store.runs()]
    keys = ("id", "run", "task", "task_index", "seed", "trial")
    episodes = [tuple(row[key] for key in keys) for row in store.episodes()]
    return runs == [(run.id, run.name) for run in plan.runs] and episodes == [
        tuple(getattr(episode, key) for key in keys) for episode in plan.episodes
    ]


def rehearse(config: ExperimentConfig) -> None:
    """Makes every agent with its model once, so that a wrong name or setting is told before anything is written.

    Raises UsageError, UnknownName, MissingExtra, DataError. Nothing is started: models do that at their first request.
    """
    workshop = Workshop(config, make_models(config))
    for agent in config.agents:
        workshop.agent(agent)


def try_exemplars(config: ExperimentConfig, plan: Plan) -> None:
    """Looks up what each agent's own file of exemplars holds for each planned task type, as the agent will.

    The type is told, and its dialect, by a task of it. Raises UsageError where a file does not hold it.
    """
    files = [a.exemplars for a in config.agents.values() if a.exemplars and a.settings.get("exemplars") != 0]
    if not files:
        return
    for name, tasks in config.tasks.items():
        of_type = {episode.type: episode.task for episode in plan.episodes if plan.runs[episode.run - 1].tasks == name}
        with closing(make_env(tasks.env, **tasks.settings)) as env:
            told = [env.reset(options={"task": task})[1] for task in of_type.values()]
        for file in files:
            lookup = exemplars_in(file)
            for info in told:
                lookup(env.name, info["type"], info["dialect"])


def differences(stored: Any, wanted: Any, where: str = "") -> Iterator[str]:
    """One line for each value that differs, by its dotted key."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for key in sorted({*stored, *wanted}):
            missing = object()
            a, b = stored.get(key, missing), wanted.get(key, missing)
            name = f"{where}.{key}" if where else key
            if a is missing or b is missing:
                yield f"{name}: " + (f"new, {b!r}" if a is missing else f"was {a!r}, now gone")
            else:
                yield from differences(a, b, name)
    elif stored != wanted:
        yield f"{where}: was {stored!r}, now {wanted!r}"
