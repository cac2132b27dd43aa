"""Full-text search with BM25, set as in WebShop's index: k1 0.9, b 0.4, Porter stems, Lucene's stop words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from trialogue.envs.webshop.words import word_list

_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(word_list("stop_words"))
_DECIMALS = 6  # scores are compared at this precision, so that a tie is one on every machine


class SearchEngine:
    """Ranks ``texts`` (numbered from 0) by BM25; equal scores keep the order of ``texts``."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s
        import Stemmer

        self._stem = Stemmer.Stemmer("porter").stemWords
        self._index = bm25s.BM25(k1=0.9, b=0.4, method="lucene", dtype="float64")
        self._index.index([self._terms(text) or [""] for text in texts], show_progress=False)

    def find(self, words: str, limit: int) -> list[int]:
        """Numbers of at most ``limit`` texts that share a term with ``words``, best first."""
        known = [term for term in self._terms(words) if term in self._index.vocab_dict]
        if not known:
            return []
        scores = np.round(self._index.get_scores(known), _DECIMALS)
        best = np.argsort(-scores, kind="stable")[:limit]
        return [int(i) for i in best if scores[i] > 0]

    def _terms(self, text: str) -> list[str]:
        return list(self._stem(_content(_WORD.findall(text.lower()))))


def _content(words: Iterable[str]) -> list[str]:
    return [word for word in words if word not in _STOP_WORDS]
