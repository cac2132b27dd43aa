"""The contract of an environment: a task, an action space, text in, text out.

An environment is a ``gymnasium.Env[str, str]`` (``TextEnv`` below adds the task list and the expert):

* ``reset(seed=..., options={"task": id})`` -> observation, info
* ``step(action)`` -> observation, reward, terminated, truncated, info
* ``info`` always holds the keys of :class:`Info`. Success is ``info["won"]`` and nothing else;
  ``score`` is the running score in [0, 1], and ``reward`` its increase in this step.
* An invalid action changes nothing, is answered by the environment's own words, and has
  ``info["valid"] is False`` with ``info["reason"]`` saying more.
* A step cap (Gymnasium's ``TimeLimit``) truncates; it never wins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypedDict

import gymnasium

from trialogue.envs.spaces import ActionSpace, TextSpace
from trialogue.errors import UnknownName


@dataclass(frozen=True)
class Task:
    """One problem. ``id`` begins with its split and alone is enough to rebuild it where the same data is installed."""

    id: str
    split: str
    type: str


def split_of(task: str) -> str:
    """The split of a task id: what stands before its first slash."""
    return task.partition("/")[0]


class Info(TypedDict):
    """What ``reset`` and ``step`` say beside the observation.

    ``admissible`` is None where the environment cannot list its commands. ``reason`` is "" when
    ``valid``; otherwise one sentence on why the action was not accepted. ``dialect`` names the variant
    of the command language, "" where there is only one; exemplars and repairs must speak it.
    """

    task: str
    type: str
    goal: str
    dialect: str
    admissible: list[str] | None
    valid: bool
    reason: str
    score: float
    won: bool


class Policy(Protocol):
    """A player that reads only what a player reads. Made fresh for one episode.

    It may have methods more. ``did(action)``: told, before the next ``act``, what was done in its
    place.
    ``thought(*, dense)``: asked after an ``act`` whose action is played, what there is to think before it; "" where
    nothing is decided, unless ``dense``. ``reflection()``: what a lost episode showed that helps in the next at the
    same task; and ``recall(reflection)``, before the first ``act`` of the next.
    """

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        """The next action after ``observation`` (the first call gets the observation of ``reset``)."""
        ...


class TextEnv(gymnasium.Env[str, str], ABC):
    """Base of all environments. Subclasses set ``name`` and ``action_space`` and reset with the seed they are given."""

    name: ClassVar[str]
    action_space: ActionSpace
    observation_space: TextSpace
    splits: ClassVar[tuple[str, ...]] = ()
    """Names of the splits that exist without any download."""
    dialects: ClassVar[tuple[str, ...]] = ()
    """What the setting ``dialect`` chooses from, the default first; () where the command language has one variant."""

    @abstractmethod
    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of ``split`` in a stable, machine-independent order.

        Raises UnknownName for a split that does not exist, DataError when its data is missing.
        """

    def task(self, id: str) -> Task:
        """The task named ``id``. Raises UnknownName with the nearest known id; DataError when its data is missing."""
        tasks = {task.id: task for task in self.tasks(split_of(id))}
        if id not in tasks:
            raise UnknownName("task", id, tasks)
        return tasks[id]

    def expert(self) -> Policy | None:
        """A policy for the episode that was just reset, or None where no expert exists."""
        return None

    def versions(self) -> dict[str, str]:
        """Whatever decides this environment's behaviour beside the task: engine and data versions."""
        return {}
