"""The kinds of generated games, and what a level of each means.

They are TextWorld's own challenges (Côté et al. 2018, https://arxiv.org/abs/1806.11532; cooking: "First TextWorld
Problems", 2018). Coin collector and treasure hunter are numbered as TextWorld numbers them; cooking and simple have no
levels there, so a level here is a line of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """``levels`` are those that can be made; ``usual`` those that a split holds unless told otherwise.

    ``settings`` gives what TextWorld's maker is told for a level, and for a game that is met in evaluation.
    ``last_step_only``: the goal names the last step, because TextWorld's full text would give the whole way away.
    """

    levels: Collection[int]
    usual: tuple[int, ...]
    settings: Callable[[int, bool], Settings]
    last_step_only: bool = False


_COOKING = (
    # ingredients, of these to find, rooms, then: closed things, cooking, cutting, few hands
    (1, 1, 1, False, False, False, False),
    (1, 1, 1, True, True, False, False),
    (1, 1, 1, True, True, True, False),
    (2, 2, 1, True, True, True, False),
    (3, 3, 1, True, True, True, True),
    (1, 1, 6, True, True, True, False),
    (2, 2, 6, True, True, True, False),
    (3, 3, 9, True, True, True, True),
    (3, 3, 12, True, True, True, True),
    (5, 5, 12, True, True, True, True),
)
_SIMPLE = tuple(
    (goal, rewards) for goal in ("detailed", "brief", "none") for rewards in ("dense", "balanced", "sparse")
)


def _by_level(level: int, evaluation: bool) -> Settings:
    return {"level": level}


def _cooking(level: int, evaluation: bool) -> Settings:
    names = ("recipe", "take", "go", "open", "cook", "cut", "drop")
    told = dict(zip(names, _COOKING[level - 1], strict=True))
    return told | {"recipe_seed": 0, "split": "test" if evaluation else "train"}


def _simple(level: int, evaluation: bool) -> Settings:
    goal, rewards = _SIMPLE[level - 1]
    return {"goal": goal, "rewards": rewards, "test": evaluation}


KINDS = {
    # Rooms of a coin collector: the length of the way, times 1 (levels to 100), 2 (to 200) or 3; 100 at most.
    "coin_collector": Kind((*range(1, 151), *range(201, 234)), (5, 105, 10), _by_level, last_step_only=True),
    "treasure_hunter": Kind(range(1, 31), (4, 8, 12), _by_level, last_step_only=True),
    "cooking": Kind(range(1, len(_COOKING) + 1), (2, 3, 4), _cooking),
    "simple": Kind(range(1, len(_SIMPLE) + 1), (2, 1, 3), _simple),
}
