"""One episode: an agent and an environment take turns until something named ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trialogue.agents.contract import Agent, Briefing, Lesson, Turn, View
from trialogue.agents.stuck import is_stuck
from trialogue.errors import EnvError, ModelError
from trialogue.experiments.config import Limits, StuckConfig
from trialogue.experiments.endings import Ending, ending_of
from trialogue.experiments.hosts import EnvHost
from trialogue.experiments.records import EndRecord, StepRecord


@dataclass(frozen=True)
class Rules:
    """What bounds an episode."""

    limits: Limits
    stuck: StuckConfig | None


class EpisodeLog:
    """Where an episode reports to, as it happens. The base class keeps nothing; the runner's writes the store."""

    def described(self, goal: str, dialect: str, observation: str) -> None: ...

    def turned(self, number: int, turn: Turn) -> None: ...

    def stepped(self, step: StepRecord) -> None: ...


@dataclass
class Episode:
    """Plays one attempt at one task. ``spent`` tells how many tokens, and how much money, were used so far.

    ``go_on`` is called before each turn and may raise, to leave the episode as it is.

    ``trial`` is its number and ``memory`` the lessons of the trials before it, as the agent is told.
    """

    host: EnvHost
    agent: Agent
    task: str
    seed: int
    rules: Rules
    log: EpisodeLog
    spent: Callable[[], tuple[int, float]] = lambda: (0, 0.0)
    go_on: Callable[[], None] = lambda: None
    trial: int = 0
    memory: tuple[Lesson, ...] = ()
    turns: int = 0
    steps: int = 0
    unreadable: int = 0
    won: bool = False
    score: float = 0.0
    pairs: list[tuple[str, str]] = field(default_factory=list)

    async def play(self) -> EndRecord:
        """Runs to a named ending. Raises only ModelError of a FATAL kind, cancellation, and programming errors."""
        started = time.perf_counter()
        error = ""
        try:
            ending = await self._until_ended(started)
        except ModelError as failure:
            ending, error = ending_of(failure)
        except EnvError as failure:
            ending, error = Ending.ENV_ERROR, str(failure)
        seconds = time.perf_counter() - started
        return EndRecord(ending, self.won, self.score, self.steps, self.turns, seconds, error)

    async def _until_ended(self, started: float) -> Ending:
        view = await self._begin()
        while True:
            self.go_on()
            turn = await self.agent.turn(view)
            self.log.turned(self.turns, turn)
            self.turns += 1
            if turn.action is not None:
                self.unreadable = 0
                view, ending = await self._act(turn.action)
            elif turn.kind == "thought":
                view, ending = View(None, view.admissible), None
            else:
                view, ending = self._unreadable(turn, view)
            ending = ending or self._limit(started)
            if ending is not None:
                return ending

    async def _begin(self) -> View:
        opened = await self.host.open(self.task, self.seed)
        info = opened.info
        self.log.described(info["goal"], info["dialect"], opened.observation)
        self.agent.begin(
            Briefing(
                env=opened.env,
                task=self.task,
                type=info["type"],
                goal=info["goal"],
                templates=opened.templates,
                dialect=info["dialect"],
                memory=self.memory,
                trial=self.trial,
                seed=self.seed,
                expert=opened.expert,
            )
        )
        return View(opened.observation, _admissible(info))

    async def _act(self, action: str) -> tuple[View, Ending | None]:
        started = time.perf_counter()
        self.steps += 1
        stepped = await self.host.step(action)
        observation, info = stepped.observation, stepped.info
        self.won, self.score = bool(info["won"]), float(info["score"])
        self.log.stepped(
            StepRecord(
                step=self.steps,
                turn=self.turns - 1,
                action=action,
                observation=observation,
                valid=bool(info["valid"]),
                reason=info["reason"],
                reward=stepped.reward,
                score=self.score,
                won=self.won,
                seconds=time.perf_counter() - started,
            )
        )
        self.pairs.append((action, observation))
        view = View(observation, _admissible(info), "" if info["valid"] else info["reason"])
        return view, self._outcome(stepped.terminated)

    def _outcome(self, terminated: bool) -> Ending | None:
        if self.won:
            return Ending.SOLVED
        if terminated:
            return Ending.FAILED
        stuck = self.rules.stuck
        if stuck is not None and is_stuck(self.pairs, cycle=stuck.cycle, repeats=stuck.repeats):
            return Ending.STUCK
        return None

    def _unreadable(self, turn: Turn, view: View) -> tuple[View, Ending | None]:
        """Nothing was executed, but the turn costs a step: an agent that cannot be read must not play longer."""
        self.steps += 1
        self.unreadable += 1
        self.log.stepped(
            StepRecord(self.steps, self.turns - 1, None, "", False, turn.problem, 0.0, self.score, self.won, 0.0)
        )
        given_up = turn.kind == "give_up" or self.unreadable >= self.rules.limits.unreadable
        return View(None, view.admissible, turn.problem), Ending.NO_ACTION if given_up else None

    def _limit(self, started: float) -> Ending | None:
        limits = self.rules.limits
        if self.steps >= limits.steps:
            return Ending.STEP_LIMIT
        tokens, cost = self.spent()
        over = (
            self.turns >= limits.turns
            or (limits.tokens is not None and tokens >= limits.tokens)
            or (limits.cost is not None and cost >= limits.cost)
            or (limits.seconds is not None and time.perf_counter() - started >= limits.seconds)
        )
        return Ending.BUDGET if over else None


def _admissible(info: Any) -> tuple[str, ...] | None:
    return None if info["admissible"] is None else tuple(info["admissible"])
