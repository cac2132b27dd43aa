"""What rooms hold and what goes where: room lists and constants that the alfworld package carries, and usual places.

ALFWorld ships, for each of the 120 AI2-THOR rooms, ``FloorPlanN-openable.json`` (receptacle -> pose: x, z in metres,
rotation and horizon in degrees) and ``FloorPlanN-objects.json`` (object types), and ``constants.py``
with what may hold what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from trialogue.envs.household import package

PLANS = {
    "kitchen": range(1, 31),
    "livingroom": range(201, 231),
    "bedroom": range(301, 331),
    "bathroom": range(401, 431),
}
"""AI2-THOR's floor plan numbers by kind of room (Kolve et al. 2017)."""

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
VESSELS = frozenset({"Bowl", "Box", "Cup", "Mug", "Pan", "Plate", "Pot"})
"""Objects that are receptacles in AI2-THOR but not in ALFWorld's rules."""

LAMP = "DeskLamp"
_SEVERAL = {"StoveBurner": 4, "HandTowelHolder": 2}
_TREATMENTS = {"clean": "Cleanable", "heat": "Heatable", "cool": "Coolable", "slice": "Sliceable"}


@dataclass(frozen=True)
class Plan:
    """One room: its receptacles as (type, spot), where equal spots are reached at once, and the object types in it."""

    receptacles: tuple[tuple[str, int], ...]
    objects: frozenset[str]


@cache
def plan(number: int) -> Plan:
    """The room of ``FloorPlan{number}``. Receptacles whose pose is not listed get a spot of their own."""
    poses: dict[str, list[float]] = _layout(number, "openable")
    objects: frozenset[str] = frozenset(_layout(number, "objects"))
    spots: dict[tuple[float, ...], int] = {}
    found = [(_type(name), spots.setdefault(tuple(pose), len(spots))) for name, pose in sorted(poses.items())]
    listed = {kind for kind, _ in found}
    for kind in sorted((objects & set(capacity())) - listed):
        for _ in range(_SEVERAL.get(kind, 1)):
            found.append((kind, len(spots) + len(found)))
    return Plan(tuple(found), objects)


@cache
def capacity() -> Mapping[str, frozenset[str]]:
    """Receptacle type -> the pickupable object types that it may hold."""
    held_by = package.constants().VAL_RECEPTACLE_OBJECTS
    places = usual_places()
    return {
        receptacle: frozenset(kind for kind in held if kind in places)
        for receptacle, held in held_by.items()
        if receptacle not in VESSELS
    }


@cache
def treatable(treatment: str) -> frozenset[str]:
    """The object types that can be cleaned, heated, cooled or sliced."""
    return frozenset(package.constants().VAL_ACTION_OBJECTS[_TREATMENTS[treatment]])


@cache
def likelihoods() -> Mapping[str, Mapping[str, int]]:
    """:func:`usual_places` in the words of the game: "mug" -> "countertop" -> count."""
    return {
        thing.lower(): {place.lower(): count for place, count in places.items()}
        for thing, places in usual_places().items()
    }


@cache
def usual_places() -> Mapping[str, Mapping[str, int]]:
    """Object type -> receptacle type -> how often it starts there in real training games."""
    text = (files(__package__) / "places.yaml").read_text(encoding="utf-8")
    places: Mapping[str, Mapping[str, int]] = yaml.safe_load(text)
    return places


def _layout(number: int, kind: str) -> Any:
    return json.loads(package.text("gen", "layouts", f"FloorPlan{number}-{kind}.json"))


def _type(name: str) -> str:
    """``Cabinet|+00.68|+00.50|-02.20`` is a Cabinet, ``Sink|-01.90|+00.97|-01.50|SinkBasin`` a SinkBasin."""
    parts = name.split("|")
    return parts[4] if len(parts) > 4 else parts[0]
