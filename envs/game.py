"""The short way to a new environment: write the game, and :class:`GameEnv` keeps the contract.

A subclass of :class:`Game` is one episode, a subclass of :class:`GameEnv` lists the tasks and begins games. What is
the same everywhere (options, seeds, refusals, info, rewards, the end) is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from trialogue.envs.contract import Info, Policy, Task, TextEnv
from trialogue.envs.spaces import ActionSpace, TextSpace
from trialogue.errors import UnknownName, UsageError

_OVER = "the episode is over; call reset"


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


class GameEnv(TextEnv):
    """An environment of games. Subclasses set ``name``, ``splits`` and ``templates``, list tasks and begin games.

    ``split`` is what ``reset`` draws from when it is not told a task; the first of ``splits`` unless given.
    """

    templates: ClassVar[tuple[str, ...]]
    refusal: ClassVar[str] = "Nothing happens."
    """The answer to a command that is not possible."""

    def __init__(self, split: str = "") -> None:
        self.split = split or self.splits[0]
        self.action_space = ActionSpace(self.templates)
        self.observation_space = TextSpace()
        self._episode: tuple[Task, Game] | None = None

    @abstractmethod
    def begin(self, task: Task) -> Game:
        """The game of ``task``, which its id alone decides: draw from ``random.Random(task.id)``."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        """Starts ``options["task"]``, or a task that the seed draws. Raises UsageError or UnknownName."""
        super().reset(seed=seed)
        task = self._chosen(options or {})
        self._episode = task, self.begin(task)
        return self._episode[1].opening(), self._tell("")

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        """Executes one command. After the end nothing happens any more, and ``won`` stays."""
        game = self._playing()[1]
        if not isinstance(action, str):
            raise UsageError(f"an action is text; got {type(action).__name__}.")
        command, before = action.strip(), game.score
        reason = self._explain(command)
        observation = self.refusal if reason else game.do(command)
        return observation, float(game.score - before), game.won or game.lost, False, self._tell(reason)

    def expert(self) -> Policy | None:
        """The game's own expert."""
        return self._playing()[1].expert()

    def _chosen(self, options: dict[str, Any]) -> Task:
        for name in options:
            if name != "task":
                raise UnknownName("reset option", name, ("task",))
        if "task" not in options:
            tasks = self.tasks(self.split)
            return tasks[int(self.np_random.integers(len(tasks)))]
        if not isinstance(options["task"], str):
            raise UsageError(f"a task id is text; got {type(options['task']).__name__}.")
        return self.task(options["task"])

    def _playing(self) -> tuple[Task, Game]:
        if self._episode is None:
            raise UsageError("no episode has begun; call reset() first.")
        return self._episode

    def _commands(self) -> list[str]:
        game = self._playing()[1]
        return [] if game.won or game.lost else list(game.commands())

    def _explain(self, command: str) -> str:
        game = self._playing()[1]
        if game.won or game.lost:
            return _OVER
        return "" if command in game.commands() else game.explain(command)

    def _tell(self, reason: str) -> Info:
        task, game = self._playing()
        admissible = self._commands()
        self.action_space.update(admissible, self._explain)
        return Info(
            task=task.id,
            type=task.type,
            goal=game.goal,
            dialect="",
            admissible=admissible,
            valid=not reason,
            reason=reason,
            score=float(game.score),
            won=game.won,
        )
