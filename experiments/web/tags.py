"""Failure tags of many episodes: told once for each, and again only for one that was played again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from trialogue.experiments.failure_tags import Tag, tags_of
from trialogue.experiments.web.reader import Reader

CHUNK = 200  # episodes whose steps are in memory at the same time

Tags = tuple[Tag, ...]


def tags_by_episode(reader: Reader, ids: Sequence[int]) -> Iterator[tuple[int, Tags]]:
    """The tags of each of these episodes that has been played to an end, in the order given by chunks."""
    for start in range(0, len(ids), CHUNK):
        for episode, facts in reader.facts(ids[start : start + CHUNK]):
            yield episode, tuple(tags_of(facts))


class TagCache:
    """The kinds of tags by episode, kept in memory for as long as an episode is not played again.

    What an episode did decides its tags, so a store that is being written needs no new pass over all of it.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[Any, ...], tuple[str, ...]]] = {}

    def of(self, reader: Reader, ids: Sequence[int], seconds: float) -> tuple[dict[int, tuple[str, ...]], bool]:
        """Kinds by episode; False beside those that were known, or told, before the time was up.

        What was told stays, so that asking again goes on from there.
        """
        until = time.monotonic() + seconds
        marks = reader.marks(ids)
        missing = [id for id, mark in marks.items() if self._known.get(id, (None,))[0] != mark]
        for start in range(0, len(missing), CHUNK):
            for episode, tags in tags_by_episode(reader, missing[start : start + CHUNK]):
                self._known[episode] = marks[episode], tuple(tag.kind for tag in tags)
            if time.monotonic() > until:  # only now: asking again must come further, however little time there is
                break
        known = {id: self._known[id][1] for id, mark in marks.items() if self._known.get(id, (None,))[0] == mark}
        return known, len(known) == len(marks)
