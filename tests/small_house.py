"""A house of two places for tests of agents, and the loop that plays an episode in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from trialogue.agents.contract import Agent, Briefing, Lesson, Turn, View
from trialogue.exemplars.contract import Exemplar, ExemplarStep

TEMPLATES = ("look", "go to {receptacle}", "take {object} from {receptacle}")
ADMISSIBLE = ("go to desk 1", "go to shelf 1", "look", "take mug 1 from desk 1")
GOAL = "find a mug."
PLACES = {"desk 1": "On the desk 1, you see a mug 1.", "shelf 1": "On the shelf 1, you see nothing."}
START = "You are in a room. You see a desk 1, and a shelf 1."

EXEMPLARS = tuple(
    Exemplar(
        id=f"pen-{number}",
        env="household",
        type="find",
        task=f"train/{number}",
        goal=f"find pen {number}.",
        dialect="put",
        observation=f"A room with a bed {number}.",
        steps=(
            ExemplarStep(("A pen may be on the bed.",), f"go to bed {number}", "On it is a pen 1.", "start"),
            ExemplarStep(("Here it is.",), f"take pen 1 from bed {number}", "You pick up the pen 1."),
        ),
    )
    for number in (1, 2, 3)
)


@dataclass
class House:
    """Counts its moves; the goal is reached by taking the mug."""

    moves: list[str] = field(default_factory=list)
    won: bool = False

    def step(self, action: str) -> tuple[str, str]:
        """The observation, and why the action was not accepted ("" if it was)."""
        self.moves.append(action)
        if action not in ADMISSIBLE:
            return "Nothing happens.", f"{action!r} is not possible"
        if action.startswith("take"):
            self.won = True
            return "You pick up the mug 1 from the desk 1.", ""
        return PLACES.get(action.removeprefix("go to "), START), ""


def briefing(memory: tuple[str, ...] = (), seed: int = 7) -> Briefing:
    return Briefing(
        env="household",
        task="t/1",
        type="find",
        goal=GOAL,
        templates=TEMPLATES,
        dialect="put",
        memory=tuple(Lesson(trial, text) for trial, text in enumerate(memory)),
        seed=seed,
    )


def exemplars_for(env: str, type: str, dialect: str) -> tuple[Exemplar, ...]:
    assert (env, type, dialect) == ("household", "find", "put")
    return EXEMPLARS


async def play(agent: Agent, turns: int, told: Briefing | None = None) -> tuple[House, list[Turn]]:
    """Plays at most ``turns`` turns."""
    house, played = House(), list[Turn]()
    agent.begin(told or briefing())
    view = View(START, ADMISSIBLE)
    while len(played) < turns and not house.won:
        turn = await agent.turn(view)
        played.append(turn)
        if turn.action is not None:
            observation, reason = house.step(turn.action)
            view = View(observation, ADMISSIBLE, reason)
        else:
            view = View(None, ADMISSIBLE, turn.problem)
    return house, played
