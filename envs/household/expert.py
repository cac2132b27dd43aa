"""A household expert that searches as a player must: it reads the goal, the observations and the admissible commands.

It visits receptacles in the order in which such objects usually lie there, opens what is closed, takes, treats, puts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trialogue.envs.household.engine import NOTHING
from trialogue.envs.household.knowledge import Knowledge, kind
from trialogue.envs.household.rooms import likelihoods
from trialogue.errors import UsageError

_APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_WORDINGS = (
    (r"(?:look at|examine the) (?P<object>\w+) (?:under|with) the (?P<lamp>\w+)", ""),
    (r"(?:put|find) two (?P<object>\w+) (?:in|and put them in) (?P<target>\w+)", ""),
    (r"(?:put a clean|clean some) (?P<object>\w+) (?:in|and put it in) (?P<target>\w+)", "clean"),
    (r"(?:put a hot|heat some) (?P<object>\w+) (?:in|and put it in) (?P<target>\w+)", "heat"),
    (r"(?:put a cool|cool some) (?P<object>\w+) (?:in|and put it in) (?P<target>\w+)", "cool"),
    (r"put (?:a|some) (?P<object>\w+) (?:in|on) (?P<target>\w+)", ""),
)


@dataclass(frozen=True)
class Goal:
    """What a goal asks for, as kinds ("mug", "shelf"); "" for a target, lamp or treatment that it does not name."""

    object: str
    target: str
    lamp: str
    treatment: str

    @classmethod
    def read(cls, text: str) -> Goal:
        """Reads ALFWorld's templated wordings, two for each task type. UsageError for any other text."""
        for pattern, treatment in _WORDINGS:
            if match := re.match(pattern, text):
                found = match.groupdict()
                return cls(found["object"], found.get("target", ""), found.get("lamp", ""), treatment)
        raise UsageError(f"the expert reads ALFWorld's templated goals ('put a mug in shelf.'); got {text[:80]!r}.")


class Expert:
    """Plays one episode towards ``goal``, the text of ``info["goal"]``."""

    def __init__(self, goal: str) -> None:
        self.goal = Goal.read(goal)
        self.knows = Knowledge()
        self.last = ""
        self.admissible: frozenset[str] = frozenset()
        self.treated: set[str] = set()

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        """The next command; "look" when nothing is left to try. UsageError without admissible commands."""
        if admissible is None:
            raise UsageError("the expert plays by the admissible commands; got None.")
        self.knows.observe(self.last, observation)
        if observation != NOTHING and self.last.startswith(f"{self.goal.treatment} "):
            self.treated.add(self.knows.held or "")
        self.admissible = frozenset(admissible)
        self.last = next(self._wishes(), "look")
        return self.last

    def did(self, action: str) -> None:
        """See :class:`trialogue.envs.contract.Policy`."""
        self.last = action

    def _wishes(self) -> Iterator[str]:
        """Admissible commands that help, best first."""
        held = self.knows.held
        if held is None:
            yield from self._collect()
        elif kind(held) != self.goal.object:
            yield from self._put_away(held)
        elif self.goal.lamp:
            yield from self._light()
        elif self.goal.treatment and held not in self.treated:
            yield from self._treat(held)
        else:
            yield from self._deliver(held)

    def _collect(self) -> Iterator[str]:
        """Takes a wanted object that was seen elsewhere than at the target, or searches for one."""
        seen = [(thing, place) for thing, place in self._seen(self.goal.object) if place != self._chosen_target()]
        elsewhere = [pair for pair in seen if kind(pair[1]) != self.goal.target or self.goal.treatment]
        for thing, place in elsewhere:
            yield from self._take(thing, place)
        yield from self._search(self.goal.object)
        for thing, place in seen:
            yield from self._take(thing, place)

    def _take(self, thing: str, place: str) -> Iterator[str]:
        yield from self._if_admissible(f"take {thing} from {place}")
        yield from self._reach(place)

    def _put_away(self, held: str) -> Iterator[str]:
        """Puts down what somebody else took, here or at the first receptacle where it can be done."""
        yield from sorted(c for c in self.admissible if c.startswith((f"move {held} to ", f"put {held} in/on ")))
        for place in self.knows.receptacles:
            yield from self._reach(place)

    def _light(self) -> Iterator[str]:
        for lamp, place in self._seen(self.goal.lamp):
            yield from self._if_admissible(f"use {lamp}")
            yield from self._reach(place)
        yield from self._search(self.goal.lamp)

    def _treat(self, held: str) -> Iterator[str]:
        for appliance in self._of_kind(_APPLIANCES[self.goal.treatment]):
            yield from self._if_admissible(f"{self.goal.treatment} {held} with {appliance}")
            yield from self._if_admissible(f"go to {appliance}")

    def _deliver(self, held: str) -> Iterator[str]:
        chosen = self._chosen_target()
        for target in sorted(self._of_kind(self.goal.target), key=lambda place: place != chosen):
            yield from self._if_admissible(f"move {held} to {target}")
            yield from self._if_admissible(f"put {held} in/on {target}")
            yield from self._reach(target)

    def _chosen_target(self) -> str | None:
        """The target that already holds a wanted object: two objects have to end in the same receptacle."""
        holding = [place for _, place in self._seen(self.goal.object) if kind(place) == self.goal.target]
        return holding[0] if holding and not self.goal.treatment else None

    def _search(self, wanted: str) -> Iterator[str]:
        """Visits what has not been looked into, likely places first."""
        unseen = [place for place in self.knows.receptacles if place not in self.knows.inspected]
        for place in sorted(unseen, key=lambda place: -self._likelihood(wanted, place)):
            yield from self._reach(place)

    def _reach(self, place: str) -> Iterator[str]:
        """Gets to ``place`` and sees what is in it; ``examine`` serves where one stands there already."""
        yield from self._if_admissible(f"open {place}")
        yield from self._if_admissible(f"go to {place}")
        yield from self._if_admissible(f"examine {place}")

    def _if_admissible(self, command: str) -> Iterator[str]:
        if command in self.admissible:
            yield command

    def _seen(self, wanted: str) -> list[tuple[str, str]]:
        places = sorted(self.knows.place.items())
        return [(thing, place) for thing, place in places if place is not None and kind(thing) == wanted]

    def _of_kind(self, wanted: str) -> list[str]:
        return [place for place in reversed(self.knows.receptacles) if kind(place) == wanted]

    def _likelihood(self, wanted: str, place: str) -> float:
        """How often such an object starts in this kind of receptacle, for each of them in this room."""
        often = likelihoods().get(wanted, {}).get(kind(place), 0)
        return often / len(self._of_kind(kind(place)))
