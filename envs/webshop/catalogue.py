"""What a shop holds and what a customer wants: products, goals, and the shop that can be searched."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from trialogue.envs.webshop.search import SearchEngine

NO_LIMIT = 1_000_000.0
"""The price limit of a goal that names none, in dollars."""

LIMITS = tuple(10.0 * tens for tens in range(1, 100))
"""The price limits that a goal may name, in dollars: 10, 20, ... 990."""

RESULTS = 50
"""How many products a search finds at most."""


@dataclass(frozen=True)
class Product:
    """One article. ``price`` (dollars) is what is paid; ``price_tag`` is what the pages say, perhaps a range.

    ``path`` is the product's place in the shop's tree of categories, root first; ``query`` the phrase under which it
    was collected. ``options`` maps the name of a choice to its values. ``attributes`` are what goals ask for.
    """

    asin: str
    title: str
    price: float
    price_tag: str
    query: str
    path: tuple[str, ...]
    description: str = ""
    features: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rating: str = "N.A."
    reviews: tuple[str, ...] = ()


@dataclass(frozen=True)
class Goal:
    """What is to be bought. ``text`` is all that a player is told; ``price_limit`` is in dollars, inclusive.

    ``options`` are pairs of a choice's name ("" where only the value is known) and the value asked for. ``product``
    is the article that the goal was written for; others may serve as well.
    """

    product: Product
    text: str
    attributes: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    price_limit: float = NO_LIMIT


class Shop:
    """Products, found by their number (ASIN) or by words. The index is built at the first search."""

    def __init__(self, products: Sequence[Product]) -> None:
        self.products = tuple(products)
        self.by_asin = {product.asin: product for product in self.products}

    def search(self, words: str) -> list[Product]:
        """The best :data:`RESULTS` products for ``words``, best first; [] when no word occurs anywhere."""
        return [self.products[i] for i in self._engine.find(words, RESULTS)]

    @cached_property
    def _engine(self) -> SearchEngine:
        return SearchEngine([_document(product) for product in self.products])


def price_limit(price: float, draw: random.Random) -> float:
    """A limit above ``price``: the larger of two drawn from the next four of :data:`LIMITS`, else NO_LIMIT."""
    above = [limit for limit in LIMITS if limit > price][:4]
    return max(draw.sample(above, 2)) if len(above) >= 2 else NO_LIMIT


def limit_text(limit: float) -> str:
    """How a goal says its price limit; "" for NO_LIMIT."""
    return "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"


def one_line(text: str) -> str:
    """``text`` on one line, with single spaces."""
    return " ".join(text.split())


def _document(product: Product) -> str:
    """The text that is indexed, as in WebShop: title, description, first feature and all options."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    return " ".join((product.title, product.description, *product.features[:1], options))
