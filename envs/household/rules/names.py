"""What things are called: ``mug_bar__plus_00…`` is the mug with some number, as ALFWorld numbers them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from trialogue.envs.household.rules.conditions import Unreadable

_PARTS = "_bar_"
_WRITTEN = {"_minus_": "-", "_plus_": "+", "_dot_": ".", "_comma_": ","}


def names_of(ids: Iterable[str]) -> Mapping[str, str]:
    """The name of each id. In sorted order, the first of a kind gets the highest number.

    An id with several parts is of the kind that its first part says; in a sink or a bathtub, what has "basin" in its
    id is the basin. An id of one part has no number, and a space after its name. Raises Unreadable for what is no id.
    """
    names = {}
    ordered = sorted(ids)
    left = Counter(map(_kind, ordered))
    for id in ordered:
        if not re.fullmatch(r"[\w-]+", id):
            raise Unreadable(f"{id[:80]!r} is not a name")
        if kind := _kind(id):
            names[id] = f"{kind} {left[kind]}"
            left[kind] -= 1
        else:
            names[id] = f"{_plain(id)} "
    return names


def _kind(id: str) -> str:
    kind, several, _ = id.partition(_PARTS)
    return _plain(kind) + ("basin" if "basin" in id else "") if several else ""


def _plain(text: str) -> str:
    for written, meant in _WRITTEN.items():
        text = text.replace(written, meant)
    return text
