"""A corridor of rooms for tests of the loop: small, quick, and wrong on demand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from trialogue.agents.models.contract import Reply, Request, Usage
from trialogue.envs.contract import Policy, Task, TextEnv
from trialogue.envs.spaces import ActionSpace, TextSpace


class Corridor(TextEnv):
    """Walk from room 0 to the last room; ``go left``, ``go right``, ``look``. Task ``test/N`` has N rooms to walk."""

    name = "toy:Corridor"
    splits = ("test",)

    def __init__(self, count: int = 10, crash_at: int | None = None, crash_in: str = "") -> None:
        self.observation_space = TextSpace()
        self.action_space = ActionSpace(["go {direction}", "look"])
        self.count, self.crash_at, self.crash_in = count, crash_at, crash_in

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(f"{split}/{n}", split, "even" if n % 2 == 0 else "odd") for n in range(1, self.count + 1)]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        super().reset(seed=seed)
        self.current = self.task((options or {}).get("task", "test/1"))
        self.length, self.place, self.moves = int(self.current.id.partition("/")[2]), 0, 0
        return self._look(), self._info(True, "")

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        self.moves += 1
        if self.moves == self.crash_at and self.current.id == self.crash_in:
            raise IndexError("the engine fell over")
        if action not in ("go left", "go right", "look"):
            return "Nothing happens.", 0.0, False, False, self._info(False, f"{action!r} is not possible here")
        self.place = max(0, self.place + {"go left": -1, "go right": 1, "look": 0}[action])
        won = self.place == self.length
        return self._look(), float(won), won, False, self._info(True, "")

    def expert(self) -> Policy:
        return Walker()

    def _look(self) -> str:
        return f"You are in room {self.place}."

    def _info(self, valid: bool, reason: str) -> dict[str, Any]:
        admissible = ["go left", "go right", "look"]
        self.action_space.update(admissible)
        won = self.place == self.length
        return {
            "task": self.current.id,
            "type": self.current.type,
            "goal": f"reach room {self.length}",
            "dialect": "",
            "admissible": admissible,
            "valid": valid,
            "reason": reason,
            "score": float(won),
            "won": won,
        }


class Walker:
    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        return "go right"


async def walk(request: Request) -> Reply:
    """A model that thinks once and then walks right; in tasks of odd length it gives up by looking around."""
    prompt = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    await asyncio.sleep(0.001 * (len(prompt) % 7))
    goal = re.findall(r"reach room (\d+)", prompt)
    odd = bool(goal) and int(goal[-1]) % 2 == 1
    if "think:" not in prompt.rpartition("reach room")[2]:
        text = "think: The last room is to the right."
    else:
        text = "look" if odd else "go right"
    return Reply(text, usage=Usage(prompt=len(prompt) // 4, completion=len(text) // 4))
