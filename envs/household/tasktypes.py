"""The six ALFWorld task types: their names, how goals are worded, and what the rules count as done.

Names and goals as in ALFRED (Shridhar et al. 2020, section 3) and ALFWorld (Shridhar et al. 2021, appendix); a real
game's type is the first word of its folder name, ``pick_heat_then_place_in_recep-Egg-None-Fridge-5``.
"""

from __future__ import annotations

from dataclasses import dataclass

MOVABLE = "pick_and_place_with_movable_recep"
"""The seventh ALFRED type. ALFWorld's rules cannot stack objects, so such games cannot be won and are not loaded."""


@dataclass(frozen=True)
class TaskType:
    """One type: ``folder`` as in game paths, ``goals`` as worded to the player, ``pddl`` the condition that wins.

    ``treatment`` is the verb that the object needs first and ``appliance`` the receptacle type that does it, "" where
    there is none. ``rooms`` are the room kinds in which the type makes sense. In ``goals`` and ``pddl``,
    ``OBJ`` and ``REC`` stand for the object type and the target receptacle (or lamp) type.
    """

    name: str
    folder: str
    rooms: tuple[str, ...]
    goals: tuple[str, ...]
    pddl: str
    treatment: str = ""
    appliance: str = ""
    objects: int = 1


def _placed(*conditions: str) -> str:
    return (
        "(exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r) (objectType ?o OBJType) "
        f"(receptacleType ?r RECType) {' '.join(conditions)})))"
    )


_TWO = (
    "(exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 OBJType) (receptacleType ?r RECType) "
    "(inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 OBJType) "
    "(receptacleType ?r RECType) (inReceptacle ?o2 ?r))))))"
)

_LIT = (
    "(exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot RECType) (toggleable ?ot) "
    "(isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r))) "
    "(exists (?o - object ?a - agent) (and (objectType ?o OBJType) (holds ?a ?o)))"
)

_ANYWHERE = ("kitchen", "livingroom", "bedroom", "bathroom")

TASK_TYPES = {
    kind.name: kind
    for kind in (
        TaskType("put", "pick_and_place_simple", _ANYWHERE, ("put a OBJ in REC.", "put some OBJ on REC."), _placed()),
        TaskType(
            "clean",
            "pick_clean_then_place_in_recep",
            ("kitchen", "bathroom"),
            ("put a clean OBJ in REC.", "clean some OBJ and put it in REC."),
            _placed("(cleanable ?o)", "(isClean ?o)"),
            "clean",
            "SinkBasin",
        ),
        TaskType(
            "heat",
            "pick_heat_then_place_in_recep",
            ("kitchen",),
            ("put a hot OBJ in REC.", "heat some OBJ and put it in REC."),
            _placed("(heatable ?o)", "(isHot ?o)"),
            "heat",
            "Microwave",
        ),
        TaskType(
            "cool",
            "pick_cool_then_place_in_recep",
            ("kitchen",),
            ("put a cool OBJ in REC.", "cool some OBJ and put it in REC."),
            _placed("(coolable ?o)", "(isCool ?o)"),
            "cool",
            "Fridge",
        ),
        TaskType(
            "examine",
            "look_at_obj_in_light",
            ("livingroom", "bedroom"),
            ("look at OBJ under the REC.", "examine the OBJ with the REC."),
            _LIT,
        ),
        TaskType(
            "puttwo",
            "pick_two_obj_and_place",
            _ANYWHERE,
            ("put two OBJ in REC.", "find two OBJ and put them in REC."),
            _TWO,
            objects=2,
        ),
    )
}
"""By short name, in the order in which generated splits interleave them."""

_BY_FOLDER = {kind.folder: kind.name for kind in TASK_TYPES.values()}


def type_of(folder: str) -> str | None:
    """The short type name of a game folder (``pick_and_place_simple-Mug-None-Desk-1`` -> ``put``), None if it has none.

    The whole first word decides: ``pick_and_place_with_movable_recep`` is not ``pick_and_place_simple``.
    """
    return _BY_FOLDER.get(folder.split("-", 1)[0])
