"""Opens the store of an experiment, new or to be resumed, and plays it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trialogue.agents import make_agent
from trialogue.agents.models import make_model
from trialogue.errors import UsageError
from trialogue.exemplars import exemplars_in
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.plan import make_plan
from trialogue.experiments.runner import model_of
from trialogue.experiments.store import Store


def default_path(config: ExperimentConfig) -> Path:
    return Path("runs") / f"{config.name}.sqlite"


def open_store(config: ExperimentConfig, path: Path) -> Store:
    """The store at ``path``, planned if it is new.

    Raises UsageError with the differences when the store there belongs to another configuration, or when another
    process holds it.
    """
    if not path.exists():
        rehearse(config)
        plan = make_plan(config)
        return Store.create(path, name=config.name, config=config.record(), runs=plan.runs, episodes=plan.episodes)
    store = Store.resume(path)
    # Read by this version first: a setting that it has gained since, left at its default, is no difference.
    stored = parse_config(json.loads(store.meta("config")), source=f"the configuration in {path}")
    changes = list(differences(stored.record(), config.record()))
    if changes:
        store.close()
        raise UsageError(
            "\n".join(
                [
                    f"{path} holds an experiment of another configuration:",
                    *(f"  {change}" for change in changes),
                    "Give this one another `name:` (or --store FILE), or delete the file to begin again.",
                ]
            )
        )
    return store


def rehearse(config: ExperimentConfig) -> None:
    """Makes every agent with its model once, so that a wrong name or setting is told before anything is written.

    Raises UsageError, UnknownName, MissingExtra, DataError. Nothing is started: models do that at their first request.
    """
    for agent in config.agents.values():
        model = model_of(config, agent)
        made = None if model is None else make_model(model.name, **model.settings)
        lookup = None if agent.exemplars is None else exemplars_in(agent.exemplars)
        make_agent(agent.agent, model=made, settings=agent.settings, exemplars_for=lookup)


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
