"""Questions over the tables of a seed, each made together with its answer, so each can be answered.

A task id such as ``generated_eval/journey/s1000002`` holds all that decides a question: split, type and seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from random import Random

from trialogue.envs import generated
from trialogue.envs.contract import Task
from trialogue.envs.tools.tables import Tables, make_tables

_ID = rf"(\w+)/(\w+)/s{generated.SEED}"


@dataclass(frozen=True)
class Question:
    """A question and its true value, a number. ``tables`` are those it is about."""

    text: str
    gold: float
    tables: Tables


@dataclass(frozen=True)
class Recipe:
    """What a task id says. Raises UsageError (or UnknownName) if no question can be made of it."""

    split: str
    type: str
    seed: int

    def __post_init__(self) -> None:
        generated.require_seed(self.split, self.seed)
        generated.require_type(self.type, TYPES)

    @property
    def task(self) -> Task:
        return Task(f"{self.split}/{self.type}/s{self.seed}", self.split, self.type)

    @classmethod
    def parse(cls, task_id: str) -> Recipe:
        split, kind, seed = generated.read(task_id, _ID, "generated_eval/journey/s1000002")
        return cls(split, kind, int(seed))


def tasks(split: str, count: int) -> tuple[Task, ...]:
    """The first ``count`` questions of ``split``, interleaved by type, so that every prefix is balanced."""
    return tuple(
        Recipe(split, kind, seed).task for kind, seed in zip(cycle(TYPES), generated.seeds(split, count), strict=False)
    )


def build(recipe: Recipe) -> Question:
    """The question of a task id: the same on every machine."""
    tables = make_tables(recipe.seed)
    text, gold = TYPES[recipe.type](tables, Random(f"{recipe.type} {recipe.seed}"))
    return Question(text, gold, tables)


def _purchase(tables: Tables, random: Random) -> tuple[str, float]:
    goods, shops = tables["goods"].rows, tables["shops"].rows
    bought = [(random.randint(2, 9), name) for name in random.sample(sorted(goods), random.choice([2, 3]))]
    shop = random.choice(sorted(shops))
    wanted = ", ".join(f"{name} x {count}" for count, name in bought)
    text = (
        f"A customer of {shop} orders {wanted}. The shop takes its discount off the price of the goods "
        "and then adds its delivery charge. How many crowns does the customer pay?"
    )
    goods_price = sum(count * _number(goods[name]["price"]) for count, name in bought)
    return text, goods_price * (1 - _number(shops[shop]["discount"]) / 100) + _number(shops[shop]["delivery"])


def _journey(tables: Tables, random: Random) -> tuple[str, float]:
    legs = list(tables["trains"].rows)
    first, length = random.randrange(len(legs)), random.choice([2, 3])
    ridden = [legs[(first + n) % len(legs)] for n in range(length)]
    stops = [ridden[0].split("-")[0], *(leg.split("-")[1] for leg in ridden)]
    text = (
        f"A traveller takes the trains from {' to '.join(stops)}. Counting only the time spent in trains, "
        "what is the average speed of the whole journey in km per hour?"
    )
    distance, minutes = (sum(_number(tables["trains"].rows[leg][c]) for leg in ridden) for c in ("distance", "minutes"))
    return text, distance / (minutes / 60)


def _survey(tables: Tables, random: Random) -> tuple[str, float]:
    planets = tables["planets"].rows
    star = random.choice(sorted({str(row["star"]) for row in planets.values()}))
    column, unit = random.choice([("diameter", "km"), ("day", "hours")])
    said = {"diameter": "diameter", "day": "length of the day"}[column]
    text = (
        f"Take all planets of the star {star}. By how many {unit} does the greatest {said} among them "
        f"exceed their mean {said}?"
    )
    values = [_number(row[column]) for row in planets.values() if row["star"] == star]
    return text, max(values) - sum(values) / len(values)


def _exchange(tables: Tables, random: Random) -> tuple[str, float]:
    goods, rates = tables["goods"].rows, tables["rates"].rows
    count, name = random.randint(3, 20), random.choice(sorted(goods))
    have, pay = random.sample(sorted(rates), 2)
    had = random.randint(50, 200)
    text = (
        f"A merchant owns {had} {have} and buys {name} x {count}, paid from that money. "
        f"What is the rest worth, expressed in {pay}? (A debt is a negative number.)"
    )
    rest = had * _number(rates[have]["crowns"]) - count * _number(goods[name]["price"])
    return text, rest / _number(rates[pay]["crowns"])


TYPES: dict[str, Callable[[Tables, Random], tuple[str, float]]] = {
    "purchase": _purchase,
    "journey": _journey,
    "survey": _survey,
    "exchange": _exchange,
}


def _number(cell: int | float | str) -> float:
    return float(cell)
