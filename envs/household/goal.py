"""What a household goal asks for, read from its text, and what a command towards it is for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from trialogue.errors import UsageError

APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
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
    """What a goal asks for, as kinds ("mug", "shelf"); "" for a target, lamp or treatment that it does not name.

    ``count`` is how many objects.
    """

    object: str
    target: str
    lamp: str
    treatment: str
    count: int = 1

    @classmethod
    def read(cls, text: str) -> Goal:
        """Reads ALFWorld's templated wordings, two for each task type. UsageError for any other text."""
        for pattern, treatment in _WORDINGS:
            if match := re.match(pattern, text):
                found = match.groupdict()
                count = 2 if " two " in pattern else 1
                return cls(found["object"], found.get("target", ""), found.get("lamp", ""), treatment, count)
        raise UsageError(f"the expert reads ALFWorld's templated goals ('put a mug in shelf.'); got {text[:80]!r}.")


Aim = Literal["search", "take", "put_away", "light", "treat", "deliver"]


@dataclass(frozen=True)
class Wish:
    """A command, and what it is for: ``thing`` is the object (of a search, its kind), ``place`` the receptacle."""

    command: str
    aim: Aim
    thing: str
    place: str
