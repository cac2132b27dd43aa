"""What plays a household game: the contract of engines, and which there are.

``rules`` (:mod:`trialogue.envs.household.rules`) reads a game's rules and runs them itself. ``reference``
(:mod:`.reference`) is TextWorld's PDDL engine, with which ALFWorld is published. Both say the same, word for word.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Protocol

from trialogue.errors import UnknownName

NOTHING = "Nothing happens."
"""The answer to every command that is not possible."""

ENGINES = ("rules", "reference")

_LOCK = threading.Lock()
_IDLE: defaultdict[str, list[Engine]] = defaultdict(list)


@dataclass(frozen=True)
class Game:
    """A game as an engine reads it: PDDL, and TextWorld's grammar format. ``source`` names it in errors."""

    source: str
    domain: str
    grammar: str
    problem: str


@dataclass(frozen=True)
class Moment:
    """What the engine says after a reset or a step. ``text`` is verbatim; ``admissible`` is sorted."""

    text: str
    admissible: tuple[str, ...]
    won: bool


class Engine(Protocol):
    """Plays one game at a time. ``load`` a game, then ``reset`` and ``step``; EnvError when the engine itself fails."""

    def load(self, game: Game) -> None:
        """Makes ``game`` the one that is played. DataError if its texts cannot be read or would run code."""
        ...

    def reset(self) -> Moment: ...

    def step(self, command: str) -> Moment:
        """Executes ``command`` if it is admissible; answers :data:`NOTHING` if it is not."""
        ...


def require_engine(name: str) -> None:
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)


def borrow(name: str) -> Engine:
    """An engine for the caller alone, until :func:`give_back`. Raises UnknownName, MissingExtra."""
    require_engine(name)
    with _LOCK:
        return _IDLE[name].pop() if _IDLE[name] else _make(name)


def give_back(name: str, engine: Engine) -> None:
    """Keeps ``engine`` for the next to borrow one: the reference never lets go of the memory of an engine."""
    with _LOCK:
        _IDLE[name].append(engine)


def _make(name: str) -> Engine:
    if name == "reference":
        from trialogue.envs.household.reference import ReferenceEngine

        return ReferenceEngine()
    from trialogue.envs.household.rules.engine import RuleEngine

    return RuleEngine()
