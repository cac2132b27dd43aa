"""One page of the list of episodes: narrowed by SQL, by a search with a time limit, and by failure tags."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialogue.experiments.web.filters import Filter
from trialogue.experiments.web.reader import Reader
from trialogue.experiments.web.tags import TagCache

SIZE = 50  # episodes on a page
SECONDS = 8.0  # for a search, and for the tags of episodes that have not been looked at before
KEPT = 16  # searches whose results are remembered

Found = tuple[list[int], bool]


@dataclass(frozen=True)
class Page:
    """``rows`` with their tags and, in a search, where the text stands; ``total`` is that of all pages.

    ``notes`` say what the list lacks, and why.
    """

    rows: tuple[dict[str, Any], ...]
    total: int
    pages: int
    notes: tuple[str, ...]


class Listing:
    """Lists of one store. What a search and a pass for tags found is kept in memory, never in the store."""

    def __init__(self, path: Path, seconds: float = SECONDS) -> None:
        self._path = path
        self._seconds = seconds
        self._tags = TagCache()
        self._searches: OrderedDict[tuple[Any, ...], Found] = OrderedDict()

    def page(self, reader: Reader, chosen: Filter) -> Page:
        within, notes = self._narrow(reader, chosen)
        total = reader.count(chosen) if within is None else len(within)
        rows = self._rows(reader, chosen, within)
        tags, _ = self._tags.of(reader, [row["id"] for row in rows], self._seconds)
        for row in rows:
            row["tags"] = tags.get(row["id"], ())
            row["snippet"] = snippet(reader, row, chosen.q) if chosen.q else None
        return Page(tuple(rows), total, max(1, -(-total // SIZE)), notes)

    def _rows(self, reader: Reader, chosen: Filter, within: Sequence[int] | None) -> list[dict[str, Any]]:
        if within is None or chosen.sort != "id":
            return reader.page(chosen, SIZE, within)
        begin = SIZE * (chosen.page - 1)
        return reader.page(replace(chosen, page=1), SIZE, within[begin : begin + SIZE])

    def neighbours(self, reader: Reader, chosen: Filter, episode: int) -> tuple[int | None, int | None, int, int]:
        """The episodes before and after this one in the list, its place from 1 and the length of the list.

        Its place is 0 where it is not in the list.
        """
        within, _ = self._narrow(reader, chosen)
        ids = reader.ids(chosen, within)
        if episode not in ids:
            return None, None, 0, len(ids)
        at = ids.index(episode)
        return (ids[at - 1] if at else None), (ids[at + 1] if at + 1 < len(ids) else None), at + 1, len(ids)

    def _narrow(self, reader: Reader, chosen: Filter) -> tuple[Sequence[int] | None, tuple[str, ...]]:
        """The episodes that search and tag leave, None for all; and what is to be said of it."""
        within: Sequence[int] | None = None
        notes: list[str] = []
        if chosen.q:
            within, complete = self._search(reader, chosen)
            if not complete:
                notes.append(
                    f"The search was stopped after {self._seconds:g} seconds; what it had found is shown. "
                    "Narrow it by run, type or ending."
                )
        if chosen.tag:
            asked = reader.ids(replace(chosen, sort="id"), within)
            tags, complete = self._tags.of(reader, asked, self._seconds)
            within = [id for id in asked if chosen.tag in tags.get(id, ())]
            if not complete:
                notes.append(f"So far {len(tags)} episodes were looked at for tags. Load again to go on from there.")
        return within, tuple(notes)

    def _search(self, reader: Reader, chosen: Filter) -> Found:
        key = (replace(chosen, sort="id", page=1, tag=""), *_stamp(self._path))
        found = self._searches.get(key)
        if found is None:
            found = self._searches[key] = reader.search(chosen, self._seconds)
            if len(self._searches) > KEPT:
                self._searches.popitem(last=False)
        return found


def _stamp(path: Path) -> Iterator[tuple[int, int]]:
    """Changes whenever the store does: its log is written first, and only later the file itself.

    A log without content says nothing: whoever opens the store makes it, and whoever closes it last takes it away.
    """
    for file in (path, path.with_name(path.name + "-wal")):
        with suppress(FileNotFoundError):
            state = file.stat()
            if state.st_size:
                yield state.st_mtime_ns, state.st_size


def snippet(reader: Reader, row: dict[str, Any], text: str) -> tuple[str, str, str] | None:
    """The first place in an episode at which ``text`` stands: what is before it, itself, and what is after."""
    for told in _texts(reader, row):
        at = told.lower().find(text.lower())
        if at >= 0:
            end = at + len(text)
            before = ("…" if at > 40 else "") + told[max(0, at - 40) : at]
            return before, told[at:end], told[end : end + 80] + ("…" if len(told) > end + 80 else "")
    return None


def _texts(reader: Reader, row: dict[str, Any]) -> Iterator[str]:
    head = reader.head(row["id"])
    yield from (head["task"], head["goal"], head["observation"], head["error"])
    for turn in reader.turns(row["id"]):
        yield from json.loads(turn["thoughts"])
    for step in reader.steps(row["id"]):
        yield from (step.action or "", step.observation, step.reason)
