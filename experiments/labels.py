"""Labels: why an episode failed, as people see it, and how far they agree with the tags and with each other.

A label is one of the failure tags (:data:`trialogue.experiments.failure_tags.KINDS`) or a word of the person's own;
:data:`NOTHING` says that somebody looked and that none fits.
"""

from __future__ import annotations

import getpass
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from trialogue.errors import UsageError, nearest
from trialogue.experiments.endings import ERRORS, Ending
from trialogue.experiments.failure_tags import KINDS
from trialogue.experiments.results import chosen_runs
from trialogue.experiments.store import Store
from trialogue.experiments.store_file import open_checked
from trialogue.experiments.tagging import tagged

if TYPE_CHECKING:
    from rich.console import Console

NOTHING = "none"
TAGS = "the tags"
"""Who the automatic tags are, in a table of agreement."""

_LABEL = re.compile(r"\w[\w .:+-]{0,79}")


def login_name() -> str:
    """Who labels, where nobody says so."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError("your login name is not known here; say who labels with --who NAME") from None


def add_label(path: Path, episode: int, label: str, who: str, note: str = "") -> None:
    """Stores that ``who`` says ``label`` of an episode; said again, it replaces the note.

    One short transaction beside whatever a run is writing. Raises UsageError for a label, a name or an episode that
    cannot be, and when the store cannot be written.
    """
    label, who = _checked(label), who.strip()
    if not who:
        raise UsageError("a label needs to say who gives it (--who NAME)")
    with closing(_writable(path, episode)) as db, _writing(db, path):
        if label != NOTHING:
            db.execute("DELETE FROM label WHERE (episode, label, who) = (?, ?, ?)", (episode, NOTHING, who))
        row = (episode, label, who, note, time.time())
        db.execute("INSERT OR REPLACE INTO label (episode, label, who, note, time) VALUES (?, ?, ?, ?, ?)", row)


def remove_label(path: Path, episode: int, label: str, who: str) -> None:
    """Takes a label back. Raises UsageError when ``who`` has not given it."""
    with closing(_writable(path, episode)) as db, _writing(db, path):
        gone = db.execute("DELETE FROM label WHERE (episode, label, who) = (?, ?, ?)", (episode, label, who)).rowcount
        if not gone:
            raise UsageError(f"episode {episode} has no label {label!r} by {who!r}")


def hint(label: str) -> str:
    """For a label that is nearly, but not quite, a failure tag; "" for others."""
    near = nearest(label, KINDS)
    return (
        f"{label!r} is no failure tag, and is kept as a word of your own; did you mean {near!r}?"
        if (near and label not in KINDS)
        else ""
    )


def _checked(label: str) -> str:
    label = label.strip()
    if _LABEL.fullmatch(label) is None:
        raise UsageError(f"expected a label of at most 80 letters, digits, spaces and . : + - _, got {label!r}")
    return label


def _writable(path: Path, episode: int) -> sqlite3.Connection:
    db = open_checked(path, locked=False)
    if db.execute("SELECT 1 FROM episode WHERE id = ?", (episode,)).fetchone() is None:
        db.close()
        raise UsageError(f"{path} has no episode {episode}")
    return db


class _writing:
    """One transaction, begun at once so that it waits for a run's, not fails in the middle."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path

    def __enter__(self) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise UsageError(f"{self._path} cannot be written: {error}") from error

    def __exit__(self, kind: object, *_: object) -> None:
        self._db.rollback() if kind else self._db.commit()


# -- asking a person ------------------------------------------------------------------------------------


def next_unlabelled(store: Store, run: str | None, who: str, after: int = 0) -> int | None:
    """The first failed episode beyond ``after`` of which ``who`` has said nothing; None when there is none."""
    rows = {row["id"] for row in chosen_runs(store, run)}
    seen = {label["episode"] for label in store.labels() if label["who"] == who}
    passed = {*ERRORS, Ending.SOLVED_EARLIER, None}
    for row in store.episodes(forks=True):
        failed = row["ending"] not in passed and not row["won"]
        if row["id"] > after and row["run"] in rows and failed and row["id"] not in seen:
            return int(row["id"])
    return None


def ask(path: Path, run: str | None, who: str, console: Console) -> None:
    """Shows failed episodes one after the other and asks for their tags, until nothing is left or "q".

    The automatic tags are not shown: they would be agreed with.
    """
    from trialogue.experiments.show import print_episode

    kinds = [kind for kind in KINDS if kind != "lucky"]
    episode = 0
    while True:
        with Store.read(path) as store:
            found = next_unlabelled(store, run, who, after=episode)
            if found is None:
                console.print(f"no failed episode is left that {who} has not labelled", markup=False)
                return
            episode = found
            print_episode(store, episode, console)
        for number, kind in enumerate(kinds, start=1):
            console.print(f"{number:>3} {kind}: {KINDS[kind]}", markup=False, highlight=False)
        answer = _answer(
            f"{who}, why did episode {episode} fail? (numbers or words; Enter: none fits, s: skip, q: end) "
        )
        if answer == "q":
            return
        if answer != "s" and not _stored(path, episode, _chosen(answer, kinds), who, console):
            episode -= 1  # asked again


def _answer(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        return "q"


def _chosen(answer: str, kinds: Sequence[str]) -> list[str]:
    words = [word for word in re.split(r"[,\s]+", answer) if word] or [NOTHING]
    return [kinds[int(word) - 1] if word.isdecimal() and 0 < int(word) <= len(kinds) else word for word in words]


def _stored(path: Path, episode: int, chosen: Sequence[str], who: str, console: Console) -> bool:
    """Stores the labels, all or none; says why not, where one of them cannot be."""
    try:
        checked = list(map(_checked, chosen))
    except UsageError as error:
        console.print(f"not stored: {error}", markup=False)
        return False
    for label in checked:
        add_label(path, episode, label, who)
        if said := hint(label):
            console.print(said, markup=False)
    return True


# -- agreement ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Of ``a`` with ``b`` on one label, over the episodes that both have looked at: how many both, one or none gave it.

    ``kappa`` is None where chance alone explains everything: both always gave it, or never.
    """

    a: str
    b: str
    label: str
    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def observed(self) -> float:
        return (self.both + self.neither) / self.n

    @property
    def kappa(self) -> float | None:
        return cohens_kappa(self.both, self.only_a, self.only_b, self.neither)


def cohens_kappa(both: int, only_a: int, only_b: int, neither: int) -> float | None:
    """Agreement beyond chance of two raters who say yes or no (Cohen 1960); None where chance alone agrees fully."""
    n = both + only_a + only_b + neither
    if n == 0:
        return None
    yes = (both + only_a) * (both + only_b)
    no = (only_b + neither) * (only_a + neither)
    if yes + no == n * n:
        return None
    observed, expected = (both + neither) / n, (yes + no) / (n * n)
    return (observed - expected) / (1 - expected)


def agreements(store: Store, run: str | None = None) -> Iterator[Agreement]:
    """Of each person with the automatic tags, on each tag either gave, then of every two people on each label."""
    said = _said(store, run)
    automatic = {one.episode: {tag.kind for tag in one.tags} for one in tagged(store, run)}
    for who in sorted(said):
        yield from _compared(who, TAGS, said[who], automatic, known_only=True)
    for a, b in combinations(sorted(said), 2):
        yield from _compared(a, b, said[a], said[b], known_only=False)


Said = Mapping[int, set[str]]


def _said(store: Store, run: str | None) -> dict[str, dict[int, set[str]]]:
    """By person and episode, the labels given; an episode that was only looked at has an empty set."""
    runs = {row["id"] for row in chosen_runs(store, run)}
    said: dict[str, dict[int, set[str]]] = {}
    for row in store.labels():
        if row["run"] in runs:
            given = said.setdefault(row["who"], {}).setdefault(row["episode"], set())
            given |= {row["label"]} - {NOTHING}
    return said


def _compared(a: str, b: str, by_a: Said, by_b: Said, *, known_only: bool) -> Iterator[Agreement]:
    """``known_only``: of the failure tags alone, since a word of one's own is never an automatic one."""
    common = sorted(by_a.keys() & by_b.keys())
    given = {label for episode in common for label in by_a[episode] | by_b[episode]}
    order = [kind for kind in KINDS if kind in given]
    for label in order if known_only else [*order, *sorted(given - KINDS.keys())]:
        pairs = [(label in by_a[episode], label in by_b[episode]) for episode in common]
        cells = [pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
        yield Agreement(a, b, label, *cells)


def print_agreement(path: Path, run: str | None, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    with Store.read(path) as store:
        found = list(agreements(store, run))
        people = len(_said(store, run))
    if not found:
        console.print(f"{people} people have labelled, and there is nothing to compare", markup=False)
        return
    table = Table(title="Agreement", title_justify="left", title_style="bold")
    for name in ("a", "b", "label", "episodes", "both", "only a", "only b", "neither", "observed", "Cohen's kappa"):
        table.add_column(name, overflow="fold")
    for one in found:
        counts = map(str, (one.n, one.both, one.only_a, one.only_b, one.neither))
        kappa = "-" if one.kappa is None else f"{one.kappa:.2f}"
        cells = (one.a, one.b, one.label, *counts, f"{100 * one.observed:.0f}%", kappa)
        table.add_row(*map(Text, cells))
    console.print(table)
