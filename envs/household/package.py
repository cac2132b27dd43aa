"""What the alfworld package carries: rules, texts, room lists and constants, read as data.

Generated games are made of them; real games bring their own. The package is pure Python, but asks for TextWorld, which
has to be compiled and is not needed here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from trialogue.errors import MissingExtra


@cache
def text(*path: str) -> str:
    """The text of a file of the package, such as ("data", "alfred.pddl"). Raises MissingExtra."""
    try:
        return files("alfworld").joinpath(*path).read_text(encoding="utf-8")
    except ModuleNotFoundError as error:
        raise _missing() from error


@cache
def constants() -> Any:
    """The module that says what may hold what and what can be done with what. Raises MissingExtra."""
    try:
        return import_module("alfworld.gen.constants")
    except ModuleNotFoundError as error:
        raise _missing() from error


def _missing() -> MissingExtra:
    return MissingExtra(
        "a generated household game",
        "alfworld",
        "reference",
        "Without TextWorld, which takes a C++ compiler, it does too: pip install --no-deps alfworld",
    )
