"""A frozen set of pages: titles matched exactly, then tolerantly; similar titles ranked by BM25."""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from trialogue.envs.wiki.pages import SIMILAR, Page, title_key

_K1, _B = 1.2, 0.75
_DECIMALS = 6  # scores are compared at this precision, so that a tie is one on every machine


class Corpus:
    """Pages in memory. Of several pages with one title the first stays."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages: dict[str, Page] = {}
        for page in pages:
            self._pages.setdefault(page.title, page)

    def __len__(self) -> int:
        return len(self._pages)

    def page(self, title: str) -> Page | None:
        found = self._pages.get(title)
        return found or self._pages.get(self._by_key.get(title_key(title), ""))

    def similar(self, query: str) -> Sequence[str]:
        return self._ranking.best(query, SIMILAR)

    def fingerprint(self) -> str:
        """SHA-256 of all titles and sentences, whatever order they came in."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for title in sorted(self._pages):
            digest.update(json.dumps([title, self._pages[title].sentences]).encode())
        return digest.hexdigest()

    @cached_property
    def _by_key(self) -> dict[str, str]:
        return {title_key(title): title for title in sorted(self._pages, reverse=True)}

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking((page.title, page.sentences[0] if page.sentences else "") for page in self._pages.values())


class Ranking:
    """BM25 (Robertson & Zaragoza 2009, section 3.2) over titles and one line of text each.

    A title counts by its words and by their letter trigrams, so that a misspelt title is still found. Equal scores
    are ordered by title.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self._titles: list[str] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = []
        for number, (title, text) in enumerate(entries):
            terms = Counter([*_title_terms(title), *_words(text)])
            self._titles.append(title)
            lengths.append(terms.total())
            for term, count in terms.items():
                self._postings[term].append((number, count))
        mean = sum(lengths) / max(len(lengths), 1)
        self._damping = [_K1 * (1 - _B + _B * length / mean) for length in lengths]

    def best(self, query: str, count: int) -> Sequence[str]:
        """At most ``count`` titles that share a term with ``query``, best first."""
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(_title_terms(query)):
            postings = self._postings.get(term, ())
            rarity = math.log(1 + (len(self._titles) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, seen in postings:
                scores[number] += rarity * seen * (_K1 + 1) / (seen + self._damping[number])
        ranked = heapq.nsmallest(
            count, ((-round(score, _DECIMALS), self._titles[number]) for number, score in scores.items())
        )
        return tuple(title for _, title in ranked)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", title_key(text))


def _title_terms(title: str) -> Iterator[str]:
    for word in _words(title):
        yield word
        padded = f" {word} "
        yield from ("#" + padded[i : i + 3] for i in range(len(padded) - 2))
