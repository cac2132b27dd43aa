"""Makes TextWorld's PDDL engine remember what it would otherwise work out again.

TextWorld parses every text template anew at every step, and translates a game four times before it is played (twice
for a planner that is never asked here). While :func:`tuned` holds, templates are parsed once a process and a game is
translated once. Texts, commands and rules are untouched; afterwards TextWorld is as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any


@contextmanager
def tuned() -> Iterator[None]:
    """Hold it around calls of the engine, one thread at a time: it exchanges parts of TextWorld's modules."""
    argv = sys.argv  # the translator overwrites it
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _replacements()]
    try:
        for owner, name, value in _replacements():
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        sys.argv = argv


class _Remembering:
    """A parser that remembers its last 512 texts (a grammar has some 150); what it returns is only ever read."""

    def __init__(self, parser: Any) -> None:
        self.parse = lru_cache(maxsize=512)(parser.parse)


@cache
def _replacements() -> tuple[tuple[Any, str, Any], ...]:
    import fast_downward
    import textworld.envs.pddl.textgen as templates
    import textworld.logic as conditions

    translate_once = lru_cache(maxsize=1)(fast_downward.pddl2sas)

    def pddl2sas(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
        return translate_once(domain, problem)

    return (
        (templates, "_PARSER", _Remembering(templates._PARSER)),
        (conditions, "_PARSER", _Remembering(conditions._PARSER)),
        (fast_downward, "pddl2sas", pddl2sas),
    )
