"""Writes a package with a new environment or agent: a small one that works, to be replaced by one's own.

The package is installed beside this one and found by its entry point (:mod:`trialogue.envs.plugins`,
:mod:`trialogue.agents.plugins`).
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from trialogue import agents, envs
from trialogue.errors import DataError, UsageError


@dataclass(frozen=True)
class Kind:
    """What can be begun. ``files`` are what is written, and the template that each is made of.

    ``group`` is that of the entry point and ``object`` what stands there; ``taken`` gives the names that somebody has,
    and whose they are.
    """

    noun: str
    what: str
    suffix: str
    group: str
    object: str
    files: Mapping[str, str]
    taken: Callable[[], Mapping[str, str]]


def _files(suffix: str, prefix: str = "") -> dict[str, str]:
    return {
        "pyproject.toml": "pyproject.toml.txt",
        "README.md": f"{prefix}README.md.txt",
        "{package}.py": f"{suffix}.py.txt",
        "{name}.yaml": f"{prefix}experiment.yaml.txt",
        "tests/test_{package}.py": f"test_{suffix}.py.txt",
    }


ENV = Kind(
    noun="an environment",
    what="A text environment",
    suffix="env",
    group="envs",
    object="{Name}Env",
    files=_files("env"),
    taken=lambda: {entry.name: entry.package or "trialogue" for entry in envs.describe()},
)
AGENT = Kind(
    noun="an agent",
    what="An agent",
    suffix="agent",
    group="agents",
    object="ENTRY",
    files=_files("agent", "agent_"),
    taken=lambda: {info.name: info.package or "trialogue" for info in agents.describe()},
)

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def new_env(name: str, parent: Path) -> list[Path]:
    """Writes the package of environment ``name`` into the new folder ``parent/trialogue-NAME`` and returns its files.

    Raises UsageError for a name that cannot be, or a folder that is there; DataError when it cannot be written.
    """
    return _new(ENV, name, parent)


def new_agent(name: str, parent: Path) -> list[Path]:
    """Writes the package of agent ``name``; as :func:`new_env`."""
    return _new(AGENT, name, parent)


def require_name(name: str, kind: Kind = ENV) -> None:
    """Raises UsageError unless ``name`` can name one of ``kind``, a module and a class that nobody else has."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} cannot name {kind.noun}: expected lower-case letters, digits and single underscores, "
            "beginning with a letter, such as card_game."
        )
    taken = kind.taken()
    if name in taken:
        noun = kind.noun.partition(" ")[2]
        raise UsageError(f"the {noun} name {name!r} is taken by {taken[name]}; choose another.")
    if f"{name}_{kind.suffix}" in sys.stdlib_module_names:
        raise UsageError(f"{name!r} would hide a module of Python's own; choose another.")


def _new(kind: Kind, name: str, parent: Path) -> list[Path]:
    require_name(name, kind)
    words = _words(kind, name)
    folder = parent / words["distribution"]
    if folder.exists():
        raise UsageError(f"{folder} is there already; choose another name or --folder, or delete it.")
    written = []
    for place, template in kind.files.items():
        path = folder / place.format_map(words)
        text = Template(resources.files("trialogue.experiments").joinpath("templates", template).read_text("utf-8"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.substitute(words), encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from error
        written.append(path)
    return written


def _words(kind: Kind, name: str) -> dict[str, str]:
    words = {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "package": f"{name}_{kind.suffix}",
        "distribution": f"trialogue-{name.replace('_', '-')}",
        "what": kind.what,
        "group": kind.group,
    }
    return words | {"object": kind.object.format_map(words)}
