"""Reads the templates of a game's texts, and the queries in them.

A template mixes

* plain text,
* ``#symbol#``, replaced by the symbol's first alternative whose condition holds,
* ``{o.name}``, ``{o.indefinite + ' ' + o.name}``, ``{r.name or r.id}``: what things are called,
* ``{... | query}``: once for each answer to a query such as ``holds(a:agent, o:object)``,
* ``[{... | query}]``: the same, as a list in words (``list_separator``, ``list_last_separator``, ``list_empty``).

TextWorld evaluates what stands in braces as Python; here anything but the forms above is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from trialogue.envs.household.rules.conditions import Literal, Typed, Unreadable


@dataclass(frozen=True)
class Called:
    """The name, id, definite or indefinite article of the thing that ``variable`` stands for."""

    variable: str
    attribute: str


@dataclass(frozen=True)
class Value:
    """The first of ``choices`` that is not empty; each is the concatenation of its terms."""

    choices: tuple[tuple[Called | str, ...], ...]


@dataclass(frozen=True)
class Symbol:
    """``#name#``."""

    name: str


@dataclass(frozen=True)
class Query:
    """All of ``literals``; ``placeholders`` are their terms, with types."""

    literals: tuple[Literal, ...]
    placeholders: tuple[Typed, ...]


@dataclass(frozen=True)
class Each:
    """``part`` for each answer to ``query`` (once where there is none to ask); ``listed`` in words."""

    part: Symbol | Value
    query: Query | None
    listed: bool


Template: TypeAlias = tuple[str | Symbol | Each, ...]


_PIECE = re.compile(
    r"(?P<plain>[^;|\"<>\[\]#{}\t]+)"
    r"|\#(?P<symbol>[\w()/!<>\- ,.]+)\#"
    r"|(?P<open>\[?)\{\s*(?:\#(?P<inner>[\w()/!<>\- ,.]+)\#|(?P<value>[^|\[\]{}\n<>#]+?))"
    r"\s*(?:\|\s*(?P<query>[^;|{}\n\[\]#]+?)\s*)?\}(?P<close>\]?)"
)
_TERM = r"(?:\w+(?:\.(?:name|id|definite|indefinite))?|'[^'\\]*'|\"[^\"\\]*\")"
_VALUE = re.compile(rf"{_TERM}(?:\s*(?:\+|\bor\b)\s*{_TERM})*")
_TERMS = re.compile(_TERM)
_ATOM = re.compile(r"([a-z]\w*(?:-\w+)*)\(([^()]*)\)")
_PLACEHOLDER = re.compile(r"([a-z]\w*)\s*:\s*([a-z]\w*)")


@lru_cache(maxsize=1024)
def read_template(text: str) -> Template:
    """Raises Unreadable. White space at the start of a text is left out, as TextWorld's parser does."""
    parts: list[str | Symbol | Each] = []
    text = text.lstrip()
    if text.startswith("//"):
        raise Unreadable(f"a comment in a text: {text[:80]!r}")
    end = 0
    while match := _PIECE.match(text, end):
        end = match.end()
        if match["plain"]:
            parts.append(match["plain"])
        elif match["symbol"]:
            parts.append(Symbol(match["symbol"]))
        else:
            parts.append(_each(match))
    if end < len(text):
        raise Unreadable(f"a template with {text[end : end + 40]!r}, which is not understood")
    return tuple(parts)


def _each(match: re.Match[str]) -> Each:
    if bool(match["open"]) != bool(match["close"]):
        raise Unreadable(f"a list without its end: {match[0][:80]!r}")
    part = Symbol(match["inner"]) if match["inner"] else _value(match["value"])
    return Each(part, read_query(match["query"]) if match["query"] else None, bool(match["open"]))


def _value(text: str) -> Value:
    if not _VALUE.fullmatch(text) or "__" in text:
        raise Unreadable(
            f"the grammar asks to evaluate {text[:80]!r}, but only names such as {{o.name}} may stand in braces; this "
            "is not a game of ALFWorld's, and nothing of it was run"
        )
    choices: list[tuple[Called | str, ...]] = [()]
    for term in _TERMS.findall(text):
        if term == "or":
            choices.append(())
        else:
            choices[-1] += (_term(term),)
    return Value(tuple(choices))


def _term(term: str) -> Called | str:
    if term[0] in "'\"":
        return term[1:-1]
    variable, _, attribute = term.partition(".")
    return Called(variable, attribute or "name")


@lru_cache(maxsize=1024)
def read_query(text: str) -> Query:
    """Reads ``holds(a:agent, o:object) & ...``. Raises Unreadable."""
    literals = []
    placeholders: dict[tuple[str, str], None] = {}
    for atom in text.split("&"):
        match = _ATOM.fullmatch(atom.strip())
        terms = [_PLACEHOLDER.fullmatch(term.strip()) for term in match[2].split(",")] if match else [None]
        if match is None or None in terms:
            raise Unreadable(f"a query {atom.strip()[:80]!r}; expected such as holds(a:agent, o:object)")
        named = [(term[1], term[2]) for term in terms if term]
        placeholders.update(dict.fromkeys(named))
        literals.append(Literal(match[1], tuple(f"{name}:{type}" for name, type in named)))
    return Query(tuple(literals), tuple(Typed(f"{name}:{type}", type) for name, type in placeholders))
