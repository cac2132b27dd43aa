"""Writes a scene as a PDDL problem for ALFWorld's domain (alfred.pddl).

Names are mangled as in ALFWorld's own games (``Mug_bar_002``), because things are numbered there by sorting these
names: the first in order gets the highest number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from trialogue.envs.household import rooms
from trialogue.envs.household.scene import Item, Place, Scene

_AGENT = "agent1"
_NAMED_IN_DOMAIN_R = {"SinkBasin", "Microwave", "Fridge", "Sink"}
_NAMED_IN_DOMAIN_O = {"Knife", "ButterKnife"}
_FLAGS = {"clean": "cleanable", "heat": "heatable", "cool": "coolable", "slice": "sliceable"}


def write_problem(scene: Scene) -> str:
    """The PDDL text of ``scene``."""
    ids = _ids(scene)
    spots = [f"loc_bar_{spot:03}" for spot in range(max(place.spot for place in scene.places) + 1)]
    rtypes = sorted({place.type for place in scene.places} | _NAMED_IN_DOMAIN_R)
    otypes = sorted({item.type for item in scene.items} | _NAMED_IN_DOMAIN_O | {scene.item})
    lines = [
        "(define (problem generated)",
        "(:domain alfred)",
        "(:objects",
        f"{_AGENT} - agent",
        *(f"{kind}Type - otype" for kind in otypes),
        *(f"{kind}Type - rtype" for kind in rtypes),
        *(f"{ids[item]} - object" for item in scene.items),
        *(f"{ids[place]} - receptacle" for place in scene.places),
        *(f"{spot} - location" for spot in spots),
        ")",
        "(:init",
        f"(atLocation {_AGENT} {spots[0]})",
        *(f"(canContain {r}Type {o}Type)" for r in rtypes for o in otypes if o in rooms.capacity().get(r, ())),
        *(fact for place in scene.places for fact in _place_facts(place, ids[place], spots)),
        *(fact for item in scene.items for fact in _item_facts(item, ids, spots)),
        ")",
        f"(:goal (and {_goal(scene)}))",
        ")",
    ]
    return "\n".join(lines) + "\n"


def _goal(scene: Scene) -> str:
    return scene.kind.pddl.replace("OBJ", scene.item).replace("REC", scene.target)


def _ids(scene: Scene) -> dict[Place | Item, str]:
    things: Sequence[Place | Item] = (*scene.places, *scene.items)
    totals = Counter(thing.type for thing in things)
    return {thing: _mangled(thing.type, totals[thing.type] + 1 - thing.number) for thing in things}


def _mangled(kind: str, index: int) -> str:
    """``SinkBasin`` is written ``Sink_bar_01_bar_SinkBasin``, as the engine's naming expects."""
    if kind.endswith("Basin"):
        return f"{kind.removesuffix('Basin')}_bar_{index:03}_bar_{kind}"
    return f"{kind}_bar_{index:03}"


def _place_facts(place: Place, name: str, spots: Sequence[str]) -> Iterator[str]:
    yield f"(receptacleType {name} {place.type}Type)"
    yield f"(receptacleAtLocation {name} {spots[place.spot]})"
    if place.type in rooms.OPENABLE:
        yield f"(openable {name})"


def _item_facts(item: Item, ids: dict[Place | Item, str], spots: Sequence[str]) -> Iterator[str]:
    name = ids[item]
    yield f"(objectType {name} {item.type}Type)"
    yield f"(objectAtLocation {name} {spots[item.place.spot]})"
    yield f"(inReceptacle {name} {ids[item.place]})"
    yield f"({'toggleable' if item.type == rooms.LAMP else 'pickupable'} {name})"
    if item.type in rooms.VESSELS:
        yield f"(isReceptacleObject {name})"
    for treatment, flag in _FLAGS.items():
        if item.type in rooms.treatable(treatment):
            yield f"({flag} {name})"
