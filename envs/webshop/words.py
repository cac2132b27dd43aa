"""The word lists of ``words.yaml``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml


def word_list(name: str) -> tuple[str, ...]:
    """The words of one list, in the file's order."""
    return tuple(_lists()[name])


@cache
def _lists() -> dict[str, list[str]]:
    text = files(__package__).joinpath("words.yaml").read_text(encoding="utf-8")
    lists: dict[str, list[str]] = yaml.safe_load(text)
    return lists
