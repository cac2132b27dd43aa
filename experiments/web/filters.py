"""What a list of episodes is narrowed to and sorted by: the query string of its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from trialogue.errors import UnknownName, UsageError
from trialogue.experiments.failure_tags import KINDS

OPEN = "open"
"""What the ending of an episode is called here that has none yet."""

LONGEST = 1000  # characters of a search; SQLite refuses patterns of 50,000 bytes

SORTS = {
    "id": "episode.id",
    "run": "run.name",
    "task": "episode.task",
    "type": "episode.type",
    "seed": "episode.seed",
    "trial": "episode.trial",
    "ending": "episode.ending",
    "steps": "episode.steps",
    "turns": "episode.turns",
    "score": "episode.score",
    "seconds": "episode.seconds",
}
"""By name in the address: the SQL of it. A minus before the name turns the order round."""


@dataclass(frozen=True)
class Filter:
    """``run`` is a run's name or an agent; ``won`` "yes" or "no"; "" means all. ``page`` counts from 1."""

    run: str = ""
    type: str = ""
    ending: str = ""
    won: str = ""
    tag: str = ""
    q: str = ""
    sort: str = "id"
    page: int = 1

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Filter:
        """Raises UsageError for a value that means nothing; parameters of other names are left alone."""
        given: dict[str, Any] = {f.name: query[f.name].strip() for f in fields(cls) if query.get(f.name, "").strip()}
        page = given.pop("page", "1")
        # Seven digits are more pages than any store has, and more would overflow SQLite's integers.
        if not (page.isascii() and page.isdecimal() and len(page) <= 7 and int(page) > 0):
            raise UsageError(f"expected a page number from 1, got {page!r}")
        found = cls(**given, page=int(page))
        if len(found.q) > LONGEST:
            raise UsageError(f"expected at most {LONGEST} characters to search for, got {len(found.q)}")
        _require("order", found.sort.removeprefix("-"), SORTS)
        _require("tag", found.tag, {"", *KINDS})
        _require("won", found.won, {"", "yes", "no"})
        return found

    def address(self, **changes: Any) -> str:
        """``?run=…&q=…``: what is as usual is left out. A change of anything but the page goes back to the first."""
        usual = asdict(Filter())
        changed = replace(self, **{"page": 1, **changes})
        return "?" + urlencode({key: value for key, value in asdict(changed).items() if value != usual[key]})

    def sorted_by(self, column: str) -> str:
        """The address of this list sorted by ``column``; the other way round where it is so already."""
        return self.address(sort=f"-{column}" if self.sort == column else column)

    @property
    def order(self) -> str:
        """For ORDER BY, with the episode's number to break ties."""
        descending = " DESC" if self.sort.startswith("-") else ""
        return f"{SORTS[self.sort.removeprefix('-')]}{descending}, episode.id"


def _require(kind: str, name: str, known: Any) -> None:
    if name not in known:
        raise UnknownName(kind, name, (one for one in known if one))
