"""Environments by name. Naming one never imports its simulator: an entry is a name and a dotted entry point.

Every entry is known to Gymnasium too: ``gymnasium.make("trialogue/Household-v0")``. In a process that has not imported
this package (a spawned worker) write ``gymnasium.make("trialogue.envs:trialogue/Household-v0")``, which does so first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv

from trialogue.envs.contract import TextEnv
from trialogue.errors import UnknownName, UsageError


@dataclass(frozen=True)
class EnvEntry:
    """``name`` for people, ``entry_point`` as "module:Class", ``gym_id`` for Gymnasium, ``summary`` one line."""

    name: str
    entry_point: str
    gym_id: str
    summary: str


_ENTRIES: dict[str, EnvEntry] = {}


def register(name: str, entry_point: str, gym_id: str, summary: str) -> None:
    """Makes an environment known here and to Gymnasium. UsageError if the name is taken by another entry point."""
    entry = EnvEntry(name, entry_point, gym_id, summary)
    known = _ENTRIES.get(name, entry)
    if known.entry_point != entry_point:
        raise UsageError(f"the environment name {name!r} is taken by {known.entry_point}; choose another.")
    _ENTRIES[name] = entry
    if gym_id not in gymnasium.registry:
        gymnasium.register(id=gym_id, entry_point=entry_point)


def names() -> tuple[str, ...]:
    """The names that :func:`make` answers to, sorted."""
    return tuple(sorted(_ENTRIES))


def describe(name: str | None = None) -> tuple[EnvEntry, ...]:
    """The entries, or the one of ``name``, without importing an environment. Raises UnknownName."""
    return tuple(_ENTRIES[known] for known in names()) if name is None else (_entry(name),)


def make(name: str, **settings: Any) -> TextEnv:
    """The environment ``name`` itself, without Gymnasium's wrappers; "module:Class" names one that is not registered.

    Raises UnknownName, with the nearest known, for an environment or a setting that does not exist.
    """
    factory = _load(name if ":" in name else _entry(name).entry_point)
    known = inspect.signature(factory).parameters
    for setting in settings:
        if setting not in known:
            raise UnknownName(f"setting of {name}", setting, known)
    return factory(**settings)


def make_vec(name: str, num_envs: int, *, context: str | None = None, **settings: Any) -> AsyncVectorEnv:
    """``num_envs`` environments, each in a process of its own (start method ``context``, e.g. "spawn").

    Shared memory is off: Gymnasium's copies no text (Farama-Foundation/Gymnasium#1164).
    """
    if num_envs < 1:
        raise UsageError(f"num_envs must be at least 1; got {num_envs}.")
    workers = [partial(make, name, **settings) for _ in range(num_envs)]
    return AsyncVectorEnv(workers, shared_memory=False, context=context)


def _entry(name: str) -> EnvEntry:
    if name not in _ENTRIES:
        raise UnknownName("environment", name, _ENTRIES)
    return _ENTRIES[name]


def _load(entry_point: str) -> Callable[..., TextEnv]:
    module, _, attribute = entry_point.partition(":")
    try:
        factory: Callable[..., TextEnv] = getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise UsageError(f"no environment at {entry_point!r} (expected module:Class): {error}") from error
    return factory
