"""A player of the embedded questions that reads only what a player reads: the question and the answers of the tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise

from trialogue.errors import EnvError

Plan = Generator[str, str, None]
"""Yields calls, is sent their answers."""


class Reckoner:
    """Works a question out by a plan for its wording."""

    def __init__(self, question: str) -> None:
        self._plan = _plan_for(question)
        self._begun = False

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        try:
            if self._begun:
                return self._plan.send(observation)
            self._begun = True
            return next(self._plan)
        except StopIteration:
            raise EnvError("the plan has ended, and the episode has not.") from None


def _plan_for(question: str) -> Plan:
    for pattern, plan in _PLANS:
        if found := re.match(pattern, question):
            return plan(*found.groups())
    raise EnvError(f"the expert knows no plan for this question: {question[:200]!r}")


def _purchase(shop: str, orders: str) -> Plan:
    terms = []
    yield "columns[goods]"
    for name, count in _orders(orders):
        price = yield f"lookup[goods, {name}, price]"
        terms.append(f"{count} * {price}")
    yield "columns[shops]"
    discount = yield f"lookup[shops, {shop}, discount]"
    delivery = yield f"lookup[shops, {shop}, delivery]"
    paid = yield f"calculate[({' + '.join(terms)}) * (1 - {discount} / 100) + {delivery}]"
    yield f"finish[{paid}]"


def _journey(stops: str) -> Plan:
    names = stops.split(" to ")
    yield "columns[trains]"
    distances, minutes = [], []
    for start, end in pairwise(names):
        distances.append((yield f"lookup[trains, {start}-{end}, distance]"))
        minutes.append((yield f"lookup[trains, {start}-{end}, minutes]"))
    speed = yield f"calculate[({' + '.join(distances)}) / (({' + '.join(minutes)}) / 60)]"
    yield f"finish[{speed}]"


def _survey(star: str, said: str) -> Plan:
    column = "day" if said.startswith("length") else said
    yield "columns[planets]"
    planets = (yield f"find[planets, star, {star}]").split("; ")
    values = []
    for planet in planets:
        values.append((yield f"lookup[planets, {planet}, {column}]"))
    listed = ", ".join(values)
    excess = yield f"calculate[max({listed}) - sum({listed}) / {len(values)}]"
    yield f"finish[{excess}]"


def _exchange(had: str, have: str, orders: str, pay: str) -> Plan:
    [(name, count)] = _orders(orders)
    yield "columns[rates]"
    owned = yield f"lookup[rates, {have}, crowns]"
    price = yield f"lookup[goods, {name}, price]"
    rate = yield f"lookup[rates, {pay}, crowns]"
    rest = yield f"calculate[({had} * {owned} - {count} * {price}) / {rate}]"
    yield f"finish[{rest}]"


def _orders(text: str) -> list[tuple[str, str]]:
    return [(name, count) for name, count in re.findall(r"(\w+) x (\d+)", text)]


_PLANS: tuple[tuple[str, Callable[..., Plan]], ...] = (
    (r"A customer of (.+?) orders (.+?)\. The shop", _purchase),
    (r"A traveller takes the trains from (.+?)\. Counting", _journey),
    (r"Take all planets of the star (\w+)\. By how many \w+ does the greatest (.+?) among", _survey),
    (r"A merchant owns (\d+) (\w+) and buys (.+?), paid .+ expressed in (\w+)\?", _exchange),
)
