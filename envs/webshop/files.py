"""Reads WebShop's own files: ``items_shuffle*.json``, ``items_ins_v2*.json`` and ``items_human_ins.json``.

* ``items_shuffle*.json``: a list of products (``asin``, ``name``, ``pricing`` "$1,234.50" or a range "$10.00$20.00",
  ``customization_options`` {name: [{"value": ...}] or null}, ``small_description`` the features, ...).
* ``items_ins_v2*.json``: by ASIN, the product's ``attributes`` and, for some, ``instruction`` and
  ``instruction_attributes``: what synthetic goals are made of.
* ``items_human_ins.json``: by ASIN, a list of goals that people wrote. May be missing; then there are no human goals.

Where a folder holds several sets, the one of 1,000 products (``..._1000.json``) is read, as in WebShop itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any

from trialogue.envs.webshop.catalogue import Product, Shop, one_line
from trialogue.errors import DataError

VARIABLE = "TRIALOGUE_WEBSHOP_DATA"

_NO_PRICE = 100.0  # dollars, for a product whose file says none
_USUAL_SUFFIX = "_1000"


@dataclass(frozen=True)
class Store:
    """A shop as its files describe it, with the raw goals by ASIN, and the SHA-256 of all that was read."""

    shop: Shop
    synthetic: Mapping[str, Mapping[str, Any]]
    human: Mapping[str, list[Mapping[str, Any]]]
    digest: str


def root(data: str | os.PathLike[str] | None) -> Path:
    """The folder with the files: ``data``, else $TRIALOGUE_WEBSHOP_DATA. Raises DataError where there is none."""
    place = data or os.environ.get(VARIABLE)
    if not place:
        raise DataError(
            f"WebShop's own goals need its files. Set {VARIABLE}, or the setting data, to a folder that holds "
            "items_shuffle_1000.json, items_ins_v2_1000.json and items_human_ins.json (from princeton-nlp/WebShop)."
        )
    folder = Path(place).expanduser()
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; expected one with items_shuffle*.json and items_ins_v2*.json.")
    return folder.resolve()


@lru_cache(maxsize=2)
def read(folder: Path, seed: int) -> Store:
    """Everything in ``folder``; prices within a range are drawn from ``seed`` and the ASIN. Raises DataError."""
    suffix = _suffix(folder)
    paths = [folder / f"items_shuffle{suffix}.json", folder / f"items_ins_v2{suffix}.json"]
    human_path = folder / "items_human_ins.json"
    paths += [human_path] if human_path.is_file() else []
    texts = [_bytes(path) for path in paths]
    items, asked, *human = (_json(path, text, kind) for path, text, kind in zip(paths, texts, _KINDS, strict=False))
    products: dict[str, Product] = {}
    for number, item in enumerate(items):
        try:
            product = _product(item, asked.get(item["asin"], {}), seed)
        except (KeyError, TypeError, AttributeError, ValueError, InvalidOperation) as error:
            raise DataError(f"{paths[0]}, product {number}: not as WebShop writes products: {error!r}") from error
        if product.asin != "nan" and len(product.asin) <= 10:
            products.setdefault(product.asin, product)
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()
    return Store(Shop(list(products.values())), asked, human[0] if human else {}, digest)


_KINDS = (list, dict, dict)


def _suffix(folder: Path) -> str:
    found = {path.stem.removeprefix("items_shuffle") for path in folder.glob("items_shuffle*.json")}
    paired = sorted(suffix for suffix in found if (folder / f"items_ins_v2{suffix}.json").is_file())
    if not paired:
        raise DataError(
            f"{folder} holds no pair of items_shuffle*.json and items_ins_v2*.json with the same ending; "
            f"found: {', '.join(sorted(path.name for path in folder.iterdir())[:10]) or 'nothing'}."
        )
    return _USUAL_SUFFIX if _USUAL_SUFFIX in paired else paired[0]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _json(path: Path, text: bytes, kind: type) -> Any:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, kind):
        raise DataError(f"{path}: expected a JSON {'list' if kind is list else 'object'}; got {type(value).__name__}.")
    return value


def _product(item: Mapping[str, Any], asked: Mapping[str, Any], seed: int) -> Product:
    asin = item["asin"]
    prices = [float(Decimal(re.sub(r"[^\d.]", "", price))) for price in (item["pricing"] or "").split("$")[1:]][:2]
    features = item["small_description"]
    return Product(
        asin=asin,
        title=one_line(item["name"]),
        price=_price(prices, random.Random(f"{seed}/{asin}/price")),
        price_tag=" to ".join(f"${price:.2f}" for price in prices or [_NO_PRICE]),
        query=item["query"].lower().strip(),
        path=tuple(part.strip() for part in item["product_category"].split("›")),
        description=one_line(item["full_description"]),
        features=tuple(one_line(text) for text in ([features] if isinstance(features, str) else features)),
        attributes=tuple(asked.get("attributes", ())),
        options=_options(item["customization_options"] or {}),
        rating=str(item.get("average_rating") or "N.A."),
    )


def _price(prices: list[float], draw: random.Random) -> float:
    if not prices:
        return _NO_PRICE
    return prices[0] if len(prices) == 1 else round(draw.uniform(*prices), 2)


def _options(written: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {
        one_line(name).lower(): tuple(one_line(choice["value"].replace("/", " | ")).lower() for choice in choices)
        for name, choices in written.items()
        if choices is not None
    }
