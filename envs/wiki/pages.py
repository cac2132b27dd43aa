"""What a page is, where pages come from, and how text becomes sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

SIMILAR = 5
"""How many similar titles a failed search names (ReAct)."""


@dataclass(frozen=True)
class Page:
    """A page of an encyclopedia: its title and its sentences in reading order."""

    title: str
    sentences: tuple[str, ...]


@runtime_checkable
class PageSource(Protocol):
    """Where searches look. A source may raise EnvError when it cannot be reached; the rest never raise."""

    def page(self, title: str) -> Page | None:
        """The page of that title, exact before tolerant of case and accents; None when there is none."""
        ...

    def similar(self, query: str) -> Sequence[str]:
        """At most SIMILAR titles like ``query``, best first, always the same ones in the same order."""
        ...

    def fingerprint(self) -> str:
        """What identifies the text behind this source: a hash where it is frozen, an address where it is live."""
        ...


def title_key(title: str) -> str:
    """Titles with equal keys differ in case, accents, underscores or white space only."""
    decomposed = unicodedata.normalize("NFKD", title.replace("_", " ")).casefold()
    return " ".join("".join(c for c in decomposed if not unicodedata.combining(c)).split())


_BLANK = " \t\r\n"
_END = re.compile(r"[.!?]['\"”’)\]]*[ \t]+(?=['\"“‘(\[]*[^\W_a-z])")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")
_ABBREVIATIONS = frozenset(
    (
        *(
            "Mr",
            "Mrs",
            "Ms",
            "Dr",
            "Prof",
            "Gen",
            "Col",
            "Lt",
            "Sgt",
            "Capt",
            "Rev",
            "Hon",
            "St",
            "Mt",
            "Ft",
            "Jr",
            "Sr",
        ),
        *("No", "Nos", "Inc", "Ltd", "Co", "Corp", "Vol", "vs", "ca", "cf", "approx", "pp", "ed", "eds", "trans"),
    )
)


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of plain text, paragraph by paragraph. No character but white space between sentences is lost."""
    return tuple(sentence for paragraph in text.split("\n") for sentence in _sentences(paragraph))


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(paragraph):
        word = paragraph[max(start, paragraph.rfind(" ", start, end.start()) + 1) : end.end()]
        if not _is_abbreviated(word.strip(_BLANK)):
            yield paragraph[start : end.end()].strip(_BLANK)
            start = end.end()
    rest = paragraph[start:].strip(_BLANK)
    if rest:
        yield rest


def _is_abbreviated(word: str) -> bool:
    """Whether the full stop belongs to an abbreviation or an initial, so that the sentence goes on."""
    stem = word[:-1].lstrip("('\"“‘[")
    return word.endswith(".") and (stem in _ABBREVIATIONS or _INITIALS.fullmatch(stem) is not None)
