"""Environments that other packages bring: what they say of themselves under the entry point group ``trialogue.envs``.

In the other package's ``pyproject.toml``::

    [project.entry-points."trialogue.envs"]
    boxes = "boxes.env:BoxesEnv"            # the name for people, and the class, whose ``name`` must be the same

Finding them imports none of them. Only :func:`load` does, and what goes wrong there is that package's fault alone.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points

from trialogue.envs.contract import TextEnv
from trialogue.errors import UsageError

GROUP = "trialogue.envs"


@dataclass(frozen=True)
class Plugin:
    """One line of a package's entry points; ``package`` is named as installed, with its version."""

    name: str
    entry_point: str
    package: str

    @property
    def gym_id(self) -> str:
        return f"trialogue/{''.join(part.capitalize() for part in self.name.split('_'))}-v0"


def installed() -> list[Plugin]:
    """Every plugin of every installed package, by name and package. Imports nothing."""
    found = {
        Plugin(point.name, point.value, f"{point.dist.name} {point.dist.version}" if point.dist else "(unknown)")
        for point in entry_points(group=GROUP)
    }
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package, plugin.entry_point))


def conflict(rivals: list[Plugin]) -> str:
    """Who claims the one name that ``rivals`` share."""
    claims = " and ".join(f"{plugin.package} ({plugin.entry_point})" for plugin in rivals)
    return f"the environment name {rivals[0].name!r} is claimed by {claims}. Uninstall one, or name it module:Class."


def load(name: str, entry_point: str, package: str) -> type[TextEnv]:
    """The class of a plugin. Raises UsageError, which names the package, for whatever happens in importing it."""
    module, _, attribute = entry_point.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{package} offers {name!r} as {entry_point}: {type(error).__name__}: {error}") from error
    if not (inspect.isclass(found) and issubclass(found, TextEnv)):
        raise UsageError(f"{package} offers {name!r} as {entry_point}: expected a subclass of TextEnv, got {found!r}")
    own = getattr(found, "name", None)
    if own != name:
        raise UsageError(f"{package} offers {name!r} as {entry_point}, whose own name is {own!r}; they must be equal")
    return found


def summary(env: type[TextEnv]) -> str:
    """The first line of what the class says of itself."""
    return (env.__doc__ or "").strip().partition("\n")[0]
