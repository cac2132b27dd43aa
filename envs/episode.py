"""What is the same in every environment: options, seeds, refusals, info, rewards, the end.

An :class:`Episode` is one task being played, an :class:`EpisodeEnv` begins episodes and passes commands on to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from trialogue.envs.contract import Info, Task, TextEnv
from trialogue.envs.spaces import ActionSpace, TextSpace
from trialogue.errors import UnknownName, UsageError

OVER = "the episode is over; call reset"


class Episode(ABC):
    """One task being played: what was last said, and how it stands.

    ``observation`` is what the player was last told, ``reason`` why the last command was not accepted ("" if it was).
    """

    closed: str
    """The observation of a command after the end."""
    observation: str
    reason: str = ""
    dialect: str = ""
    templates: Sequence[str] | None = None
    """The command language, where it depends on the task."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @property
    @abstractmethod
    def goal(self) -> str:
        """What the player is to reach."""

    @property
    @abstractmethod
    def won(self) -> bool:
        """Whether the goal is reached."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended, won or not."""
        return self.won

    @property
    def score(self) -> float:
        """The running score in [0, 1]."""
        return float(self.won)

    @property
    def admissible(self) -> Sequence[str] | None:
        """The commands of the moment; None where they cannot be listed."""
        return None

    @abstractmethod
    def take(self, command: str) -> None:
        """Executes ``command``, or changes nothing; sets ``observation`` and ``reason``. Never called when over."""

    @abstractmethod
    def explain(self, command: str) -> str:
        """Why ``command`` is not possible now, "" if it is. Changes nothing."""

    def play(self, command: str) -> None:
        """Takes ``command``; after the end nothing happens any more."""
        if self.over:
            self.observation, self.reason = self.closed, OVER
        else:
            self.take(command)

    def info(self) -> Info:
        return Info(
            task=self.task.id,
            type=self.task.type,
            goal=self.goal,
            dialect=self.dialect,
            admissible=None if self.admissible is None else list(self.admissible),
            valid=not self.reason,
            reason=self.reason,
            score=self.score,
            won=self.won,
        )


E = TypeVar("E", bound=Episode)


class EpisodeEnv(TextEnv, Generic[E]):
    """An environment of episodes. Subclasses list tasks and begin episodes.

    ``split`` is what ``reset`` draws from when it is not told a task; ``templates`` is the command language.
    """

    def __init__(self, split: str, templates: Iterable[str]) -> None:
        self.split = split
        self.action_space = ActionSpace(templates)
        self.observation_space = TextSpace()
        self._episode: E | None = None

    @abstractmethod
    def _begin(self, task: Task) -> E:
        """The episode of ``task``, ready for its first command."""

    def _find(self, id: str) -> Task:
        """The task named ``id``, which is text. Raises UsageError, UnknownName, DataError."""
        return super().task(id)

    def task(self, id: str) -> Task:
        """Any task that its id can rebuild, listed by ``tasks`` or not. Raises UsageError, UnknownName, DataError."""
        if not isinstance(id, str):
            raise UsageError(f"a task id is text; got {type(id).__name__}.")
        return self._find(id)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        """Starts ``options["task"]``, or a task of ``split`` that the seed draws.

        Raises UsageError or UnknownName for options that cannot be, DataError for data that cannot be read, EnvError.
        """
        super().reset(seed=seed)
        task = self._chosen(options or {})
        self._episode = None
        self._episode = self._begin(task)
        return self._episode.observation, self._tell()

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        """Executes one command. After the end nothing happens any more: no reward, and score and ``won`` stay."""
        episode = self._playing()
        if not isinstance(action, str):
            raise UsageError(f"an action is text; got {type(action).__name__}.")
        before = episode.score
        episode.play(action.strip())
        return episode.observation, episode.score - before, episode.over, False, self._tell()

    def _chosen(self, options: dict[str, Any]) -> Task:
        for name in options:
            if name != "task":
                raise UnknownName("reset option", name, ("task",))
        if "task" in options:
            return self.task(options["task"])
        tasks = self.tasks(self.split)
        if not tasks:
            raise UsageError(f"the split {self.split!r} has no tasks in the data at hand; choose another.")
        return tasks[int(self.np_random.integers(len(tasks)))]

    def _playing(self) -> E:
        if self._episode is None:
            raise UsageError("no episode has begun; call reset() first.")
        return self._episode

    def _tell(self) -> Info:
        episode = self._playing()
        info = episode.info()
        self.action_space.update(info["admissible"], episode.explain, episode.templates)
        return info
