"""Writes a package with a new environment: a small game that works, to be replaced by one's own.

The package is installed beside this one and found by its entry point (:mod:`trialogue.envs.plugins`).
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template

from trialogue.envs import describe
from trialogue.errors import DataError, UsageError

FILES: Mapping[str, str] = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "{package}.py": "env.py.txt",
    "{name}.yaml": "experiment.yaml.txt",
    "tests/test_{package}.py": "test_env.py.txt",
}
"""What is written, and the template that it is made of."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def new_env(name: str, parent: Path) -> list[Path]:
    """Writes the package of environment ``name`` into the new folder ``parent/trialogue-NAME`` and returns its files.

    Raises UsageError for a name that cannot be, or a folder that is there; DataError when it cannot be written.
    """
    require_name(name)
    words = _words(name)
    folder = parent / words["distribution"]
    if folder.exists():
        raise UsageError(f"{folder} is there already; choose another name or --folder, or delete it.")
    written = []
    for place, template in FILES.items():
        path = folder / place.format_map(words)
        text = Template(resources.files("trialogue.experiments").joinpath("templates", template).read_text("utf-8"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.substitute(words), encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from error
        written.append(path)
    return written


def require_name(name: str) -> None:
    """Raises UsageError unless ``name`` can name an environment, a module and a class that nobody else has."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} cannot name an environment: expected lower-case letters, digits and single underscores, "
            "beginning with a letter, such as card_game."
        )
    taken = {entry.name: entry.package or "trialogue" for entry in describe()}
    if name in taken:
        raise UsageError(f"the environment name {name!r} is taken by {taken[name]}; choose another.")
    if f"{name}_env" in sys.stdlib_module_names:
        raise UsageError(f"{name!r} would hide a module of Python's own; choose another.")


def _words(name: str) -> dict[str, str]:
    return {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "package": f"{name}_env",
        "distribution": f"trialogue-{name.replace('_', '-')}",
    }
