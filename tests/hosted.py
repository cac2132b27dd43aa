"""An environment for tests of hosts: it counts, and can hang, fail or end its process on demand."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import ClassVar

from trialogue.envs.contract import Policy, Task
from trialogue.envs.game import Game, GameEnv


class Counter:
    """The expert: counts up."""

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        return "count"


class Counting(Game):
    goal = "count to three."

    def __init__(self) -> None:
        self.number = 0

    def opening(self) -> str:
        return f"Your task is to: count to three. (process {os.getpid()})"

    def commands(self) -> Sequence[str]:
        return ("count", "hang", "fail", "crash")

    def do(self, command: str) -> str:
        match command:
            case "hang":
                time.sleep(60)
            case "fail":
                raise RuntimeError("a fault of the engine")
            case "crash":
                os._exit(3)
        self.number += 1
        self.won = self.number >= 3
        return str(self.number)

    def expert(self) -> Policy:
        return Counter()


class CountingEnv(GameEnv):
    """Counts to three."""

    name = "counting"
    splits: ClassVar[tuple[str, ...]] = ("generated_train",)
    templates = ("count", "hang", "fail", "crash")

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(f"generated_train/{number}", "generated_train", "count") for number in range(4)]

    def begin(self, task: Task) -> Game:
        return Counting()
