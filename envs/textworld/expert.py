"""Replays a game's walkthrough."""

from __future__ import annotations

from collections.abc import Sequence

from trialogue.errors import EnvError


class Walkthrough:
    """The way to win that TextWorld's generator wrote down with the game: it sees the answer, and reads nothing."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._left = list(commands)

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        if not self._left:
            raise EnvError("the walkthrough has ended, and the game has not.")
        return self._left.pop(0)
