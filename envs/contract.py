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

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypedDict

import gymnasium

from trialogue.envs.spaces import ActionSpace, TextSpace


@dataclass(frozen=True)
class Task:
    """One problem. ``id`` alone is enough to rebuild it anywhere the same data is installed."""

    id: str
    split: str
    type: str


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
    """A player that reads only what a player reads. Made fresh for one episode."""

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        """The next action after ``observation`` (the first call gets the observation of ``reset``)."""
        ...


class TextEnv(gymnasium.Env[str, str]):
    """Base of all environments. Subclasses set ``action_space`` and call ``super().reset(seed=seed)``."""

    action_space: ActionSpace
    observation_space: TextSpace
    splits: ClassVar[tuple[str, ...]] = ()
    """Names of the splits that exist without any download."""

    @abstractmethod
    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of ``split`` in a stable, machine-independent order.

        Raises UnknownName for a split that does not exist, DataError when its data is missing.
        """

    def expert(self) -> Policy | None:
        """A policy for the episode that was just reset, or None where no expert exists."""
        return None

    def versions(self) -> dict[str, str]:
        """Whatever decides this environment's behaviour beside the task: engine and data versions."""
        return {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        raise NotImplementedError

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        raise NotImplementedError
