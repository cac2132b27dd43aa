"""A household scene: receptacles at spots, objects in receptacles, and what is to be done."""

from __future__ import annotations

from dataclasses import dataclass

from trialogue.envs.household.tasktypes import TaskType


@dataclass(frozen=True)
class Place:
    """A receptacle. Receptacles of one ``spot`` (1, 2, …) are reached together; the player starts at spot 0."""

    type: str
    number: int
    spot: int

    @property
    def name(self) -> str:
        return f"{self.type.lower()} {self.number}"


@dataclass(frozen=True)
class Item:
    """An object, and the receptacle in which it lies when the game starts."""

    type: str
    number: int
    place: Place

    @property
    def name(self) -> str:
        return f"{self.type.lower()} {self.number}"


@dataclass(frozen=True)
class Scene:
    """``item`` and ``target`` are the types that the goal names; ``goal`` is its wording."""

    kind: TaskType
    item: str
    target: str
    goal: str
    places: tuple[Place, ...]
    items: tuple[Item, ...]
