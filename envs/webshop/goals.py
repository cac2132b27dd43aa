"""The goals of WebShop's own files, and their splits.

A synthetic goal joins a product's instruction, one combination of its options and a price limit; a product has as many
goals as combinations (6,910 in the set of 1,000 products). A human goal is a sentence that a person wrote, and a price
limit. Limits are drawn from the seed and the ASIN, so they are the same in every process.

``synthetic`` and ``human`` are all goals in WebShop's order: as in the files, then shuffled by Python's generator
seeded with 233. Of each, WebShop tests on goals 0 to 499 (``..._test``), evaluates on 500 to 1,499 (``..._eval``) and
trains on the rest (``..._train``).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from trialogue.envs.webshop import files
from trialogue.envs.webshop.catalogue import Goal, Product, limit_text, one_line, price_limit
from trialogue.errors import DataError

_SHUFFLE = 233
_PARTS = {"": slice(None), "_test": slice(500), "_eval": slice(500, 1500), "_train": slice(1500, None)}

SPLITS = tuple(f"{kind}{part}" for kind in ("synthetic", "human") for part in _PARTS)


@lru_cache(maxsize=2 * len(SPLITS))
def goals(folder: Path, split: str, seed: int) -> Mapping[str, Goal]:
    """The goals of one of :data:`SPLITS` by task id (``synthetic_test/B07DJJXGB5/0``), in order. Raises DataError."""
    kind, _, part = split.partition("_")
    listed = list((_synthetic if kind == "synthetic" else _human)(files.read(folder, seed), seed))
    random.Random(_SHUFFLE).shuffle(listed)
    chosen = listed[_PARTS[f"_{part}" if part else ""]]
    return MappingProxyType({f"{split}/{name}": goal for name, goal in chosen})


def _synthetic(store: files.Store, seed: int) -> Iterator[tuple[str, Goal]]:
    for product in store.shop.products:
        asked = store.synthetic.get(product.asin, {})
        if asked.get("instruction") is None:
            continue
        attributes = _words(asked, "instruction_attributes", product)
        limit = price_limit(product.price, random.Random(f"{seed}/{product.asin}/limit"))
        names = sorted(product.options)
        for number, values in enumerate(itertools.product(*(product.options[name] for name in names))):
            options = tuple(zip(names, values, strict=True))
            wishes = ", and ".join(f"{name}: {value}" for name, value in options)
            text = _instruction(asked, product) + (f" with {wishes}" if wishes else "") + limit_text(limit)
            yield f"{product.asin}/{number}", Goal(product, text, attributes, options, limit)


def _human(store: files.Store, seed: int) -> Iterator[tuple[str, Goal]]:
    for product in store.shop.products:
        for number, asked in enumerate(store.human.get(product.asin, ())):
            attributes = _words(asked, "instruction_attributes", product)
            if not attributes:
                continue
            limit = price_limit(product.price, random.Random(f"{seed}/{product.asin}/limit/{number}"))
            options = tuple(("", value) for value in _words(asked, "instruction_options", product))
            text = _instruction(asked, product).strip(".") + limit_text(limit)
            yield f"{product.asin}/{number}", Goal(product, text, attributes, options, limit)


def _instruction(asked: Mapping[str, object], product: Product) -> str:
    text = asked.get("instruction")
    if not isinstance(text, str):
        raise DataError(f"the goals of product {product.asin}: expected instruction to be a text; got {text!r}.")
    return one_line(text)


def _words(asked: Mapping[str, object], key: str, product: Product) -> tuple[str, ...]:
    words = asked.get(key) if isinstance(asked, Mapping) else asked
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError(f"the goals of product {product.asin}: expected {key} to be a list of texts; got {words!r}.")
    return tuple(words)
