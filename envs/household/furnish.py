"""Makes scenes: a room drawn from ALFRED's floor plans, a task that makes sense in it, objects where they may lie.

Most objects lie where such objects usually do in real games; some lie where one would not look first. Every scene is
solvable by construction, and :func:`trialogue.envs.household.solution.solution` writes the proof down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from trialogue.envs.household import rooms
from trialogue.envs.household.scene import Item, Place, Scene
from trialogue.envs.household.solution import solution
from trialogue.envs.household.tasktypes import TaskType

_MORE = ("Cabinet", "Drawer", "Shelf", "SideTable")  # added where a room has too few receptacles
_SURPRISE = 0.15  # how often an object lies anywhere it may, rather than where it usually does
_TWIN = 0.3  # how often one distractor is of the wanted kind


def make_scene(kind: TaskType, receptacles: int, distractors: int, seed: int) -> Scene:
    """A scene for a task of ``kind``; equal arguments give equal scenes.

    ``receptacles`` is their exact number; ``distractors`` that of objects beside those that the task needs.
    """
    scene = _Furnisher(kind, Random(f"{kind.name}/{seed}/{receptacles}/{distractors}")).scene(receptacles, distractors)
    solution(scene, "move")
    return scene


class _Furnisher:
    """One room being furnished for one task. A lamp is the target of ``examine``."""

    def __init__(self, kind: TaskType, random: Random) -> None:
        self.kind, self.random = kind, random
        self.plan, pairs = self._room()
        self.here = sorted({receptacle for receptacle, _ in self.plan.receptacles})
        self.item = random.choice(sorted({item for item, _ in pairs}))
        self.target = random.choice([target for item, target in pairs if item == self.item])

    def scene(self, receptacles: int, distractors: int) -> Scene:
        goal = self.random.choice(self.kind.goals).replace("OBJ", self.item.lower()).replace("REC", self.target.lower())
        places = self._furnish(receptacles)
        return Scene(self.kind, self.item, self.target, goal, places, self._scatter(places, distractors))

    def _room(self) -> tuple[rooms.Plan, list[tuple[str, str]]]:
        """A room in which the task makes sense, with the pairs of object and target between which it does."""
        numbers = rooms.PLANS[self.random.choice(self.kind.rooms)]
        for number in self.random.sample(numbers, len(numbers)):
            plan = rooms.plan(number)
            if pairs := _pairs(plan, self.kind):
                return plan, pairs
        raise ValueError(f"no floor plan offers a task of type {self.kind.name}")

    def _furnish(self, count: int) -> tuple[Place, ...]:
        """``count`` receptacles of the plan, those that the task needs among them, and more if the plan has too few."""
        pool = self.random.sample(self.plan.receptacles, len(self.plan.receptacles))
        spot = max(spot for _, spot in pool)
        chosen = []
        for receptacle in self._needed():
            chosen.append(pool.pop([kind for kind, _ in pool].index(receptacle)))
        chosen += pool[: count - len(chosen)]
        while len(chosen) < count:
            spot += 1
            chosen.append((self.random.choice(_MORE), spot))
        return _numbered(chosen)

    def _needed(self) -> list[str]:
        """The receptacle types that the task cannot do without: a source, the appliance, the target or the lamp's."""
        hosts = [place for place in self.here if place in rooms.usual_places()[rooms.LAMP]]
        target = self.random.choice(hosts) if self.target == rooms.LAMP else self.target
        source = self.random.choice(_sources(self.item, self.target, self.here))
        return [place for place in dict.fromkeys((source, self.kind.appliance, target)) if place]

    def _scatter(self, places: Sequence[Place], distractors: int) -> tuple[Item, ...]:
        """The task's objects away from the target, then the distractors."""
        away = [place for place in places if place.type != self.target]
        wanted = self.kind.objects
        if distractors and self.random.random() < _TWIN:
            wanted, distractors = wanted + 1, distractors - 1
        laid = [(self.item, self._lay(self.item, away)) for _ in range(wanted)]
        if self.target == rooms.LAMP:
            hosts = [place for place in places if place.type in rooms.usual_places()[rooms.LAMP]]
            laid.append((rooms.LAMP, self.random.choice(hosts)))
        others = self._others(places)
        laid += [(other, self._lay(other, places)) for other in self.random.choices(others, k=distractors)]
        counts: Counter[str] = Counter()
        return tuple(Item(kind, _next(counts, kind), place) for kind, place in laid)

    def _others(self, places: Sequence[Place]) -> list[str]:
        """What else lies about in such a room and has a place here; any small thing where the plan offers nothing."""
        capacity = [rooms.capacity()[place] for place in sorted({place.type for place in places})]
        fitting = [kind for kind in sorted(rooms.usual_places()) if any(kind in held for held in capacity)]
        fitting = [kind for kind in fitting if kind not in (self.item, rooms.LAMP)]
        return [kind for kind in fitting if kind in self.plan.objects] or fitting

    def _lay(self, item: str, places: Sequence[Place]) -> Place:
        allowed = sorted({place.type for place in places if item in rooms.capacity()[place.type]})
        weights = [rooms.usual_places()[item].get(receptacle, 0) for receptacle in allowed]
        if not any(weights) or self.random.random() < _SURPRISE:
            weights = [1] * len(allowed)
        receptacle = self.random.choices(allowed, weights)[0]
        return self.random.choice([place for place in places if place.type == receptacle])


def _pairs(plan: rooms.Plan, kind: TaskType) -> list[tuple[str, str]]:
    here = sorted({receptacle for receptacle, _ in plan.receptacles})
    if kind.appliance and kind.appliance not in here:
        return []
    items = sorted(plan.objects & (rooms.treatable(kind.treatment) if kind.treatment else set(rooms.usual_places())))
    targets = [place for place in here if place != kind.appliance]
    if kind.name == "examine":
        lit = rooms.LAMP in plan.objects and any(place in rooms.usual_places()[rooms.LAMP] for place in here)
        targets = [rooms.LAMP] if lit else []
    return [(item, place) for item in items for place in targets if _fits(item, place) and _sources(item, place, here)]


def _fits(item: str, target: str) -> bool:
    return item != rooms.LAMP and (target == rooms.LAMP or item in rooms.capacity()[target])


def _sources(item: str, target: str, here: Sequence[str]) -> list[str]:
    """Where the object may lie at the start: never where it has to go."""
    return [place for place in here if place != target and item in rooms.capacity()[place]]


def _numbered(chosen: Sequence[tuple[str, int]]) -> tuple[Place, ...]:
    """Numbers receptacles within their type and spots from 1, as the player will see them."""
    spots = {spot: i for i, spot in enumerate(sorted({spot for _, spot in chosen}), start=1)}
    counts: Counter[str] = Counter()
    return tuple(Place(kind, _next(counts, kind), spots[spot]) for kind, spot in sorted(chosen))


def _next(counts: Counter[str], kind: str) -> int:
    counts[kind] += 1
    return counts[kind]
