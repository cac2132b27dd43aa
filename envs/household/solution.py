"""A winning plan for a scene, each command held against the rules: the proof that a generated game can be won."""

from __future__ import annotations

from collections.abc import Iterator

from trialogue.envs.household import rooms
from trialogue.envs.household.grammar import DIALECTS
from trialogue.envs.household.scene import Item, Place, Scene


def solution(scene: Scene, dialect: str) -> list[str]:
    """Commands that win ``scene`` in ``dialect``. ValueError where the rules refuse one, or if it is won already."""
    return list(_Walk(scene, DIALECTS[dialect]).commands())


class _Walk:
    """Knows where it stands and what it has opened. The rules are ALFWorld's (alfred.pddl)."""

    def __init__(self, scene: Scene, put: str) -> None:
        self.scene, self.put = scene, put
        self.spot = 0
        self.open: set[Place] = set()

    def commands(self) -> Iterator[str]:
        scene, kind = self.scene, self.scene.kind
        wanted = [item for item in scene.items if item.type == scene.item]
        if len(wanted) < kind.objects or any(item.place.type == scene.target for item in wanted):
            raise ValueError(f"{kind.name} needs {kind.objects} {scene.item}, none of them at a {scene.target}")
        for item in wanted[: kind.objects]:
            yield from self._fetch(item)
            if kind.treatment:
                yield from self._treat(item)
            yield from self._light() if kind.name == "examine" else self._deliver(item)

    def _fetch(self, item: Item) -> Iterator[str]:
        yield from self._visit(item.place)
        yield f"take {item.name} from {item.place.name}"

    def _treat(self, item: Item) -> Iterator[str]:
        kind = self.scene.kind
        if item.type not in rooms.treatable(kind.treatment):
            raise ValueError(f"{item.type} is nothing to {kind.treatment}")
        appliance = self._first(kind.appliance)
        yield from self._go(appliance)
        yield f"{kind.treatment} {item.name} with {appliance.name}"

    def _light(self) -> Iterator[str]:
        lamp = next(item for item in self.scene.items if item.type == self.scene.target)
        yield from self._visit(lamp.place)
        yield f"use {lamp.name}"

    def _deliver(self, item: Item) -> Iterator[str]:
        if item.type not in rooms.capacity()[self.scene.target]:
            raise ValueError(f"{self.scene.target} cannot hold {item.type}")
        target = self._first(self.scene.target)
        yield from self._visit(target)
        yield self.put.format(object=item.name, receptacle=target.name)

    def _visit(self, place: Place) -> Iterator[str]:
        yield from self._go(place)
        if place.type in rooms.OPENABLE and place not in self.open:
            self.open.add(place)
            yield f"open {place.name}"

    def _go(self, place: Place) -> Iterator[str]:
        """The rules refuse to go where one stands already."""
        if place.spot != self.spot:
            self.spot = place.spot
            yield f"go to {place.name}"

    def _first(self, receptacle: str) -> Place:
        return next(place for place in self.scene.places if place.type == receptacle)
