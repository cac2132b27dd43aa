"""An environment that does next to nothing, and a model that answers at once: what is left is the loop itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from trialogue.agents.models.contract import Reply, Request, Usage
from trialogue.envs.contract import Task
from trialogue.envs.game import Game, GameEnv
from trialogue.experiments.config import ExperimentConfig, parse_config

LENGTH = 30
HERE = "trialogue.experiments.bench.counting"


class Counting(Game):
    """Won after ``length`` commands."""

    def __init__(self, length: int) -> None:
        self.goal = f"count to {length}."
        self._length = length
        self._number = 0

    def opening(self) -> str:
        return f"You see a shelf 1, a desk 1, and a safe 1. Your task is to: {self.goal}"

    def commands(self) -> Sequence[str]:
        return ("count", "look")

    def do(self, command: str) -> str:
        self._number += 1
        self.won = self._number >= self._length
        return f"The number is {self._number}. On the shelf 1, you see a book 1, a pen 2, and a mug 1."


class CountingEnv(GameEnv):
    """Counts; as many tasks as wanted, of as many types."""

    name: ClassVar[str] = f"{HERE}:CountingEnv"
    splits: ClassVar[tuple[str, ...]] = ("generated_train",)
    templates: ClassVar[tuple[str, ...]] = ("count", "look")

    def __init__(self, count: int = 100, length: int = LENGTH, types: int = 1) -> None:
        super().__init__()
        self._length = length
        self._tasks = [
            Task(f"generated_train/{number}", "generated_train", f"count{number % types}") for number in range(count)
        ]

    def tasks(self, split: str) -> Sequence[Task]:
        return self._tasks

    def begin(self, task: Task) -> Game:
        return Counting(self._length)


def at_once(request: Request) -> Reply:
    """The reply of a model that takes no time."""
    return Reply(" count", usage=Usage(prompt=len(request.prompt) // 4, completion=1))


def configured(
    count: int,
    concurrency: int,
    *,
    length: int = LENGTH,
    model: str = f"scripted:{HERE}:at_once",
    model_settings: Mapping[str, Any] | None = None,
) -> ExperimentConfig:
    """``count`` episodes of ``length`` turns."""
    return parse_config(
        {
            "name": "bench",
            "model": {"name": model, "settings": dict(model_settings or {})},
            "agents": {"react": {"agent": "react", "settings": {"exemplars": 0}}},
            "tasks": {
                "count": {
                    "env": f"{HERE}:CountingEnv",
                    "split": "generated_train",
                    "settings": {"count": count, "length": length},
                }
            },
            "limits": {"steps": length, "turns": 2 * length},
            "concurrency": concurrency,
            "stuck": None,
        }
    )
