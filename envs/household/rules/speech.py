"""Says what a grammar says: templates compiled to functions of a row and the facts of the moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trialogue.envs.household.rules.conditions import ROOT, Literal, Unreadable
from trialogue.envs.household.rules.facts import Facts, Row
from trialogue.envs.household.rules.joins import Join, type_fact
from trialogue.envs.household.rules.templates import (
    Called,
    Each,
    Query,
    Symbol,
    Template,
    Value,
    read_template,
)
from trialogue.envs.household.rules.twl2 import Grammar

Names = Mapping[str, str]
"""What things are called, by id."""

Scope = tuple[str, ...]
"""Which placeholder (``o:object``) stands where in a row."""

Say = Callable[[Row, Facts, Names], str]


class Speaker:
    """Compiles templates of ``grammar``; ``reads`` are the predicates that decide what it has compiled so far says.

    As TextWorld does, a query binds what is not bound already, to things unlike all that are bound.
    """

    def __init__(self, grammar: Grammar, types: Mapping[str, frozenset[str]]) -> None:
        self._grammar, self._types = grammar, types
        self._said: dict[tuple[str, Scope], Say] = {}
        self._saying: list[str] = []
        self.reads: set[str] = set()

    def text(self, template: str, scope: Scope) -> Say:
        """Raises Unreadable for a template, or a symbol below it, that cannot be read or is missing."""
        return self._sequence(read_template(template), scope)

    def _sequence(self, template: Template, scope: Scope) -> Say:
        parts = [self._part(part, scope) for part in template]
        if len(parts) == 1:
            return parts[0]
        return lambda row, facts, names: "".join([part(row, facts, names) for part in parts])

    def _part(self, part: str | Symbol | Each, scope: Scope) -> Say:
        if isinstance(part, str):
            return lambda row, facts, names: part
        return self._symbol(part.name, scope) if isinstance(part, Symbol) else self._each(part, scope)

    def _symbol(self, name: str, scope: Scope) -> Say:
        """The first alternative whose condition holds; there is none where the game's grammar is incomplete."""
        if (name, scope) not in self._said:
            if name in self._saying or name not in self._grammar.symbols:
                raise Unreadable(f"the grammar's #{name[:80]}# is {'circular' if name in self._saying else 'missing'}")
            self._saying.append(name)
            self._said[name, scope] = self._alternatives(name, scope)
            self._saying.pop()
        return self._said[name, scope]

    def _alternatives(self, name: str, scope: Scope) -> Say:
        cases = [
            (None if case.condition is None else self._query(case.condition, scope), self.text(case.text, scope))
            for case in self._grammar.symbols[name]
        ]

        def say(row: Row, facts: Facts, names: Names) -> str:
            for query, text in cases:
                if query is None or query.rows(facts, row):
                    return text(row, facts, names)
            raise LookupError(f"no alternative of #{name}# applies")

        return say

    def _each(self, each: Each, scope: Scope) -> Say:
        query = None if each.query is None else self._query(each.query, scope)
        inner = scope if query is None else tuple(query.scope)
        part = self._symbol(each.part.name, inner) if isinstance(each.part, Symbol) else _value(each.part, inner)

        def texts(row: Row, facts: Facts, names: Names) -> list[str]:
            rows: Sequence[Row] = (row,) if query is None else query.rows(facts, row)
            return [part(found, facts, names) for found in rows]

        if each.listed:
            return self._listed(texts, scope)
        return part if query is None else lambda row, facts, names: "".join(texts(row, facts, names))

    def _listed(self, texts: Callable[[Row, Facts, Names], list[str]], scope: Scope) -> Say:
        empty, between, last = (
            self._symbol(f"list_{name}", scope) for name in ("empty", "separator", "last_separator")
        )

        def say(row: Row, facts: Facts, names: Names) -> str:
            *others, end = texts(row, facts, names) or [empty(row, facts, names)]
            if not others:
                return end
            return between(row, facts, names).join(others) + last(row, facts, names) + end

        return say

    def _query(self, query: Query, scope: Scope) -> Join:
        types = {placeholder.name: placeholder.type for placeholder in query.placeholders}
        if unknown := set(types.values()) - self._types.keys():
            raise Unreadable(f"a query asks for the type {min(unknown)[:80]!r}, which is not declared")
        found = Join(scope)
        for literal in query.literals:
            for name in found.match(literal, distinct=True):
                if types[name] != ROOT:
                    found.match(Literal(type_fact(types[name]), (name,)))
        self.reads |= found.reads
        return found


def _value(value: Value, scope: Scope) -> Say:
    choices = [[_term(term, scope) for term in choice] for choice in value.choices]
    if len(choices) == len(choices[0]) == 1:
        return choices[0][0]

    def say(row: Row, facts: Facts, names: Names) -> str:
        for choice in choices:
            if text := "".join([term(row, facts, names) for term in choice]):
                break
        return text

    return say


def _term(term: Called | str, scope: Scope) -> Say:
    if isinstance(term, str):
        return lambda row, facts, names: term
    places = [place for place, name in enumerate(scope) if name.split(":")[0] == term.variable]
    if not places:
        raise Unreadable(f"the grammar speaks of {term.variable[:80]!r}, which stands for nothing there")
    place = places[-1]
    if term.attribute == "name":
        return lambda row, facts, names: names[row[place]]
    if term.attribute == "id":
        return lambda row, facts, names: row[place]
    article = {"definite": "the", "indefinite": "a"}[term.attribute]
    return lambda row, facts, names: article
