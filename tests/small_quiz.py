"""A quiz of one question for tests of agents that answer, and the real loop that plays it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trialogue.agents.contract import Agent, Briefing, Turn
from trialogue.agents.models.contract import Reply, Request
from trialogue.envs.contract import Task, TextEnv
from trialogue.envs.spaces import ActionSpace, TextSpace
from trialogue.exemplars.contract import Exemplar, ExemplarStep, PlannedStep
from trialogue.experiments.config import Limits
from trialogue.experiments.episode import Episode, EpisodeLog, Rules
from trialogue.experiments.hosts import EnvHost, Here
from trialogue.experiments.store import EndRecord, StepRecord

TEMPLATES = ("search[{entity}]", "finish[{answer}]")
GOAL = "answer the question: Where was the composer of Bukko's Dance born?"
START = "You have an encyclopedia."
PAGES = {"Bukko's Dance": "It was composed by Edda Lind.", "Edda Lind": "She was born in Bergen,\n in 1843."}

EXEMPLARS = (
    Exemplar(
        id="boats",
        env="hotpotqa",
        type="bridge",
        task="train/1",
        goal="answer the question: How many boats are there?",
        dialect="",
        observation=START,
        steps=(
            ExemplarStep(("I search for the boats.",), "search[boats]", "Two, and three more.", "start"),
            ExemplarStep(("Five.",), "finish[5]", "Episode finished."),
        ),
        reasoning="There are two boats and three boats. Two plus three is five.",
        plan=(PlannedStep("The page of the boats.", "search[boats]"), PlannedStep("More of them.", "search[#E1]")),
    ),
    Exemplar(
        id="silent",
        env="hotpotqa",
        type="bridge",
        task="train/2",
        goal="answer the question: Who sings?",
        dialect="",
        observation=START,
        steps=(
            ExemplarStep(("Let me see.",), "search[singer]", "Una sings.", "start"),
            ExemplarStep((), "finish[Una]", "Episode finished."),
        ),
    ),
)


class Quiz(TextEnv):
    """``search[…]`` shows one of ``PAGES``; ``finish[…]`` ends the episode, except that ``finish[?]`` is refused."""

    name: ClassVar[str] = "hotpotqa"

    def __init__(self, env: str = "hotpotqa") -> None:
        self.name = env  # type: ignore[misc]  # under which wordings are looked up
        self.action_space = ActionSpace(TEMPLATES)
        self.observation_space = TextSpace()

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(f"{split}/1", split, "bridge")]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        super().reset(seed=seed)
        self.won = False
        return START, self._info("")

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        if action == "finish[?]" or not self.action_space.contains(action):
            return "Invalid action.", 0.0, False, False, self._info("not accepted")
        if action.startswith("finish["):
            self.won = action.casefold().rstrip("].") == "finish[bergen"
            return "Episode finished.", float(self.won), True, False, self._info("")
        found = PAGES.get(action.removeprefix("search[").removesuffix("]"), "Could not find it.")
        return found, 0.0, False, False, self._info("")

    def _info(self, reason: str) -> dict[str, Any]:
        return {
            "task": "test/1",
            "type": "bridge",
            "goal": GOAL,
            "dialect": "",
            "admissible": None,
            "valid": not reason,
            "reason": reason,
            "score": float(self.won),
            "won": self.won,
        }


@dataclass
class Log(EpisodeLog):
    """Keeps what an episode reports."""

    turns: list[Turn] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)

    def turned(self, number: int, turn: Turn) -> None:
        self.turns.append(turn)

    def stepped(self, step: StepRecord) -> None:
        self.steps.append(step)

    @property
    def actions(self) -> list[str | None]:
        return [step.action for step in self.steps]


def exemplars_for(env: str, type: str, dialect: str) -> tuple[Exemplar, ...]:
    return EXEMPLARS


async def quiz(agent: Agent, *, seed: int = 7, env: str = "hotpotqa", **limits: int) -> tuple[EndRecord, Log]:
    """Plays the question through the real loop."""
    log = Log()
    rules = Rules(Limits(**limits), None)
    host = EnvHost(lambda: Here(lambda: Quiz(env)))
    return await Episode(host, agent, "test/1", seed, rules, log).play(), log


def told(env: str = "hotpotqa", templates: tuple[str, ...] = TEMPLATES, seed: int = 7, trial: int = 0) -> Briefing:
    return Briefing(env, "test/1", "bridge", GOAL, templates, seed=seed, trial=trial)


def late(replies: Sequence[str]) -> Callable[[Request], Any]:
    """A script that gives ``replies`` in the order of the requests, the first of them last."""
    left = iter(enumerate(replies))

    async def reply(number: int, text: str) -> Reply:
        await asyncio.sleep(0.002 * (len(replies) - number))
        return Reply(text)

    return lambda _: reply(*next(left))
