"""Reads PDDL: the domain and the problem of a game.

The part of the language that ALFWorld's games use: typing, and/or/not/imply/exists/forall in conditions, and/not/when
in effects, costs (read and left out). Whatever else is found raises Unreadable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from trialogue.envs.household.rules.conditions import (
    ALWAYS,
    EQUAL,
    ROOT,
    Action,
    Condition,
    Domain,
    Effect,
    Every,
    Exists,
    Fact,
    Literal,
    Problem,
    Some,
    Typed,
    Unreadable,
)
from trialogue.envs.household.rules.lists import Expression, exactly, list_of, nested, typed_list, word_of

Names: TypeAlias = Mapping[str, str]
"""What a variable that may be used is called inside, where every quantifier's are unlike all others."""


@lru_cache(maxsize=8)
def read_domain(text: str) -> Domain:
    """Raises Unreadable."""
    sections, actions = _sections(text, "domain")
    types = _types(typed_list(sections.get(":types", [])))
    arity = {_head(entry): len(typed_list(entry[1:])) for entry in map(list_of, sections.get(":predicates", []))}
    reader = _Reader(types, arity)
    constants = tuple(reader.known(typed_list(sections.get(":constants", []))))
    return Domain(types, arity, constants, tuple(reader.action(action) for action in actions))


def read_problem(text: str, domain: Domain) -> Problem:
    """Raises Unreadable."""
    sections, rest = _sections(text, "problem")
    if rest:
        raise Unreadable("a problem has no actions")
    reader = _Reader(domain.types, domain.arity)
    listed = (*domain.constants, *reader.known(typed_list(sections.get(":objects", []))))
    things = {thing.name: thing.type for thing in listed}
    if len(things) < len(listed):
        raise Unreadable("a thing is listed twice")
    facts, named = _initial(sections.get(":init", []), reader, things)
    goals = sections.get(":goal", [])
    if len(goals) != 1:
        raise Unreadable(f"expected one :goal; found {len(goals)}")
    return Problem(things, facts, named, reader.condition(goals[0], {}))


class _Reader:
    """Reads conditions and effects that use declared types and predicates only."""

    def __init__(self, types: Mapping[str, frozenset[str]], arity: Mapping[str, int]) -> None:
        self.types, self.arity = types, arity
        self._quantified = 0

    def known(self, listed: Sequence[Typed]) -> Sequence[Typed]:
        for entry in listed:
            if entry.type not in self.types:
                raise Unreadable(f"{entry.name[:80]!r} is of the type {entry.type[:80]!r}, which is not declared")
        return listed

    def action(self, section: list[Expression]) -> Action:
        if len(section) < 2 or len(section) % 2:
            raise Unreadable("an action is a name, and keys with values")
        name = word_of(section[1])
        keys = {word_of(key): value for key, value in zip(section[2::2], section[3::2], strict=True)}
        if unknown := set(keys) - {":parameters", ":precondition", ":effect"}:
            raise Unreadable(f"action {name}: not understood: {sorted(unknown)}")
        parameters = tuple(self.known(typed_list(keys.get(":parameters", []))))
        names = {parameter.name: parameter.name for parameter in parameters}
        condition = self.condition(keys.get(":precondition", []), names)
        return Action(name, parameters, condition, tuple(self.effects(keys.get(":effect", []), names)))

    def condition(self, expression: Expression, names: Names, positive: bool = True) -> Condition:
        """Negations are moved inwards, to the literals and the quantifiers, whose variables get names of their own."""
        if not (entry := list_of(expression)):
            return ALWAYS
        match entry[0]:
            case "not":
                return self.condition(exactly(entry, 2)[0], names, not positive)
            case "and" | "or":
                parts = tuple(self.condition(part, names, positive) for part in entry[1:])
                return _junction(parts, (entry[0] == "and") == positive)
            case "imply":
                given, then = exactly(entry, 3)
                parts = (self.condition(given, names, not positive), self.condition(then, names, positive))
                return _junction(parts, not positive)
            case "exists" | "forall":
                variables, part = exactly(entry, 3)
                some = entry[0] == "exists"
                self._quantified += 1
                own = {variable.name: f"{variable.name}/{self._quantified}" for variable in typed_list(variables)}
                inner = self.condition(part, {**names, **own}, some)
                # An undeclared type is one of which there is nothing, as in the translator: ALFWorld's examineObject
                # speaks of a "location,", and players cannot examine what they do not hold.
                bound = tuple(Typed(own[variable.name], variable.type) for variable in typed_list(variables))
                return Exists(bound, inner, some == positive)
        return self.literal(entry, names, positive)

    def literal(self, entry: list[Expression], names: Names, positive: bool) -> Literal:
        predicate, terms = self.fact(entry)
        for term in terms:
            if term.startswith("?") and term not in names:
                raise Unreadable(f"the variable {term[:80]} is not declared")
        return Literal(predicate, tuple(names.get(term, term) for term in terms), positive)

    def fact(self, entry: list[Expression]) -> Fact:
        predicate, *terms = map(word_of, entry or [""])
        arity = 2 if predicate == EQUAL else self.arity.get(predicate)
        if arity != len(terms):
            expected = "no such predicate is declared" if arity is None else f"it takes {arity} terms"
            raise Unreadable(f"({' '.join([predicate, *terms])[:80]}): {expected}")
        return predicate, tuple(terms)

    def effects(self, expression: Expression, names: Names, condition: Condition = ALWAYS) -> Iterator[Effect]:
        if not (entry := list_of(expression)):
            return
        match entry[0]:
            case "and":
                for part in entry[1:]:
                    yield from self.effects(part, names, condition)
            case "when":
                given, then = exactly(entry, 3)
                yield from self.effects(then, names, Every((condition, self.condition(given, names))))
            case "increase":
                return
            case "not":
                yield Effect(self.literal(list_of(exactly(entry, 2)[0]), names, positive=False), condition)
            case _:
                yield Effect(self.literal(entry, names, positive=True), condition)


def _junction(parts: tuple[Condition, ...], all_of_them: bool) -> Condition:
    if len(parts) == 1:
        return parts[0]
    return Every(parts) if all_of_them else Some(parts)


def _initial(
    entries: Sequence[Expression], reader: _Reader, things: Mapping[str, str]
) -> tuple[tuple[Fact, ...], frozenset[str]]:
    """The facts, and the things that they or an assigned number (a distance) speak of."""
    facts, named = [], set[str]()
    for entry in map(list_of, entries):
        if entry and entry[0] == EQUAL:
            terms: Sequence[str] = [word_of(term) for term in list_of(exactly(entry, 3)[0])[1:]]
        else:
            facts.append(reader.fact(entry))
            terms = facts[-1][1]
        for term in terms:
            if term not in things:
                raise Unreadable(f"a fact speaks of {term[:80]!r}, which is not listed among the objects")
        named.update(terms)
    return tuple(facts), frozenset(named)


def _sections(text: str, kind: str) -> tuple[dict[str, list[Expression]], list[list[Expression]]]:
    """``(define (kind name) (:key ...) ...)``: what follows each key, and the actions apart."""
    define, *rest = nested(text) or [""]
    if define != "define" or not rest or list_of(rest[0])[:1] != [kind]:
        raise Unreadable(f"expected (define ({kind} NAME) ...)")
    sections: dict[str, list[Expression]] = {}
    actions = []
    for section in map(list_of, rest[1:]):
        key = _head(section)
        if key == ":action":
            actions.append(section)
        elif key in sections or not key.startswith(":") or key == ":derived":
            raise Unreadable(f"{kind}: not understood, or there twice: a section {key[:80]!r}")
        else:
            sections[key] = section[1:]
    return sections, actions


def _head(entry: list[Expression]) -> str:
    return word_of(entry[0]) if entry else ""


def _types(listed: Sequence[Typed]) -> dict[str, frozenset[str]]:
    above = {entry.name: entry.type for entry in listed if entry.name != ROOT}
    found = {ROOT: frozenset((ROOT,))}
    for name in above:
        chain = [name]
        while (parent := above.get(chain[-1])) is not None:
            if parent in chain:
                raise Unreadable(f"the type {name[:80]!r} is below itself")
            chain.append(parent)
        if chain[-1] != ROOT:
            raise Unreadable(f"the type {chain[-1][:80]!r} is not declared")
        found[name] = frozenset(chain)
    return found
