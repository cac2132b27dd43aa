"""The nouns of a product title, which decide how alike two products' types are.

WebShop tags parts of speech with spaCy. Here its small English model is used where that is installed
(``python -m spacy download en_core_web_sm``). Elsewhere a word list takes its place. A title is a string of nouns and
names, and the tagger takes its adjectives for names too; so each word counts that is no number, no single letter, and
no common function word or verb. On pairs of a real product and a likely purchase, both lead to the same type factor in
more than nine of ten cases. ``tagger().name`` says which one is at work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

from trialogue.envs.webshop.words import word_list

MODEL = "en_core_web_sm"

_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Tagger:
    """``nouns`` gives the nouns of a title in lower case, in order, repeated ones repeated."""

    name: str
    nouns: Callable[[str], tuple[str, ...]]


@cache
def tagger() -> Tagger:
    """spaCy's small English model where it is installed, otherwise the word list."""
    if find_spec("spacy") is None or find_spec(MODEL) is None:
        return Tagger("word list", cache(listed_nouns))
    return Tagger(f"spacy {version('spacy')} {MODEL} {version(MODEL)}", cache(_tagged_nouns))


def listed_nouns(title: str) -> tuple[str, ...]:
    """The words of ``title`` that the list does not rule out."""
    words = (word.lower() for word in _WORD.findall(title))
    return tuple(word for word in words if word not in _other_words())


def _tagged_nouns(title: str) -> tuple[str, ...]:
    return tuple(token.text.lower() for token in _model()(title) if token.pos_ in ("NOUN", "PROPN"))


@cache
def _model():  # type: ignore[no-untyped-def]  # spaCy is optional, and so are its types
    import spacy

    return spacy.load(MODEL, disable=("parser", "ner", "lemmatizer"))


@cache
def _other_words() -> frozenset[str]:
    return frozenset(word_list("not_nouns"))
