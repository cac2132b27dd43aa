"""How well a purchase meets a goal, from 0 to 1.

WebShop (Yao et al. 2022, section 3.2 and appendix A.5, https://arxiv.org/abs/2207.01206), with the thresholds and the
matching rules of the published implementation::

    score = type * (attributes met + options met + price met) / (attributes asked + options asked + 1)

An option that was chosen counts as met when it is like one that was asked for, or occurs in the product's text. So more
may be met than was asked, and the sum may exceed 1: such a score is cut to 1 and says so (``clipped``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz, utils

from trialogue.envs.webshop.catalogue import Goal, Product
from trialogue.envs.webshop.nouns import tagger
from trialogue.envs.webshop.words import word_list

_ALIKE = 85  # two phrases are alike above this token-set ratio, in whole percent
_EXACT = ("size",)  # choices whose values must be the same
_COLOURS = word_list("colours")  # by alphabet


@dataclass(frozen=True)
class Score:
    """``value`` in [0, 1] and what it is made of: ``type`` a factor, the others counts of what was met."""

    value: float
    clipped: bool
    type: float
    attributes: int
    options: int
    price: bool


def score(goal: Goal, product: Product, chosen: Mapping[str, str]) -> Score:
    """Rates buying ``product`` with the ``chosen`` value of each choice (by the choice's name)."""
    kind = type_factor(goal.product, product)
    attributes = sum(has_attribute(product, wanted) for wanted in goal.attributes)
    options = met_options(product, [value for _, value in goal.options], chosen)
    price = product.price <= goal.price_limit
    raw = kind * (attributes + options + price) / (len(goal.attributes) + len(goal.options) + 1)
    return Score(min(raw, 1.0), raw > 1.0, kind, attributes, options, price)


def type_factor(wanted: Product, bought: Product) -> float:
    """1, 0.5, 0.1 or 0: whether ``bought`` is the kind of thing that ``wanted`` is."""
    overlap = _title_overlap(wanted.title, bought.title)
    if overlap == 0.0:
        return 0.0
    if overlap < 0.1:
        return 0.1
    same_shelf = len(set(wanted.path) & set(bought.path)) >= 2
    return 1.0 if wanted.query == bought.query or same_shelf or overlap > 0.2 else 0.5


def has_attribute(product: Product, wanted: str) -> bool:
    """Whether an attribute of ``product`` is like ``wanted``, or its text contains it."""
    return any(_alike(own, wanted) for own in product.attributes) or _mentions(product, wanted)


def met_options(product: Product, wanted: Collection[str], chosen: Mapping[str, str]) -> int:
    """How many of the ``chosen`` values are among the ``wanted`` ones, or named in the product's text."""
    goals = [plain_colour(value) for value in wanted]
    return sum(_option_met(product, goals, name, plain_colour(value)) for name, value in chosen.items())


def plain_colour(value: str) -> str:
    """The first colour, by alphabet, whose name occurs in ``value``; without one ``value`` itself."""
    return next((colour for colour in _COLOURS if colour in value), value)


def _option_met(product: Product, goals: Collection[str], name: str, value: str) -> bool:
    same = value in goals if name.lower() in _EXACT else any(_alike(goal, value) for goal in goals)
    return same or _mentions(product, value)


def _title_overlap(wanted: str, bought: str) -> float:
    """The share of the wanted title's nouns that the bought title has too; 0.2 where it has none."""
    nouns = tagger().nouns
    asked = nouns(wanted)
    return len(set(asked) & set(nouns(bought))) / len(asked) if asked else 0.2


def _mentions(product: Product, phrase: str) -> bool:
    return any(phrase in text.lower() for text in (product.title, " ".join(product.features), product.description))


def _alike(one: str, other: str) -> bool:
    return round(fuzz.token_set_ratio(one, other, processor=_plain)) > _ALIKE


def _plain(text: str) -> str:
    return utils.default_process(re.sub(r"[^\x00-\x7f]", "", text))
