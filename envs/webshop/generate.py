"""Generated shops and goals: believable, any number, without a download.

A shop has five families of five products for each kind of ``stock.yaml``: 300 in all. A family is one product that a
goal may be written for, and neighbours that miss it by one thing each (an attribute, the values of its options, the
price), and one that shares nothing but the kind. A task id such as ``generated_eval/s1000002-g17`` names split, shop
and goal, which is all that decides them.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

from trialogue.envs import generated
from trialogue.envs.contract import Task
from trialogue.envs.webshop.catalogue import Goal, Product, Shop, limit_text, price_limit

GOALS = 50
"""Goals a shop, options and plain in turn."""

TYPES = ("options", "plain")
"""Task types: whether the goal asks for values of a product's options."""

_FAMILIES = 5
_ID = rf"(\w+)/s{generated.SEED}-g(0|[1-9]\d?)"
_WISHES = (
    "i am looking for {thing} with {wishes}",
    "find me {listed} {thing}",
    "i need {thing} for {use}, {wishes}",
    "i want to buy {first} {thing} with {rest}",
)
_CHOICES = (" with {pairs}", ", and i would like {pairs}")


@dataclass(frozen=True)
class Recipe:
    """What a task id says. Raises UsageError (or UnknownName) if there is no such task."""

    split: str
    shop: int
    goal: int

    def __post_init__(self) -> None:
        generated.require_seed(self.split, self.shop, "shop")
        generated.require("a goal", self.goal, range(GOALS))

    @property
    def task(self) -> Task:
        return Task(f"{self.split}/s{self.shop}-g{self.goal}", self.split, TYPES[self.goal % len(TYPES)])

    @classmethod
    def parse(cls, task_id: str) -> Recipe:
        split, shop, goal = generated.read(task_id, _ID, "generated_eval/s1000002-g17")
        return cls(split, int(shop), int(goal))


def tasks(split: str, count: int) -> tuple[Task, ...]:
    """The first ``count`` tasks of ``split``, shop by shop, types in turn."""
    generated.require_split(split)
    shops = generated.SEEDS[split]
    generated.require("count", count, range(1, len(shops) * GOALS + 1))
    return tuple(Recipe(split, shops[i // GOALS], i % GOALS).task for i in range(count))


def build(task_id: str) -> tuple[Shop, Goal]:
    """The shop and the goal of a task id, the same everywhere. Raises UsageError, UnknownName."""
    recipe = Recipe.parse(task_id)
    shop, families = _shop(recipe.shop)
    draw = random.Random(f"webshop/{recipe.shop}/{recipe.goal}")
    asks_options = recipe.task.type == "options"
    return shop, draw.choice([f for f in families if f.options or not asks_options]).goal(draw, asks_options)


def type_of(goal: Goal) -> str:
    """The task type of a goal, generated or not."""
    return TYPES[0] if goal.options else TYPES[1]


@dataclass(frozen=True)
class _Family:
    """A product, what a goal asks of it, and its kind's words for it."""

    product: Product
    thing: str
    use: str
    attributes: tuple[str, str, str]
    options: tuple[tuple[str, str], ...]

    def goal(self, draw: random.Random, asks_options: bool) -> Goal:
        """A goal with two attributes and all options, or with three attributes and none."""
        options = self.options if asks_options else ()
        asked = self.attributes[:2] if options else self.attributes
        text = draw.choice(_WISHES).format(
            thing=self.thing,
            use=self.use,
            wishes=_and(asked),
            listed=", ".join(asked),
            first=asked[0],
            rest=_and(asked[1:]),
        )
        if options:
            pairs = ", and ".join(f"{name}: {value}" for name, value in options)
            text += draw.choice(_CHOICES).format(pairs=pairs)
        limit = price_limit(self.product.price, draw)
        return Goal(self.product, text + limit_text(limit), asked, options, limit)


@lru_cache(maxsize=8)
def _shop(number: int) -> tuple[Shop, tuple[_Family, ...]]:
    draw = random.Random(f"webshop/{number}")
    products: list[Product] = []
    families: list[_Family] = []
    for kind in _stock()["kinds"]:
        for _ in range(_FAMILIES):
            family = _family(kind, draw)
            families.append(family)
            products += [family.product, *_neighbours(family, kind, draw)]
    draw.shuffle(products)
    return Shop(products), tuple(families)


def _family(kind: Mapping[str, Any], draw: random.Random) -> _Family:
    thing, use = draw.choice(kind["things"]), draw.choice(kind["uses"])
    attributes = draw.sample(sorted(kind["attributes"]), 4)
    product = _product(kind, thing, use, attributes, draw)
    options = tuple((name, draw.choice(values)) for name, values in product.options.items())
    return _Family(product, thing, use, (attributes[0], attributes[1], attributes[2]), options)


def _neighbours(family: _Family, kind: Mapping[str, Any], draw: random.Random) -> list[Product]:
    """Four products that come close: other attribute, other options or attribute, dearer; and another of the kind."""
    base, wanted = family.product, dict(family.options)
    others = draw.sample(sorted(set(kind["attributes"]) - set(base.attributes)), 4)
    short = {name: tuple(v for v in values if v != wanted[name]) for name, values in base.options.items()}
    first, second = (
        _product(kind, family.thing, family.use, [own, *others[:3]], draw) for own in family.attributes[:2]
    )
    dear = round(base.price + draw.uniform(60, 120), 2)
    return [
        replace(first, price=base.price, price_tag=base.price_tag),
        replace(base, asin=_asin(draw), options=short) if short else second,
        replace(base, asin=_asin(draw), price=dear, price_tag=_tag(dear)),
        _product(kind, draw.choice(kind["things"]), draw.choice(kind["uses"]), others, draw),
    ]


def _product(kind: Mapping[str, Any], thing: str, use: str, attributes: list[str], draw: random.Random) -> Product:
    stock = _stock()
    price = round(draw.uniform(*kind["price"]), 2)
    title = f"{draw.choice(stock['brands'])} {draw.choice(stock['lines'])} {thing.title()} for {use.title()}"
    return Product(
        asin=_asin(draw),
        title=f"{title}, {attributes[0].title()}",
        price=price,
        price_tag=_tag(price),
        query=kind["query"],
        path=tuple(kind["path"]),
        description=f"{draw.choice(stock['openings'])} This {thing} is meant for {use}.",
        features=tuple(f"{name.upper()}: {kind['attributes'][name]}." for name in attributes),
        attributes=tuple(attributes),
        options={name: tuple(values) for name, values in kind["options"].items()},
        rating=f"{draw.uniform(3, 5):.1f}",
        reviews=tuple(draw.sample(stock["reviews"], 2)),
    )


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _asin(draw: random.Random) -> str:
    return "B0" + "".join(draw.choices(string.digits + string.ascii_uppercase, k=8))


def _tag(price: float) -> str:
    return f"${price:.2f}"


@cache
def _stock() -> Mapping[str, Any]:
    text = files(__package__).joinpath("stock.yaml").read_text(encoding="utf-8")
    stock: Mapping[str, Any] = yaml.safe_load(text)
    return stock
