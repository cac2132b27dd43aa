"""The contract of an agent: told the task, asked for a turn, given the observation.

An agent never sees an environment object. The loop that plays an episode is, in full::

    agent.begin(briefing)
    while the episode goes on:
        turn = await agent.turn(view)           # thoughts and at most one action
        if turn.action is not None:             # thoughts never reach the environment
            observation, ... = env.step(turn.action)
        view = View(observation, ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable


class Policy(Protocol):
    """What an environment offers as its expert: a player that reads only what a player reads."""

    def act(self, observation: str, admissible: Sequence[str] | None) -> str: ...


@runtime_checkable
class Thinker(Policy, Protocol):
    """An expert that says what it thinks."""

    def thought(self, *, dense: bool) -> str:
        """What there is to think before the action that ``act`` just gave; "" where nothing is, unless ``dense``."""
        ...


@runtime_checkable
class Reflective(Policy, Protocol):
    """An expert that says what it learnt from a lost episode, and can begin another with that."""

    def reflection(self) -> str:
        """What the episode so far showed that helps in the next at the same task, on one line; "" for nothing."""
        ...

    def recall(self, reflection: str) -> None:
        """Takes in, before the first ``act``, what :meth:`reflection` said at the end of an earlier episode."""
        ...


@runtime_checkable
class Correctable(Policy, Protocol):
    """An expert that can go on from what was done in place of what it said."""

    def did(self, action: str) -> None: ...


@dataclass(frozen=True)
class Lesson:
    """What is kept of a failed trial (Reflexion, Shinn et al. 2023, section 3), for later trials at the same task.

    ``trial`` counts from 0. ``reflection`` is what the agent wrote about it, ``attempt`` the trajectory itself, each ""
    where its strategy keeps none, or where the model gave none.
    """

    trial: int
    reflection: str = ""
    attempt: str = ""


@dataclass(frozen=True)
class Briefing:
    """What an agent is told once, before its first turn.

    ``templates`` is the command language (``go to {receptacle}``); ``dialect`` names its variant, "" where there
    is only one. ``memory`` holds the lessons of all earlier trials, oldest first, and ``trial`` is the number of this
    one, from 0. ``seed``, with ``trial``, decides every draw that the agent itself makes and is passed on to the model.
    """

    env: str
    task: str
    type: str
    goal: str
    templates: tuple[str, ...]
    dialect: str = ""
    memory: tuple[Lesson, ...] = ()
    trial: int = 0
    seed: int = 0
    expert: Policy | None = None


@dataclass(frozen=True)
class View:
    """What an agent sees before a turn.

    ``observation`` is new since its last turn; None when its last turn held only thoughts (nothing was
    executed). ``problem`` says what was wrong with its last turn when that could not be executed or
    was not accepted, "" otherwise. ``admissible`` is None where the environment cannot list its commands.
    """

    observation: str | None
    admissible: tuple[str, ...] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Liberty:
    """One thing that was altered or left out in reading a reply: nothing is altered silently."""

    kind: str
    before: str
    after: str


TurnKind = Literal["action", "thought", "unreadable", "truncated", "give_up"]


@dataclass(frozen=True)
class Turn:
    """One call of an agent.

    ``kind`` is "action" when ``action`` is given; "thought" when there were only thoughts; "unreadable" or
    "truncated" when no action could be read (``problem`` says why, in words fit for the model). ``raw`` holds
    the replies in the order in which they came. ``event`` is what called for a thought, where
    thoughts are placed by decision points. ``memory`` is the digest (twelve hexadecimal digits) of the memory that
    stood in the prompts of this turn, "" where none did. ``notes`` are for the record: the votes of a majority, what
    was left out of a prompt that was too long, what a person decided.
    """

    kind: TurnKind
    thoughts: tuple[str, ...] = ()
    action: str | None = None
    raw: tuple[str, ...] = ()
    liberties: tuple[Liberty, ...] = ()
    problem: str = ""
    event: str = ""
    memory: str = ""
    notes: tuple[str, ...] = ()


class Agent(Protocol):
    """An agent plays one episode at a time; the runner makes one for each episode."""

    def begin(self, briefing: Briefing) -> None: ...

    async def turn(self, view: View) -> Turn:
        """Raises ModelError when the model gives no answer."""
        ...

    def conditions(self) -> Mapping[str, object]:
        """Every setting that decides how this agent acts, for the record (JSON values)."""
        ...


@runtime_checkable
class Learner(Protocol):
    """An agent that also learns from a failed trial. Its lessons come back in ``Briefing.memory``."""

    async def learn(self, ending: str) -> Lesson:
        """Called once after an episode that was not won and that another trial follows, before the agent is let go.

        ``ending`` is how the episode ended (``step_limit``); what the right answer was is never told.
        Raises ModelError when the model gives no answer.
        """
        ...


@dataclass(frozen=True)
class AgentInfo:
    """A line of ``trialogue agents``: how an agent is named and what it is, with its source.

    ``package`` is the one that brings it, "" for this one; ``error`` says why it cannot be made, "" if it can.
    """

    name: str
    summary: str
    source: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    package: str = ""
    error: str = ""
