"""The command language of household games: its two dialects, and the check that a grammar is only text.

A game carries its own domain (PDDL) and grammar (TextWorld's .twl2, rules with templates in braces). The reference
engine *evaluates* what stands in the braces, so a game file from elsewhere could run code there. :func:`require_plain`
lets through only what real games use (names, articles, and how they are joined), checked on the parsed rules, before
anything is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from trialogue.envs.household import package
from trialogue.errors import DataError, EnvError, UnknownName

DIALECTS = {"move": "move {object} to {receptacle}", "put": "put {object} in/on {receptacle}"}
"""How an object is put down: in the games that alfworld 0.4 makes, and in those of json_2.1.1."""

GOAL = "UNKNOWN GOAL."
"""What the goal reads in the packaged grammar."""

_PUT_RULES = {"move {o} to {r}": "move", "put {o} in/on {r}": "put"}

_VERBS = (
    "look",
    "inventory",
    "go to {receptacle}",
    "open {receptacle}",
    "close {receptacle}",
    "take {object} from {receptacle}",
    "examine {something}",
    "use {object}",
    "heat {object} with {receptacle}",
    "clean {object} with {receptacle}",
    "cool {object} with {receptacle}",
    "slice {object} with {object}",
)

_TERM = r"(?:\w+(?:\.(?:name|id|definite|indefinite))?|'[^'\\]*'|\"[^\"\\]*\")"
_PLAIN = re.compile(rf"\s*{_TERM}(?:\s*(?:\+|\bor\b)\s*{_TERM})*\s*")


def templates(dialect: str) -> tuple[str, ...]:
    """The command templates of ``dialect`` ("move" or "put"); raises UnknownName for any other."""
    require_dialect(dialect)
    extra = ("help",) if dialect == "move" else ()
    return (*_VERBS[:6], DIALECTS[dialect], *_VERBS[6:], *extra)


def require_dialect(dialect: str) -> None:
    if dialect not in DIALECTS:
        raise UnknownName("dialect", dialect, DIALECTS)


def dialect_of(grammar: str, source: str) -> str:
    """The dialect that the text of a grammar speaks; DataError, naming ``source``, when it is neither."""
    rule = re.search(r'action\s+PutObject\s*\{\s*template\s*::\s*"([^"]*)"', grammar)
    if rule is None or rule.group(1) not in _PUT_RULES:
        found = "no PutObject action" if rule is None else f"the template {rule.group(1)!r}"
        raise DataError(f"{source}: the grammar must put objects down by one of {sorted(_PUT_RULES)}; found {found}.")
    return _PUT_RULES[rule.group(1)]


def packaged(dialect: str) -> tuple[str, str]:
    """Domain and grammar for new games of ``dialect``, made from those that the alfworld package carries.

    The goal reads :data:`GOAL`. json_2.1.1 differs in five places; a package in which these are
    not found is refused (EnvError) rather than half translated.
    """
    require_dialect(dialect)
    domain, grammar = package.text("data", "alfred.pddl"), package.text("data", "alfred.twl2")
    if dialect == "move":
        return domain, grammar
    for new, old in (
        ("You arrive at {r.name}.", "You arrive at {lend.name}."),
        ("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."),
        ('"move {o} to {r}"', '"put {o} in/on {r}"'),
    ):
        if new not in grammar:
            raise EnvError(f"alfworld's grammar lacks {new!r}; install alfworld 0.4.2 or later in the 0.4 series.")
        grammar = grammar.replace(new, old)
    return _without_help(domain, r"\(:action help\b.*\n\)\n"), _without_help(grammar, r"action help \{.*\n\}\n")


def _without_help(text: str, pattern: str) -> str:
    return re.sub(pattern, "", text, count=1, flags=re.DOTALL) + (")\n" if text.startswith(";;") else "")


def require_plain(rules: Iterable[Any], source: str) -> None:
    """Raises DataError, naming ``source``, if a rule (a list of parsed symbols) would evaluate more than names."""
    for expression in (e for symbols in rules for symbol in symbols for e in _expressions(symbol)):
        if not _PLAIN.fullmatch(expression) or "__" in expression:
            raise DataError(
                f"{source}: the grammar asks to evaluate {expression[:80]!r}, but only names such as {{o.name}} may "
                "stand in braces; this is not a game of ALFWorld's, and nothing of it was run."
            )


def _expressions(symbol: Any) -> Iterator[str]:
    """Every Python expression below a TextWorld grammar symbol."""
    if hasattr(symbol, "given"):
        yield from _expressions(symbol.expression)
    elif hasattr(symbol, "expression"):
        yield symbol.expression
    elif hasattr(symbol.symbol, "symbol"):
        yield from _expressions(symbol.symbol)
