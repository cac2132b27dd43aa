"""The engine of games that are played by their rules, without TextWorld."""

from __future__ import annotations

from trialogue.envs.household.engine import NOTHING, Game, Moment
from trialogue.envs.household.rules.conditions import Unreadable
from trialogue.envs.household.rules.position import Board, Position
from trialogue.errors import DataError, EnvError


class RuleEngine:
    """Plays one game at a time: ``load`` a game, then ``reset`` and ``step``. Costs nothing to keep or to drop.

    DataError for a game that cannot be read, EnvError for one that fails while it is played.
    """

    def __init__(self) -> None:
        self._game: Game | None = None
        self._position: Position | None = None

    def load(self, game: Game) -> None:
        """Makes ``game`` the one that is played. Nothing that stands in it is executed."""
        if game == self._game:
            return
        self._game = self._position = None
        try:
            self._board = Board(game.domain, game.grammar, game.problem)
        except Unreadable as error:
            raise DataError(f"{game.source}: not a readable game: {error}") from error
        self._game = game

    def reset(self) -> Moment:
        game = self._game
        if game is None:
            raise EnvError("no game is loaded; load one before reset")
        self._position = None
        try:
            position = Position(self._board)
            text = position.opening()
        except LookupError as error:
            raise EnvError(f"{game.source}: {error} on reset") from error
        self._position = position
        return Moment(text, position.admissible, position.won)

    def step(self, command: str) -> Moment:
        position, self._position = self._position, None
        if position is None or self._game is None:
            raise EnvError(f"no game has begun; load one and reset before {command[:80]!r}")
        try:
            told = position.do(command.strip())
        except LookupError as error:
            raise EnvError(f"{self._game.source}: {error} on {command[:80]!r}") from error
        self._position = position
        return Moment(NOTHING if told is None else told, position.admissible, position.won)
