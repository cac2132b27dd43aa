"""A small environment that keeps the contract, and others that each break one promise of it."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from trialogue.envs import Game, GameEnv, Policy, Task, TextSpace
from trialogue.errors import UnknownName


class StairsGame(Game):
    """Climb to the top; a door on the way has to be opened."""

    def __init__(self, task: Task) -> None:
        self.height = 2 + random.Random(task.id).randrange(3)
        self.goal = f"climb to step {self.height}"
        self.place = 0

    def opening(self) -> str:
        return f"You stand before {self.height} steps."

    def commands(self) -> Sequence[str]:
        return ["go up", "go down"] if self.place else ["go up"]

    def do(self, command: str) -> str:
        self.place += {"go up": 1, "go down": -1}[command]
        self.won = self.place == self.height
        return f"You are on step {self.place}."

    @property
    def score(self) -> float:
        return self.place / self.height

    def expert(self) -> Policy:
        return Climber("go up")


class Climber:
    def __init__(self, action: str) -> None:
        self.action = action

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        return self.action


class Stairs(GameEnv):
    """Steps to climb."""

    name = "broken_envs:Stairs"
    splits = ("train", "eval")
    templates = ("go {direction}",)
    game: type[Game] = StairsGame

    def tasks(self, split: str) -> Sequence[Task]:
        if split not in self.splits:
            raise UnknownName("split", split, self.splits)
        return [Task(f"{split}/{number}", split, "stairs") for number in range(6)]

    def begin(self, task: Task) -> Game:
        return self.game(task)


class Edited(Stairs):
    """Changes what reset and step answer; subclasses say how."""

    def reset(self, **kwargs: Any) -> tuple[str, Any]:
        observation, info = super().reset(**kwargs)
        return self.edit(observation, 0.0, False, dict(info), True)[::3]  # type: ignore[return-value]

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        observation, reward, terminated, truncated, info = super().step(action)
        observation, reward, terminated, info = self.edit(observation, reward, terminated, dict(info), False)
        return observation, reward, terminated, truncated, info

    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, terminated, info


class IgnoresSeed(Stairs):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        return super().reset(options=options)


class Warns(Stairs):
    def reset(self, **kwargs: Any) -> tuple[str, Any]:
        warnings.warn("an old engine", stacklevel=2)
        return super().reset(**kwargs)


class TinySpace(Stairs):
    """Its observations are not in its space."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = TextSpace(5)


class Shuffles(Stairs):
    def tasks(self, split: str) -> Sequence[Task]:
        listed = list(super().tasks(split))
        random.shuffle(listed)
        return listed if listed != super().tasks(split) else listed[::-1]


class ListsTwice(Stairs):
    def tasks(self, split: str) -> Sequence[Task]:
        return [*super().tasks(split)] * 2


class ForgetsTheSplit(Stairs):
    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(task.id.partition("/")[2], split, task.type) for task in super().tasks(split)]

    def task(self, id: str) -> Task:
        return next((task for task in self.tasks("train") if task.id == id), self.tasks("train")[0])


class AnySplit(Stairs):
    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(f"{split}/{number}", split, "stairs") for number in range(6)]


class NumpyWon(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, terminated, info | {"won": np.bool_(info["won"])}


class IntReward(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, int(reward), terminated, info


class LacksDialect(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        del info["dialect"]
        return observation, reward, terminated, info


class ReasonWhenValid(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, terminated, info | {"reason": "just so"}


class _ListsTooMuch(StairsGame):
    def commands(self) -> Sequence[str]:
        return ["go up", "go down"]

    def do(self, command: str) -> str:
        return super().do("go up")


class ListsTooMuch(Stairs):
    """Lists "go down" where it is refused."""

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        if action != "go down":
            return super().step(action)
        return self.refusal, 0.0, False, False, {**self._tell(), "valid": False, "reason": "no way down"}

    game = _ListsTooMuch


class DrawsOthers(Stairs):
    """The action space is never told what is admissible."""

    def _tell(self) -> Any:
        info = super()._tell()
        self.action_space.update(["go sideways"])
        return info


class RefusalMoves(Stairs):
    """A refused action takes one back down, which is seen only later."""

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        answer = super().step(action)
        game = self._playing().game
        if not answer[4]["valid"] and isinstance(game, StairsGame) and not game.won:
            game.height += 1
        return answer

    class game(StairsGame):
        @property
        def score(self) -> float:
            return float(self.won)


class RefusalScores(Stairs):
    """A refused action changes the score."""

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        observation, reward, terminated, truncated, info = super().step(action)
        if not info["valid"]:
            info = {**info, "score": 0.123}
        return observation, reward, terminated, truncated, info


class Speechless(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, terminated, info | {"reason": ""}


class AcceptsAnything(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, terminated, info | {"reason": "", "valid": True}


class WonAtOnce(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, terminated, info | {"won": True}


class GoesOnAfterWinning(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward, False, info


class SumsRewards(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, float(info["score"]), terminated, info


class ScoresTen(Edited):
    def edit(self, observation: str, reward: float, terminated: bool, info: Any, begins: bool) -> tuple[Any, ...]:
        return observation, reward * 10, terminated, info | {"score": info["score"] * 10}


class HashOrder(Stairs):
    """What it says depends on Python's hash seed: equal in this process, different in another."""

    class game(StairsGame):
        def opening(self) -> str:
            return " ".join({f"word{number}" for number in range(50)})


class Clock(Stairs):
    class game(StairsGame):
        def do(self, command: str) -> str:
            return f"{super().do(command)} It is {time.monotonic_ns()}."


class Remembers(Stairs):
    """Its openings depend on how many episodes there were."""

    episodes = 0

    def begin(self, task: Task) -> Game:
        self.episodes += 1
        game = StairsGame(task)
        game.goal += "!" * self.episodes
        return game


class OtherProcess(Stairs):
    class game(StairsGame):
        def opening(self) -> str:
            return f"Process {os.getpid()}"


class BadExpert(Stairs):
    class game(StairsGame):
        def expert(self) -> Policy:
            return Climber("go up" if self.height == 2 else "go down")


class Formats(Stairs):
    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        return super().step(action.format())


class Encodes(Stairs):
    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        return super().step(action.encode().decode())


class Echoes(Stairs):
    class game(StairsGame):
        def explain(self, command: str) -> str:
            return f"I do not know how to {command}."


class ClosesOnce(Stairs):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class ClosesAll(Stairs):
    """Closing one takes the engine from all."""

    engine: list[str]

    def __init__(self) -> None:
        super().__init__()
        type(self).engine = ["running"]

    def reset(self, **kwargs: Any) -> tuple[str, Any]:
        assert self.engine, "no engine"
        return super().reset(**kwargs)

    def close(self) -> None:
        self.engine.clear()


class NothingPossible(Stairs):
    class game(StairsGame):
        def commands(self) -> Sequence[str]:
            return []
