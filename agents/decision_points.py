"""When to think: events that a player notices from the text alone."""

from __future__ import annotations

import re

START = "start"
FAILED = "failed_action"
SUBGOAL = "subgoal_done"
TAKEN = "goal_object_taken"
SEEN = "goal_object_seen"
NOTHING_NEW = "nothing_new"
REPETITION = "repetition"
"""Going round in circles; called by the agent itself, where its settings say so."""

EVENTS = (START, FAILED, SUBGOAL, TAKEN, SEEN, NOTHING_NEW)
"""In order of precedence, when several happen at once."""

_THING = re.compile(r"\b(?!loc )([a-z][a-z-]*) (\d+)\b")  # json_2.1.1 numbers places too: "You arrive at loc 4."
_WORD = re.compile(r"[a-z][a-z-]*")
_TAKES = re.compile(r"\byou (?:pick up|take|now have)\b")
_TREATS = re.compile(r"\byou (?:heat|cool|clean|slice|put|move|place|turn on|insert)\b|\bscore has just gone up\b")


class DecisionPoints:
    """Watches one episode. ``patience`` is after how many steps without anything new a thought is due.

    Things are what the text numbers (``mug 1``). A goal object is a thing of a kind that the goal names and the first
    observation does not list (what it lists is the furniture). New is a thing, or, where nothing is
    numbered, an observation, that was not met before.
    """

    def __init__(self, goal: str, patience: int = 5) -> None:
        self._goal_words = set(_WORD.findall(goal.lower()))
        self._patience = patience
        self._met: set[str] = set()
        self._furniture: set[str] = set()
        self._idle = 0
        self._started = False

    def event(self, observation: str | None, problem: str = "") -> str:
        """The event in what an agent sees before a turn, "" when there is none. To be asked once for each turn."""
        text = (observation or "").lower()
        things = set(_THING.findall(text))
        if not self._started:
            self._started = True
            self._furniture = {kind for kind, _ in things}
            self._meet(text, things)
            return START
        objects = {thing for thing in things if thing[0] in self._goal_words - self._furniture}
        seen = any(_name(thing) not in self._met for thing in objects)
        new = self._meet(text, things)
        self._idle = 0 if new else self._idle + 1
        happened = {
            FAILED: bool(problem),
            SUBGOAL: _TREATS.search(text) is not None and (bool(objects) or not things),
            TAKEN: _TAKES.search(text) is not None and (bool(objects) or not things),
            SEEN: seen,
            NOTHING_NEW: self._idle >= self._patience,
        }
        event = next((event for event, now in happened.items() if now), "")
        self._idle = 0 if event else self._idle
        return event

    def _meet(self, text: str, things: set[tuple[str, str]]) -> bool:
        """Whether anything in ``text`` is new; it no longer is afterwards."""
        names = {_name(thing) for thing in things} or {text}
        new = not names <= self._met
        self._met |= names
        return new


def _name(thing: tuple[str, str]) -> str:
    return " ".join(thing)
