"""Majority voting over sampled answers (Wang et al. 2022, Self-Consistency, section 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_ARTICLES = frozenset({"a", "an", "the"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MARKS = r"""[.,;:!?…"'“”‘’«»()\[\]{}*_`–—-]"""
_AROUND = re.compile(rf"^(?:(?!-?\.?\d){_MARKS})+|{_MARKS}+$")


@dataclass(frozen=True)
class Poll:
    """The outcome of a vote. ``winner`` is None when nobody voted.

    ``votes`` holds normalised answers with their counts: the most frequent first, and of equals the one whose first
    vote came first, which therefore wins. ``abstained`` samples named no answer.
    """

    winner: str | None
    votes: tuple[tuple[str, int], ...]
    abstained: int

    @property
    def most(self) -> int:
        """How many votes the winner has."""
        return self.votes[0][1] if self.votes else 0

    @property
    def samples(self) -> int:
        return sum(count for _, count in self.votes) + self.abstained

    def __str__(self) -> str:
        told = ", ".join(f"{answer} {count}" for answer, count in self.votes) or "none"
        return f"votes: {told}" + (f"; {self.abstained} abstained" if self.abstained else "")


def majority(answers: Sequence[str | None]) -> Poll:
    """Counts one vote for each sample; None abstains.

    Ties are broken by order: of answers with equally many votes, the one whose first vote came first. The winner is
    written as its voters most often wrote it and, of equals, as the first of them did.
    """
    forms: dict[str, list[str]] = {}
    for answer in answers:
        if answer is not None:
            forms.setdefault(normalised(answer), []).append(answer)
    # Sorting is stable, and so is Counter.most_common: of equals, the first stays first.
    ranked = sorted(forms.items(), key=lambda item: -len(item[1]))
    winner = Counter(ranked[0][1]).most_common(1)[0][0] if ranked else None
    return Poll(winner, tuple((key, len(written)) for key, written in ranked), answers.count(None))


def normalised(answer: str) -> str:
    """What makes two answers the same vote: case, white space, articles and punctuation around words are left out.

    A sign or a point before a digit stays (-5 is not 5), thousands may have their commas. Of an answer of which nothing
    would be left ("A", "???") case and white space alone are.
    """
    folded = " ".join(answer.casefold().split())
    words = [_AROUND.sub("", word) for word in _THOUSANDS.sub("", folded).split()]
    return " ".join(word for word in words if word and word not in _ARTICLES) or folded
