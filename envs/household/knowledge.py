"""What a player knows: everything here is read from the commands given and the observations returned, nothing else.

It is used to say why a command was refused without giving hidden things away, and by the expert.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_THING = r"[a-z]+ \d+"
_LISTED = re.compile(rf"\ban? ({_THING})")
_OPENING = re.compile(r"you are in the middle of a room\.[^.]*you see (.*?)\.", re.IGNORECASE | re.DOTALL)
_SEEN = re.compile(rf"(?:On the ({_THING}), you see|The ({_THING}) is open\. In it, you see) (.*?)\.(?: |$)")
_CLOSED = re.compile(rf"The ({_THING}) is closed\.|You close the ({_THING})\.")
_FACING = re.compile(r"You are facing the (.*?)\. Next to it")
_TAKEN = re.compile(rf"You pick up the ({_THING}) from the {_THING}\.")
_PUT = re.compile(rf"You (?:move|put) the ({_THING}) (?:to|in/on) the ({_THING})\.")
_GO = re.compile(rf"go to ({_THING})")


class Knowledge:
    """Receptacles in the order in which the opening lists them, objects where last seen, and what is in hand.

    ``place`` maps an object to its receptacle, or to None while it is held. ``closed`` and ``opened`` hold receptacles
    that were seen so; ``inspected`` those whose content was seen. ``here`` is what is known to be in reach.
    """

    def __init__(self) -> None:
        self.receptacles: tuple[str, ...] = ()
        self.place: dict[str, str | None] = {}
        self.held: str | None = None
        self.here: set[str] = set()
        self.closed: set[str] = set()
        self.opened: set[str] = set()
        self.inspected: set[str] = set()

    def observe(self, command: str, observation: str) -> None:
        """Takes in one observation and the command that led to it ("" for the first)."""
        self._look_around(observation)
        if observation.startswith("You arrive at") and (gone := _GO.fullmatch(command)):
            self.here = {gone.group(1)}
        for closed in _CLOSED.findall(observation):
            self._mark(closed[0] or closed[1], self.closed, self.opened)
        for plain, opened, listing in _SEEN.findall(observation):
            self._inspect(plain or opened, things(listing))
            if opened:
                self._mark(opened, self.opened, self.closed)
        if taken := _TAKEN.fullmatch(observation):
            self.held = taken.group(1)
            self.place[self.held] = None
        if put := _PUT.fullmatch(observation):
            self.held = None
            self.place[put.group(1)] = put.group(2)

    def inside(self, receptacle: str) -> list[str]:
        """The objects last seen in ``receptacle``, by name."""
        return sorted(thing for thing, place in self.place.items() if place == receptacle)

    def _look_around(self, observation: str) -> None:
        if opening := _OPENING.search(observation):
            # Looking again from where one began shows "nothing"; the room has not become empty.
            self.receptacles = tuple(things(opening.group(1))) or self.receptacles
            self.here = set()
        if facing := _FACING.match(observation):
            self.here = set(re.findall(_THING, facing.group(1)))

    def _inspect(self, receptacle: str, found: Sequence[str]) -> None:
        self.inspected.add(receptacle)
        for thing in self.inside(receptacle):
            if thing not in found:
                del self.place[thing]
        self.place.update(dict.fromkeys(found, receptacle))

    def _mark(self, receptacle: str, to: set[str], away: set[str]) -> None:
        to.add(receptacle)
        away.discard(receptacle)


def things(listing: str) -> list[str]:
    """The names in a listing: "a mug 1, and a pen 2" -> ["mug 1", "pen 2"]; "nothing" -> []."""
    return _LISTED.findall(listing)


def kind(name: str) -> str:
    """``mug 1`` -> ``mug``."""
    return name.rsplit(" ", 1)[0]
