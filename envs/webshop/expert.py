"""A buyer that reads only what a player reads: the goal on the first page, and the pages it opens.

It searches for the goal's words, looks at the results that fit the price and share most words with the goal, reads
their features where words are still missing, and buys the first that has them all, else the best it saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trialogue.envs.webshop.words import word_list

_LOOKS = 5
"""How many products are looked at before the best of them is bought."""

_TOO_DEAR = 100.0  # weighs more than all the words that a goal may have

_LIMIT = re.compile(r", and price lower than ([\d.]+) dollars")
_PRICE = re.compile(r"\$([\d.]+)")
_RESULT = re.compile(r"^\[(\w+)\]\n(.*)\n(\$.*)$", re.MULTILINE)
_CHOICE = re.compile(r"^([^\[\n]+) (\[.+\])$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset(word_list("small_words"))


@dataclass
class _Look:
    """What was seen of one product: its words, the values to choose, and how much is missing or too dear."""

    asin: str
    words: set[str]
    values: list[str]
    misses: float


class Buyer:
    """Implements :class:`trialogue.envs.contract.Policy`."""

    def __init__(self) -> None:
        self._goal = ""
        self._wanted: set[str] = set()
        self._limit = float("inf")
        self._candidates: list[str] | None = None
        self._looks: dict[str, _Look] = {}
        self._asin = ""
        self._clicks: list[str] = []

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        """The next command: what was planned, or what the page at hand calls for."""
        if observation.startswith("WebShop\nInstruction:\n"):
            return self._search(observation.split("\n")[2])
        if not self._clicks:
            self._plan(observation)
        return f"click[{self._clicks.pop(0)}]"

    def _search(self, instruction: str) -> str:
        limit = _LIMIT.search(instruction)
        self._limit = float(limit[1]) if limit else float("inf")
        self._goal = _LIMIT.sub("", instruction)
        self._wanted = _words(self._goal) - _COMMON
        return f"search[{self._goal[:1000]}]"

    def _plan(self, page: str) -> None:
        if re.search(r"^Page \d+ \(Total results: ", page, re.MULTILINE):
            self._from_results(page)
        elif "\n[Buy Now]" in page:
            self._from_item(page)
        else:
            self._from_features(page)

    def _from_results(self, page: str) -> None:
        if self._candidates is None:
            found = [(self._misses(_words(title), tag), asin) for asin, title, tag in _RESULT.findall(page)]
            self._candidates = [asin for _, asin in sorted(found, key=lambda item: item[0])][:_LOOKS]
        if self._candidates:
            self._asin = self._candidates.pop(0)
        elif self._looks:
            self._asin = min(self._looks.values(), key=lambda look: look.misses).asin
        self._clicks = [self._asin or "Back to Search"]

    def _from_item(self, page: str) -> None:
        if self._asin in self._looks:
            self._clicks = [*self._looks[self._asin].values, "Buy Now"]
            return
        values = list(self._pick(page))
        words = _words(_CHOICE.sub(r"\1", page)) | _words(" ".join(values))
        look = _Look(self._asin, words, values, self._misses(words, page))
        self._looks[self._asin] = look
        self._clicks = [*values, "Buy Now"] if not look.misses else ["Features"]

    def _from_features(self, page: str) -> None:
        look = self._looks[self._asin]
        look.misses -= len((self._wanted - look.words) & _words(page))
        self._clicks = ["< Prev", *look.values, "Buy Now"] if not look.misses else ["< Prev", "< Prev"]

    def _pick(self, page: str) -> Iterator[str]:
        """For each choice that the page offers, the value that the goal names, if it names one."""
        for name, row in _CHOICE.findall(page):
            values = row[1:-1].split("][")
            named = [value for value in values if f"{name}: {value}," in f"{self._goal},"]
            meant = named or [value for value in values if _words(value) and _words(value) <= self._wanted]
            if meant:
                yield max(meant, key=len)

    def _misses(self, words: set[str], text: str) -> float:
        """How many wanted words are not among ``words``; far more if the price in ``text`` is above the limit."""
        prices = [float(price) for price in _PRICE.findall(text)]
        too_dear = bool(prices) and min(prices) > self._limit
        return len(self._wanted - words) + _TOO_DEAR * too_dear


def _words(text: str) -> set[str]:
    """The words of ``text``, in lower case and without a plural's s."""
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())}
