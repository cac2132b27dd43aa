"""Environments by name. Naming one never imports its simulator: an entry is a name and a dotted entry point.

Other packages bring theirs by the entry point group ``trialogue.envs``; see :mod:`trialogue.envs.plugins`.

Every entry is known to Gymnasium too: ``gymnasium.make("trialogue/Household-v0")``. In a process that has not imported
this package (a spawned worker) write ``gymnasium.make("trialogue.envs:trialogue/Household-v0")``, which does so first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv

from trialogue.envs import plugins
from trialogue.envs.contract import TextEnv
from trialogue.errors import UnknownName, UsageError


@dataclass(frozen=True)
class EnvEntry:
    """``name`` for people, ``entry_point`` as "module:Class", ``gym_id`` for Gymnasium, ``summary`` one line.

    ``package`` is the one that brings it, "" for this one; ``error`` says why it cannot be made, "" if it can.
    """

    name: str
    entry_point: str
    gym_id: str
    summary: str
    package: str = ""
    error: str = ""


_ENTRIES: dict[str, EnvEntry] = {}
_REFUSED: list[EnvEntry] = []
"""What other packages offer under a name that is taken."""


def register(name: str, entry_point: str, gym_id: str, summary: str) -> None:
    """Makes an environment known here and to Gymnasium. UsageError if the name is taken by another entry point."""
    known = _ENTRIES.get(name)
    if known is not None and not known.package and known.entry_point != entry_point:
        raise UsageError(f"the environment name {name!r} is taken by {known.entry_point}; choose another.")
    _add(EnvEntry(name, entry_point, gym_id, summary))
    if known is not None and known.package:
        register_installed()  # what another package offers under this name is refused from now on


def register_installed() -> None:
    """Makes the environments of other packages known. A name that two claim, or that is taken, is refused to them."""
    _REFUSED.clear()
    for name in [entry.name for entry in _ENTRIES.values() if entry.package]:
        del _ENTRIES[name]
    for name, group in groupby(plugins.installed(), key=lambda plugin: plugin.name):
        offers = list(group)
        own = [plugins.Plugin(name, _ENTRIES[name].entry_point, "trialogue")] if name in _ENTRIES else []
        error = plugins.conflict([*own, *offers]) if len([*own, *offers]) > 1 else ""
        for offer in offers:
            entry = EnvEntry(name, offer.entry_point, offer.gym_id, "", offer.package, error)
            _REFUSED.append(entry) if error else _add(entry)


def names() -> tuple[str, ...]:
    """The names that :func:`make` answers to, sorted."""
    return tuple(sorted(_ENTRIES))


def describe(name: str | None = None) -> tuple[EnvEntry, ...]:
    """The entries, or the one of ``name``. Raises UnknownName.

    Those of other packages are imported to see what they say of themselves; one that cannot be has its ``error`` set.
    """
    if name is not None:
        return (_told(_entry(name)),)
    return tuple(_told(entry) for entry in sorted((*_ENTRIES.values(), *_REFUSED), key=lambda entry: entry.name))


def make(name: str, **settings: Any) -> TextEnv:
    """The environment ``name`` itself, without Gymnasium's wrappers; "module:Class" names one that is not registered.

    Raises UnknownName, with the nearest known, for an environment or a setting that does not exist.
    """
    factory = _load(name) if ":" in name else _factory(_entry(name))
    known = inspect.signature(factory).parameters
    for setting in settings:
        if setting not in known:
            raise UnknownName(f"setting of {name}", setting, known)
    return factory(**settings)


def make_vec(name: str, num_envs: int, *, context: str | None = None, **settings: Any) -> AsyncVectorEnv:
    """``num_envs`` environments, each in a process of its own (start method ``context``, e.g. "spawn").

    Shared memory is off: Gymnasium's copies no text (Farama-Foundation/Gymnasium#1164). ``step`` takes ``num_envs``
    actions, and raises UsageError for anything else; one text alone would be dealt out letter by letter.
    """
    if num_envs < 1:
        raise UsageError(f"num_envs must be at least 1; got {num_envs}.")
    workers = [partial(make, name, **settings) for _ in range(num_envs)]
    return _TextVector(workers, shared_memory=False, context=context)


class _TextVector(AsyncVectorEnv):
    """Refuses what is not one text for each environment, before any of them is told to step."""

    def step_async(self, actions: Any) -> None:
        expected = f"expected a sequence of num_envs={self.num_envs} actions (text)"
        if isinstance(actions, str):
            raise UsageError(f"{expected}, got one str {actions[:80]!r}; wrap it: [action] * {self.num_envs}.")
        if not isinstance(actions, Iterable):
            raise UsageError(f"{expected}, got {type(actions).__name__}.")
        listed = tuple(actions)
        if len(listed) != self.num_envs:
            raise UsageError(f"{expected}, got {len(listed)}.")
        for number, action in enumerate(listed):
            if not isinstance(action, str):
                raise UsageError(f"{expected}, got {type(action).__name__} for environment {number}.")
        super().step_async(listed)


def _add(entry: EnvEntry) -> None:
    _ENTRIES[entry.name] = entry
    spec = gymnasium.registry.get(entry.gym_id)
    if spec is None or spec.entry_point != entry.entry_point:
        gymnasium.registry.pop(entry.gym_id, None)
        gymnasium.register(id=entry.gym_id, entry_point=entry.entry_point)


def _entry(name: str) -> EnvEntry:
    if name not in _ENTRIES:
        for refused in _REFUSED:
            if refused.name == name:
                raise UsageError(refused.error)
        raise UnknownName("environment", name, _ENTRIES)
    return _ENTRIES[name]


def _told(entry: EnvEntry) -> EnvEntry:
    """``entry`` with the summary, or the error, that only importing it can tell."""
    if not entry.package or entry.error:
        return entry
    try:
        return replace(entry, summary=plugins.summary(plugins.load(entry.name, entry.entry_point, entry.package)))
    except UsageError as error:
        return replace(entry, error=str(error))


def _factory(entry: EnvEntry) -> Callable[..., TextEnv]:
    if entry.package:
        return plugins.load(entry.name, entry.entry_point, entry.package)
    return _load(entry.entry_point)


def _load(entry_point: str) -> Callable[..., TextEnv]:
    module, _, attribute = entry_point.partition(":")
    try:
        factory: Callable[..., TextEnv] = getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise UsageError(f"no environment at {entry_point!r} (expected module:Class): {error}") from error
    return factory
