"""The short way to a new environment: write the game, and :class:`GameEnv` keeps the contract.

A subclass of :class:`Game` is one episode, a subclass of :class:`GameEnv` lists the tasks and begins games. What is
the same everywhere (options, seeds, refusals, info, rewards, the end) is in :mod:`.episode`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from trialogue.envs.contract import Policy, Task
from trialogue.envs.episode import OVER, Episode, EpisodeEnv


class Game(ABC):
    """One episode. ``goal`` is told to the player; set ``won`` when it is reached, ``lost`` when it never can be."""

    goal: str
    won: bool = False
    lost: bool = False

    @abstractmethod
    def opening(self) -> str:
        """What the player reads first."""

    @abstractmethod
    def commands(self) -> Sequence[str]:
        """What is possible now."""

    @abstractmethod
    def do(self, command: str) -> str:
        """Executes one of ``commands()`` and says what happened."""

    def explain(self, command: str) -> str:
        """Why ``command``, which is none of ``commands()``, is not possible now: one sentence."""
        return f"{command[:80]!r} is not possible now"

    @property
    def score(self) -> float:
        """The running score in [0, 1]. Override it where there is more than won or not."""
        return float(self.won)

    def expert(self) -> Policy | None:
        """A player that reads only what a player reads, if there is one."""
        return None


class GameEnv(EpisodeEnv["_Played"]):
    """An environment of games. Subclasses set ``name``, ``splits`` and ``templates``, list tasks and begin games.

    ``split`` is what ``reset`` draws from when it is not told a task; the first of ``splits`` unless given.
    """

    templates: ClassVar[tuple[str, ...]]
    refusal: ClassVar[str] = "Nothing happens."
    """The answer to a command that is not possible."""

    def __init__(self, split: str = "") -> None:
        super().__init__(split or self.splits[0], self.templates)

    @abstractmethod
    def begin(self, task: Task) -> Game:
        """The game of ``task``, which its id alone decides: draw from ``random.Random(task.id)``."""

    def expert(self) -> Policy | None:
        """The game's own expert."""
        return self._playing().game.expert()

    def _begin(self, task: Task) -> _Played:
        return _Played(task, self.begin(task), self.refusal)


class _Played(Episode):
    """A game as an episode: only what it lists reaches it."""

    def __init__(self, task: Task, game: Game, refusal: str) -> None:
        super().__init__(task)
        self.game, self.closed = game, refusal
        self.observation = game.opening()

    @property
    def goal(self) -> str:
        return self.game.goal

    @property
    def won(self) -> bool:
        return self.game.won

    @property
    def over(self) -> bool:
        return self.game.won or self.game.lost

    @property
    def score(self) -> float:
        return float(self.game.score)

    @property
    def admissible(self) -> list[str]:
        return [] if self.over else list(self.game.commands())

    def take(self, command: str) -> None:
        self.reason = self.explain(command)
        self.observation = self.closed if self.reason else self.game.do(command)

    def explain(self, command: str) -> str:
        if self.over:
            return OVER
        return "" if command in self.game.commands() else self.game.explain(command)
