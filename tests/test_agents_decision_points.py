"""Events that call for a thought, noticed from the text alone."""

from __future__ import annotations

import pytest

from trialogue.agents.decision_points import DecisionPoints

FIRST = "You see a desk 1, a fridge 1, a drawer 1, a drawer 2, and a shelf 1."


def watched(patience: int = 5, goal: str = "cool mug and put it in shelf.") -> DecisionPoints:
    points = DecisionPoints(goal, patience)
    assert points.event(FIRST) == "start"
    return points


@pytest.mark.parametrize(
    ("observation", "problem", "event"),
    [
        ("On the desk 1, you see a book 1, and a pen 2.", "", ""),
        ("On the desk 1, you see a mug 3.", "", "goal_object_seen"),
        ("On the shelf 1, you see nothing.", "", ""),
        ("You pick up the mug 3 from the desk 1.", "", "goal_object_taken"),
        ("You pick up the book 1 from the desk 1.", "", ""),
        ("You cool the mug 3 using the fridge 1.", "", "subgoal_done"),
        ("You put the mug 3 in/on the shelf 1.", "", "subgoal_done"),
        ("You move the mug 3 to the shelf 1.", "", "subgoal_done"),
        ("You put the book 1 in/on the shelf 1.", "", ""),
        ("Nothing happens.", "there is no mug 3", "failed_action"),
        (None, "No action could be read.", "failed_action"),
        ("Your score has just gone up by one point.", "", "subgoal_done"),
    ],
)
def test_events(observation: str | None, problem: str, event: str) -> None:
    assert watched().event(observation, problem) == event


def test_the_same_object_is_seen_once() -> None:
    points = watched()
    assert points.event("On the desk 1, you see a mug 3.") == "goal_object_seen"
    assert points.event("On the desk 1, you see a mug 3.") == ""
    assert points.event("On the desk 1, you see a mug 4, and a mug 3.") == "goal_object_seen"


def test_nothing_new_for_some_steps() -> None:
    points = watched(patience=2)
    told = [f"You arrive at loc {n}. The drawer {n} is closed." for n in (1, 2, 1, 2)]
    assert [points.event(text) for text in told] == ["", "nothing_new"] * 2
    assert points.event("On the drawer 1, you see a pen 1.") == ""


def test_where_nothing_is_numbered_new_text_is_news() -> None:
    points = DecisionPoints("Where is the mill?", patience=2)
    told = ["A page.", "Another page.", "A page.", "A page.", "Another page."]
    assert [points.event(text) for text in told] == ["start", "", "", "nothing_new", ""]
