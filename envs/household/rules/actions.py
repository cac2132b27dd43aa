"""Actions: which of them are possible, and what they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trialogue.envs.household.rules.conditions import Action, Condition, Effect, Literal, Some, parts_of
from trialogue.envs.household.rules.facts import Facts, Row, row_at
from trialogue.envs.household.rules.joins import Test, constants_of, holds, join

NOT = "not_"
"""What TextWorld's texts put before a predicate to ask whether an action has made it false."""


class Move:
    """One action of a domain. An instance of it is a row: the values of its parameters.

    ``reads`` are the changing predicates on which it depends whether an instance is possible.
    """

    def __init__(self, action: Action, fluents: frozenset[str]) -> None:
        self.name, self.parameters = action.name, action.parameters
        names = [parameter.name for parameter in action.parameters]
        self._constants = constants_of(part for effect in action.effects for part in (effect.literal, effect.condition))
        scope = {term: place for place, term in enumerate((*names, *self._constants))}
        self._changes = [_Change(effect, scope, fluents) for effect in action.effects]
        branches = action.condition.parts if isinstance(action.condition, Some) else (action.condition,)
        self._ways = []
        reads = set[str]()
        for branch in branches:
            found = join(branch, (), action.parameters, fluents)
            pick = row_at([found.scope[name] for name in names])
            self._ways.append((found, pick, _idle(action.effects, branch, scope)))
            reads |= found.reads
        self.reads = frozenset(reads & fluents)

    def instances(self, facts: Facts) -> list[Row]:
        """The possible instances, each once. One that could change nothing is not possible, as in the translator."""
        possible: dict[Row, None] = {}
        for way, pick, idle in self._ways:
            for row in map(pick, way.rows(facts)):
                if idle is None or not idle(row + self._constants, facts):
                    possible[row] = None
        return list(possible)

    def make(self, row: Row, facts: Facts) -> None:
        """Changes ``facts``. All conditions are looked at before anything changes; what is also added stays true."""
        row = row + self._constants
        due = [change for change in self._changes if change.due(row, facts)]
        for change in sorted(due, key=lambda change: change.positive):
            change.make(row, facts)


class _Change:
    """One effect of a move, for rows laid out as ``scope`` says."""

    def __init__(self, effect: Effect, scope: Mapping[str, int], fluents: frozenset[str]) -> None:
        self.positive, self.predicate = effect.literal.positive, effect.literal.predicate
        self._terms = row_at([scope[term] for term in effect.literal.terms])
        self.due: Test = holds(effect.condition, scope, set(), fluents)

    def make(self, row: Row, facts: Facts) -> None:
        terms = self._terms(row)
        true, false = (self.predicate, NOT + self.predicate)[:: 1 if self.positive else -1]
        facts.remove(false, terms)
        facts.add(true, terms)


def _idle(effects: tuple[Effect, ...], condition: Condition, scope: Mapping[str, int]) -> Test | None:
    """Whether every effect only says what ``condition`` has asked for; None where that is never so.

    Going where one stands is such a case: the translator drops it from the possible actions.
    """

    def terms(literal: Literal) -> Callable[[Row], Row]:
        return row_at([scope[term] for term in literal.terms])

    literals = [part for part in parts_of(condition) if isinstance(part, Literal)]
    asked = [literal for literal in literals if scope.keys() >= set(literal.terms)]
    added = [effect.literal for effect in effects if effect.literal.positive]
    excuses = []
    for effect in effects:
        said = effect.literal
        same = [other for other in asked if (other.predicate, other.positive) == (said.predicate, said.positive)]
        if not said.positive:
            same += [other for other in added if other.predicate == said.predicate]
        if not same:
            return None
        excuses.append((terms(said), [terms(other) for other in same]))
    return lambda row, facts: all(any(said(row) == other(row) for other in same) for said, same in excuses)
