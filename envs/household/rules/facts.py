"""What is true: facts by predicate, indexed by whatever positions somebody asks for.

A predicate's facts are tuples of names in sorted order, which is the order in which a game's texts list things.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from trialogue.envs.household.rules.conditions import Fact

Row = tuple[str, ...]
Index = dict[Any, list[Row]]
"""From what stands at the indexed positions (see :func:`key_at`) to the facts in which it does, sorted."""


def key_at(positions: Sequence[int]) -> Callable[[Row], Any]:
    """Takes what stands at ``positions`` of a row: for one a name, else a tuple of names."""
    return itemgetter(*positions) if positions else _nothing


def row_at(positions: Sequence[int]) -> Callable[[Row], Row]:
    """Takes what stands at ``positions`` of a row, always as a row."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return itemgetter(slice(positions[0], positions[0] + 1)) if positions else _nothing


def _nothing(row: Row) -> Row:
    return ()


class Facts:
    """A set of facts. ``changes`` counts, for each predicate, how often its facts have changed."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.changes: defaultdict[str, int] = defaultdict(int)
        self._rows: defaultdict[str, set[Row]] = defaultdict(set)
        self._indexes: defaultdict[str, dict[tuple[int, ...], Index]] = defaultdict(dict)
        for predicate, row in facts:
            self._rows[predicate].add(row)

    def rows(self, predicate: str) -> set[Row]:
        """What ``predicate`` holds of; to be read only."""
        return self._rows[predicate]

    def index(self, predicate: str, positions: tuple[int, ...]) -> Index:
        """Made when first asked for, and kept right from then on; to be read only."""
        index = self._indexes[predicate].get(positions)
        if index is None:
            index = self._indexes[predicate][positions] = {}
            key = key_at(positions)
            for row in sorted(self._rows[predicate]):
                index.setdefault(key(row), []).append(row)
        return index

    def add(self, predicate: str, row: Row) -> None:
        rows = self._rows[predicate]
        if row not in rows:
            rows.add(row)
            self.changes[predicate] += 1
            for positions, index in self._indexes[predicate].items():
                insort(index.setdefault(key_at(positions)(row), []), row)

    def remove(self, predicate: str, row: Row) -> None:
        rows = self._rows[predicate]
        if row in rows:
            rows.remove(row)
            self.changes[predicate] += 1
            for positions, index in self._indexes[predicate].items():
                index[key_at(positions)(row)].remove(row)

    def fork(self, changing: Iterable[str]) -> Facts:
        """A copy for changes in the facts of ``changing`` only; all others are shared."""
        fork = Facts(())
        fork._rows.update(self._rows)
        fork._indexes.update(self._indexes)
        for predicate in changing:
            fork._rows[predicate] = set(self._rows[predicate])
            fork._indexes[predicate] = {}
        return fork
