"""What the expert thinks: where something is decided, and nothing that it has not seen."""

from __future__ import annotations

import random
import re

import pytest

from trialogue.envs import make
from trialogue.envs.household.expert import Expert

ROOM = """You are in the middle of a room. Looking quickly around you, you see a desk 1, a safe 1, and a sofa 1."""
THING = re.compile(r"\b([a-z]+ \d+)")


def played(goal: str, *moves: tuple[list[str], str]) -> list[str]:
    """What is thought and done, where each command is answered as ``moves`` say: the commands, then the answer."""
    expert, observation, told = Expert(goal), ROOM, []
    for admissible, answer in moves:
        action = expert.act(observation, admissible)
        told += [f"think: {thought}" for thought in [expert.thought(dense=False)] if thought]
        told.append(action)
        observation = answer
    return told


def test_two_objects_from_one_place() -> None:
    go = ["go to desk 1", "go to safe 1", "go to sofa 1"]
    told = played(
        "put two cd in safe.",
        (go, "You arrive at desk 1. On the desk 1, you see a cd 2, a cd 1, and a pen 1."),
        ([*go, "take cd 1 from desk 1", "take cd 2 from desk 1"], "You pick up the cd 1 from the desk 1."),
        (go, "You arrive at safe 1. The safe 1 is closed."),
        ([*go, "open safe 1"], "You open the safe 1. The safe 1 is open. In it, you see nothing."),
        ([*go, "move cd 1 to safe 1"], "You move the cd 1 to the safe 1."),
        (go, "You arrive at desk 1. On the desk 1, you see a cd 2, and a pen 1."),
        ([*go, "take cd 2 from desk 1"], "You pick up the cd 2 from the desk 1."),
        (go, "You arrive at safe 1. The safe 1 is open. In it, you see a cd 1."),
    )
    assert told == [
        "think: I need two cd, one after the other, for a safe. Where to look: desk 1; safe 1; sofa 1.",
        "go to desk 1",
        "think: cd 1 is at desk 1. cd 2 is there too.",
        "take cd 1 from desk 1",
        "think: I have cd 1. It goes to safe 1.",
        "go to safe 1",
        "open safe 1",
        "move cd 1 to safe 1",
        "think: cd 1 is in place. cd 2 is at desk 1.",
        "go to desk 1",
        "take cd 2 from desk 1",
        "think: I have cd 2. It goes to safe 1.",
        "go to safe 1",
    ]


def test_a_lamp_that_is_met_first_is_kept_in_mind() -> None:
    go = ["go to desk 1", "go to safe 1", "go to sofa 1"]
    told = played(
        "look at book under the desklamp.",
        (go, "You arrive at desk 1. On the desk 1, you see a desklamp 1."),
        (go, "You arrive at sofa 1. On the sofa 1, you see nothing."),
        (go, "You arrive at safe 1. The safe 1 is closed."),
        ([*go, "open safe 1"], "You open the safe 1. The safe 1 is open. In it, you see a book 1."),
        ([*go, "take book 1 from safe 1"], "You pick up the book 1 from the safe 1."),
        (go, "You arrive at desk 1. On the desk 1, you see a desklamp 1."),
        ([*go, "use desklamp 1"], "You turn on the desklamp 1."),
    )
    thoughts = [line for line in told if line.startswith("think")]
    assert thoughts[1:] == [
        "think: desklamp 1 is at desk 1, for later.",
        "think: book 1 is at safe 1.",
        "think: I have book 1. desklamp 1 is at desk 1.",
    ]
    assert told[-1] == "use desklamp 1"


@pytest.mark.parametrize("dialect", ["move", "put"])
@pytest.mark.parametrize("dense", [False, True])
def test_thoughts_tell_only_what_was_seen_and_lists_only_what_was_not_looked_into(dialect: str, dense: bool) -> None:
    env = make("household", dialect=dialect, receptacles=20, distractors=30, count=48)
    draw, counts = random.Random(1), {"steps": 0, "thoughts": 0, "lists": 0}
    for task in env.tasks("generated_train"):
        observation, info = env.reset(options={"task": task.id})
        expert, seen = env.expert(), set(THING.findall(observation))
        assert isinstance(expert, Expert)
        while not info["won"] and counts["steps"] < 4000:
            counts["steps"] += 1
            action = expert.act(observation, info["admissible"])
            if draw.random() < 0.1:
                action = draw.choice(info["admissible"])
                expert.did(action)
            else:
                thought = expert.thought(dense=dense)
                assert "\n" not in thought
                assert set(THING.findall(thought)) <= seen, (task.id, thought)
                counts["thoughts"] += bool(thought)
                assert bool(thought) or not dense
                if "Where to look: " in thought:
                    counts["lists"] += 1
                    listed = thought.partition("Where to look: ")[2].rstrip(".").split("; ")
                    assert not set(listed) & expert.knows.inspected
                    assert listed[0] in action
            observation, _, _, _, info = env.step(action)
            seen |= set(THING.findall(observation))
        assert info["won"]
    assert counts["lists"] >= 48
    assert dense or counts["thoughts"] < counts["steps"] / 1.5
