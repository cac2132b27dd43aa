"""Agents that other packages bring: what they say of themselves under the entry point group ``trialogue.agents``.

In the other package's ``pyproject.toml``::

    [project.entry-points."trialogue.agents"]
    careful = "careful.agent:ENTRY"         # the name for people, and an AgentEntry

Finding them imports none of them. Only :func:`load` does, and what goes wrong there is that package's fault alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points

from trialogue.errors import UsageError

GROUP = "trialogue.agents"


@dataclass(frozen=True)
class Plugin:
    """One line of a package's entry points; ``package`` is named as installed, with its version."""

    name: str
    entry_point: str
    package: str


def installed() -> list[Plugin]:
    """Every plugin of every installed package, by name and package. Imports nothing."""
    found = {
        Plugin(point.name, point.value, f"{point.dist.name} {point.dist.version}" if point.dist else "(unknown)")
        for point in entry_points(group=GROUP)
    }
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package, plugin.entry_point))


def conflict(plugin: Plugin, own: bool) -> str:
    """Who else claims the name of ``plugin``, "" if nobody does; ``own`` says that this package has it."""
    rivals = [f"{p.package} ({p.entry_point})" for p in installed() if p.name == plugin.name]
    claims = ["trialogue"] * own + rivals
    if len(claims) == 1:
        return ""
    return (
        f"the agent name {plugin.name!r} is claimed by {' and '.join(claims)}. Uninstall one, or name it module:ENTRY."
    )


def load(entry_point: str, offer: str) -> object:
    """What stands at ``entry_point``. Raises UsageError, beginning with ``offer``, for whatever importing it does."""
    module, _, attribute = entry_point.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{offer}: {type(error).__name__}: {error}") from error
