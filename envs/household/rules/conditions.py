"""What a game's rules are made of: conditions, effects, actions, domains, problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

ROOT = "object"
"""The type that all others are below."""

EQUAL = "="

Fact: TypeAlias = tuple[str, tuple[str, ...]]
"""A predicate and the names it holds of."""


class Unreadable(ValueError):
    """A text that is not of the supported language; the message says what was expected and what came."""


@dataclass(frozen=True)
class Typed:
    """A variable (``?o``) or a thing (``agent1``), and its type."""

    name: str
    type: str


@dataclass(frozen=True)
class Literal:
    """``predicate`` holds of ``terms`` (variables or names), or does not."""

    predicate: str
    terms: tuple[str, ...]
    positive: bool = True


@dataclass(frozen=True)
class Every:
    """All ``parts`` hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Some:
    """At least one of ``parts`` holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Exists:
    """``part`` holds for some things of the types of ``variables``; where not ``positive``, for none."""

    variables: tuple[Typed, ...]
    part: Condition
    positive: bool = True


Condition: TypeAlias = Literal | Every | Some | Exists

ALWAYS = Every(())


@dataclass(frozen=True)
class Effect:
    """``literal`` becomes true (or false) where ``condition``, looked at beforehand, holds."""

    literal: Literal
    condition: Condition


@dataclass(frozen=True)
class Action:
    """``parameters`` are what an instance of the action is named by."""

    name: str
    parameters: tuple[Typed, ...]
    condition: Condition
    effects: tuple[Effect, ...]


@dataclass(frozen=True)
class Domain:
    """``types`` maps a type to itself and all above it, ``arity`` a predicate to its number of terms."""

    types: Mapping[str, frozenset[str]]
    arity: Mapping[str, int]
    constants: tuple[Typed, ...]
    actions: tuple[Action, ...]

    @property
    def fluents(self) -> frozenset[str]:
        """The predicates that some action changes."""
        return frozenset(effect.literal.predicate for action in self.actions for effect in action.effects)


@dataclass(frozen=True)
class Problem:
    """``things`` maps a name to its type; ``named`` are the things that the facts speak of; ``goal`` wins."""

    things: Mapping[str, str]
    facts: tuple[Fact, ...]
    named: frozenset[str]
    goal: Condition


def parts_of(condition: Condition) -> Iterator[Condition]:
    """The conjuncts of ``condition``, one level of ``and`` below another left out."""
    if isinstance(condition, Every):
        for part in condition.parts:
            yield from parts_of(part)
    else:
        yield condition
