"""Reads the file format of a game's texts: TextWorld's PDDL grammar (.twl2), in the part that ALFWorld's games use.

A file holds blocks ``grammar :: \"\"\"JSON\"\"\";`` and entries ``action NAME { template :: "..."; feedback :: "...";
grammar :: ...; }``. The JSON maps a symbol to its alternatives, each with a template (``rhs``) and, optionally, a
``condition``; what stands in these, :mod:`.templates` reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trialogue.envs.household.rules.conditions import Unreadable
from trialogue.envs.household.rules.templates import Query, read_query

_SKIP = r"(?:\s|#[^\n]*(?:\n|$))*"
_FILE = re.compile(
    rf'{_SKIP}(?:grammar{_SKIP}::{_SKIP}"""(?P<grammar>.*?)"""{_SKIP};'
    rf"|action\s+(?P<action>[\w/-]+){_SKIP}\{{)",
    re.DOTALL,
)
_ENTRY = re.compile(
    rf'{_SKIP}(?:(?P<end>\}})|(?P<key>template|feedback|grammar|pddl){_SKIP}::{_SKIP}(?:"""(?P<block>.*?)"""|'
    rf'"(?P<text>[^"]*)"){_SKIP};)',
    re.DOTALL,
)


@dataclass(frozen=True)
class Alternative:
    """One way to say a symbol. ``text`` is not read before it is needed; see :func:`read_template`."""

    text: str
    condition: Query | None


@dataclass(frozen=True)
class Phrases:
    """What an action reads like as a command, and what is told when it was done: both are templates."""

    command: str
    feedback: str


@dataclass(frozen=True)
class Grammar:
    """``symbols`` by name; ``actions`` by name in lower case."""

    symbols: Mapping[str, tuple[Alternative, ...]]
    actions: Mapping[str, Phrases]


def read_grammar(text: str) -> Grammar:
    """Raises Unreadable."""
    symbols: dict[str, tuple[Alternative, ...]] = {}
    actions: dict[str, Phrases] = {}
    end = 0
    while match := _FILE.match(text, end):
        end = match.end()
        if match["action"] is None:
            symbols.update(_symbols(match["grammar"]))
            continue
        entries, end = _entries(text, end)
        if "template" not in entries or "feedback" not in entries:
            raise Unreadable(f"the action {match['action']} needs a template and a feedback")
        actions[match["action"].lower()] = Phrases(entries["template"], entries["feedback"])
        lines = entries.get("grammar", "{}").split("\n")
        symbols.update(_symbols("\n".join(line for line in lines if not line.lstrip().startswith("#"))))
    if re.fullmatch(_SKIP, text[end:]) is None:
        raise Unreadable(f"not a grammar of games, from {text[end:].strip()[:60]!r} on")
    return Grammar(symbols, actions)


def _entries(text: str, end: int) -> tuple[dict[str, str], int]:
    entries: dict[str, str] = {}
    while match := _ENTRY.match(text, end):
        end = match.end()
        if match["end"]:
            return entries, end
        entries[match["key"]] = match["text"] if match["block"] is None else match["block"]
    raise Unreadable(f"expected a template, feedback or grammar, or '}}'; found {text[end : end + 60].strip()!r}")


@lru_cache(maxsize=64)
def _symbols(block: str) -> Mapping[str, tuple[Alternative, ...]]:
    try:
        found = json.loads(block)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"a grammar block is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Unreadable("a grammar block must map symbols to alternatives")
    return {name: tuple(_alternatives(name, entries)) for name, entries in found.items()}


def _alternatives(name: str, entries: Any) -> Iterator[Alternative]:
    for entry in entries if isinstance(entries, list) else ():
        text, condition = (entry.get("rhs"), entry.get("condition", "")) if isinstance(entry, dict) else (None, "")
        if not isinstance(text, str) or not isinstance(condition, str):
            raise Unreadable(f"the symbol {name[:80]!r} needs texts under rhs and condition")
        yield Alternative(text, read_query(condition) if condition else None)
