"""Conditions as joins: compiled once for a set of rules, run over the facts of the moment.

A :class:`Join` extends rows. A row is a tuple of names; which variable stands where is decided when the join is
compiled. Every step takes all rows so far and gives those that go on, so that results keep the order of the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

from trialogue.envs.household.rules.conditions import (
    EQUAL,
    ROOT,
    Condition,
    Every,
    Exists,
    Literal,
    Typed,
    Unreadable,
    parts_of,
)
from trialogue.envs.household.rules.facts import Facts, Row, key_at, row_at

Step = Callable[[Sequence[Row], Facts], Sequence[Row]]
Test = Callable[[Row, Facts], bool]


def type_fact(type: str) -> str:
    """The predicate that holds of the things of ``type``; no predicate in a file can have this name."""
    return f"type {type}"


class Join:
    """``scope`` says which term stands where in the resulting rows; ``reads`` which predicates decide them.

    Rows start with the values of ``given``, in order, followed by the constants of the condition.
    """

    def __init__(self, given: Sequence[str], constants: Sequence[str] = ()) -> None:
        self.scope: dict[str, int] = {}
        for term in (*given, *constants):
            self.scope[term] = len(self.scope)
        self.reads: set[str] = set()
        self._constants = tuple(constants)
        self._steps: list[Step] = []

    def rows(self, facts: Facts, given: Row = ()) -> Sequence[Row]:
        rows: Sequence[Row] = (given + self._constants,)
        for step in self._steps:
            if not rows:
                break
            rows = step(rows, facts)
        return rows

    def where(self, test: Test) -> None:
        self._steps.append(lambda rows, facts: [row for row in rows if test(row, facts)])

    def match(self, literal: Literal, distinct: bool = False) -> list[str]:
        """Extends rows by what makes ``literal`` true; returns the variables that it binds.

        ``distinct``: what is newly bound must be unlike all that a row holds already.
        """
        terms = literal.terms
        new = [term for term in terms if term not in self.scope]
        if len(set(new)) < len(new):
            raise Unreadable(f"{literal.predicate} with the same variable twice")
        self.reads.add(literal.predicate)
        if not new:
            self._steps.append(_keep(literal.predicate, row_at([self.scope[term] for term in terms])))
            return new
        known = tuple(i for i, term in enumerate(terms) if term in self.scope)
        key, extra = key_at([self.scope[terms[i]] for i in known]), row_at([terms.index(term) for term in new])
        self._steps.append(_extend(literal.predicate, known, key, extra))
        if distinct:
            width = len(self.scope)
            self.where(lambda row, facts: len(set(row)) == len(set(row[:width])) + len(new))
        for term in new:
            self.scope[term] = len(self.scope)
        return new


def _extend(predicate: str, known: tuple[int, ...], key: Callable[[Row], object], extra: Callable[[Row], Row]) -> Step:
    def step(rows: Sequence[Row], facts: Facts) -> Sequence[Row]:
        index = facts.index(predicate, known)
        return [row + extra(fact) for row in rows for fact in index.get(key(row), ())]

    return step


def _keep(predicate: str, terms: Callable[[Row], Row]) -> Step:
    def step(rows: Sequence[Row], facts: Facts) -> Sequence[Row]:
        true = facts.rows(predicate)
        return [row for row in rows if terms(row) in true]

    return step


def held(literal: Literal, scope: Mapping[str, int]) -> Test:
    """Whether ``literal``, all of whose terms are in ``scope``, holds."""
    places = [scope[term] for term in literal.terms]
    positive, predicate, terms = literal.positive, literal.predicate, row_at(places)
    if predicate == EQUAL:
        left, right = places
        return lambda row, facts: (row[left] == row[right]) == positive
    return lambda row, facts: (terms(row) in facts.rows(predicate)) == positive


def join(condition: Condition, given: Sequence[str], wanted: Sequence[Typed], fluents: frozenset[str]) -> Join:
    """All ways to bind ``wanted`` (and what is quantified) so that ``condition`` holds, ``given`` being bound.

    What holds of few things is looked up first: facts that change, then facts about what is bound already.
    """
    types = {variable.name: variable.type for variable in wanted}
    parts = list(_flat(condition, types))
    result = Join(given, [name for name in constants_of(parts) if name not in given])
    literals = [part for part in parts if _generates(part)]
    others = [part for part in parts if not _generates(part)]
    while True:
        others = [part for part in others if not _tested(part, result, fluents)]
        if literals:
            literal = min(literals, key=lambda literal: _cost(literal, result, fluents))
            literals.remove(literal)
        elif unbound := [name for name in types if name not in result.scope]:
            literal = _is_a(types, unbound[0])
        else:
            return result
        for name in result.match(literal):
            if types[name] != ROOT:
                result.match(_is_a(types, name))


def _is_a(types: dict[str, str], name: str) -> Literal:
    return Literal(type_fact(types[name]), (name,))


def _flat(condition: Condition, types: dict[str, str]) -> Iterator[Condition]:
    """The conjuncts, those below "exists" among them; adds what that quantifies to ``types``."""
    for part in parts_of(condition):
        if isinstance(part, Exists) and part.positive:
            types.update((variable.name, variable.type) for variable in part.variables)
            yield from _flat(part.part, types)
        else:
            yield part


def _generates(part: Condition) -> TypeGuard[Literal]:
    return isinstance(part, Literal) and part.positive and part.predicate != EQUAL


def _cost(literal: Literal, result: Join, fluents: frozenset[str]) -> tuple[bool, bool, int]:
    new = sum(term not in result.scope for term in literal.terms)
    alone = new == len(literal.terms)
    return alone, alone and literal.predicate not in fluents, new


def _tested(part: Condition, result: Join, fluents: frozenset[str]) -> bool:
    """Makes ``part`` a test of ``result`` if all of its variables have a place."""
    if not _terms(part) <= result.scope.keys():
        return False
    result.where(holds(part, result.scope, result.reads, fluents))
    return True


def holds(condition: Condition, scope: Mapping[str, int], reads: set[str], fluents: frozenset[str]) -> Test:
    """Whether ``condition`` holds of a row laid out as ``scope`` says now. ``reads`` gets what it asks for."""
    if isinstance(condition, Literal):
        reads.add(condition.predicate)
        return held(condition, scope)
    if isinstance(condition, Exists):
        found = join(condition.part, list(scope), condition.variables, fluents)
        reads |= found.reads
        positive = condition.positive
        return lambda row, facts: bool(found.rows(facts, row)) == positive
    tests = [holds(part, scope, reads, fluents) for part in condition.parts]
    combine = all if isinstance(condition, Every) else any
    return lambda row, facts: combine(test(row, facts) for test in tests)


def _terms(condition: Condition) -> set[str]:
    """The variables and constants of ``condition`` that it does not quantify itself."""
    if isinstance(condition, Literal):
        return set(condition.terms)
    if isinstance(condition, Exists):
        return _terms(condition.part) - {variable.name for variable in condition.variables}
    return set().union(*map(_terms, condition.parts))


def constants_of(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """The names of things in ``conditions``, sorted."""
    return tuple(sorted({term for part in conditions for term in _terms(part) if not term.startswith("?")}))
