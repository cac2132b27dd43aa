"""A game in progress: the facts of the moment, the commands that are possible, whether the goal is reached.

What depends on facts is worked out again only when they have changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from trialogue.envs.household.rules.conditions import Problem
from trialogue.envs.household.rules.facts import Facts, Row
from trialogue.envs.household.rules.joins import Join, join, type_fact
from trialogue.envs.household.rules.names import names_of
from trialogue.envs.household.rules.pddl import read_problem
from trialogue.envs.household.rules.rulebook import Deed, Rulebook, rulebook

Commands = Mapping[str, tuple[Deed, Row]]


class Board:
    """A game that has not begun: its rulebook, and what its problem says. Raises Unreadable."""

    def __init__(self, domain: str, grammar: str, problem: str) -> None:
        self.book: Rulebook = rulebook(domain, grammar)
        read = read_problem(problem, self.book.domain)
        self.names = names_of(read.named)
        self.goal: Join = join(read.goal, (), (), self.book.fluents)
        self.facts = _facts(read, self.book)
        self.commands: dict[tuple[Deed, Row], str] = {}


class Position:
    """``possible`` maps each command of the moment to what it does; the first action that reads like it counts."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._facts = board.facts.fork(board.book.changing)
        self._known: dict[Deed, tuple[int, dict[str, tuple[Deed, Row]]]] = {}
        self._look()

    def opening(self) -> str:
        return self._board.book.opening((), self._facts, self._board.names)

    def do(self, command: str) -> str | None:
        """Executes one of ``possible`` and tells what happened; None, and nothing happens, for any other text."""
        if command not in self.possible:
            return None
        deed, row = self.possible[command]
        deed.move.make(row, self._facts)
        told = deed.feedback(row, self._facts, self._board.names)
        self._look()
        return told

    def _look(self) -> None:
        if self._renew():
            self.possible: Commands = {
                command: done for _, found in reversed(self._known.values()) for command, done in found.items()
            }
            self.admissible = tuple(sorted(self.possible))
        self.won = bool(self._board.goal.rows(self._facts))

    def _renew(self) -> bool:
        """Brings the commands of each deed up to date; whether any has changed."""
        changed = False
        for deed in self._board.book.deeds:
            stamp = sum([self._facts.changes[predicate] for predicate in deed.reads])
            if deed not in self._known or self._known[deed][0] != stamp:
                changed = True
                self._known[deed] = stamp, self._commands(deed)
        return changed

    def _commands(self, deed: Deed) -> dict[str, tuple[Deed, Row]]:
        found: dict[str, tuple[Deed, Row]] = {}
        for row in deed.move.instances(self._facts):
            found.setdefault(self._command(deed, row), (deed, row))
        return found

    def _command(self, deed: Deed, row: Row) -> str:
        command = self._board.commands.get((deed, row))
        if command is None:
            command = deed.command(row, self._facts, self._board.names)
            if deed.lasting:
                self._board.commands[deed, row] = command
        return command


def _facts(problem: Problem, book: Rulebook) -> Facts:
    """The initial facts, and which things are of which types."""
    types = book.domain.types
    kinds = ((type_fact(kind), (thing,)) for thing, type in problem.things.items() for kind in types[type])
    return Facts([*problem.facts, *kinds])
