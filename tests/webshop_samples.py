"""A shop of few products, and players for it that know the goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialogue.envs import TextEnv
from trialogue.envs.webshop.catalogue import Goal, Product, Shop
from trialogue.envs.webshop.session import Session


def product(
    asin: str = "B000000001",
    title: str = "Alderway Mug for Tea",
    price: float = 20.0,
    options: Mapping[str, tuple[str, ...]] | None = None,
    **fields: Any,
) -> Product:
    facts: dict[str, Any] = {"query": "mugs", "path": ("Home", "Kitchen", "Mugs")} | fields
    return Product(asin, title, price, f"${price:.2f}", options=options or {}, **facts)


def goal(
    wanted: Product, attributes: tuple[str, ...] = (), options: tuple[str, ...] = (), price_limit: float = 1_000_000.0
) -> Goal:
    return Goal(wanted, "find me a mug", attributes, tuple(("", value) for value in options), price_limit)


def mugs(count: int) -> Shop:
    return Shop([product(f"B{number:09}", f"Alderway Mug number {number}") for number in range(count)])


def visit(*products: Product, page_size: int = 10) -> Session:
    return Session(Shop(products), goal(products[0], ("dishwasher safe",)), page_size)


def item_page(item: Product) -> Session:
    session = visit(item)
    assert session.take("search[mug]") == ""
    assert session.take(f"click[{item.asin}]") == ""
    return session


def buy(env: TextEnv, task: str, wanted: Goal) -> tuple[dict[str, Any], int]:
    """Plays a task by its goal: search for the title, leaf to the product, choose the options, buy. Info and steps."""
    env.reset(options={"task": task})
    commands = [
        f"click[{value}]" for value in (wanted.product.asin, *(value for _, value in wanted.options), "Buy Now")
    ]
    *_, info = env.step(f"search[{wanted.product.title[:1000]}]")
    steps = 1
    while info["valid"] and commands[0] not in info["admissible"]:
        *_, info = env.step("click[Next >]")
        steps += 1
    for command in commands:
        if info["valid"]:
            *_, info = env.step(command)
            steps += 1
    return dict(info), steps


def played(env: TextEnv, task: str, limit: int = 60) -> dict[str, Any]:
    """The last info after the environment's own expert has played ``task``; every action must be accepted."""
    observation, info = env.reset(options={"task": task})
    expert = env.expert()
    assert expert is not None
    for _ in range(limit):
        observation, _, over, _, info = env.step(expert.act(observation, info["admissible"]))
        assert info["valid"], info["reason"]
        if over:
            break
    return dict(info)
