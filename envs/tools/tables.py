"""Small tables made from a seed, and the tools that look things up in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from trialogue.envs.tools.calculator import calculate, written
from trialogue.envs.tools.tool import Tool, ToolFailure, echo
from trialogue.errors import nearest

Cell = int | float | str
Row = Mapping[str, Cell]


@dataclass(frozen=True)
class Table:
    """Rows by name. ``columns`` names each column and its unit: ``{"price": "crowns"}``."""

    columns: Mapping[str, str]
    rows: Mapping[str, Row]


Tables = Mapping[str, Table]

GOODS = [
    "lantern",
    "rope",
    "kettle",
    "blanket",
    "compass",
    "hammer",
    "saddle",
    "mirror",
    "candle",
    "barrel",
    "ladder",
    "whistle",
    "basket",
    "anchor",
]
CITIES = [
    "Aldby",
    "Borum",
    "Cresk",
    "Dunholt",
    "Evergate",
    "Fallow",
    "Grimsey",
    "Harrow",
    "Ivelet",
    "Jorvan",
    "Keldon",
    "Lydden",
]
PLANETS = [
    "Aster",
    "Belos",
    "Corvan",
    "Dione",
    "Erebis",
    "Fenrik",
    "Galen",
    "Hestia",
    "Ixion",
    "Juno",
    "Kepra",
    "Lyssa",
    "Myrrh",
    "Nerid",
    "Orcus",
    "Pallan",
]
STARS = ["Vega", "Rigel", "Altair"]
CURRENCIES = ["thaler", "florin", "ducat", "penny", "shilling", "mark"]
MAKERS = ["Hallow", "Brandt", "Osmond", "Wickes"]


def make_tables(seed: int) -> Tables:
    """The five tables of a seed: the same on every machine."""
    random = Random(f"tables {seed}")
    return {
        "goods": _goods(random),
        "shops": _shops(random),
        "trains": _trains(random),
        "planets": _planets(random),
        "rates": _rates(random),
    }


def table_tools(tables: Tables) -> tuple[Tool, ...]:
    """``columns``, ``rows``, ``find``, ``lookup`` on ``tables``, and ``calculate``."""

    def columns(table: str) -> str:
        """The columns of a table, with their units."""
        found = _table(tables, table).columns
        return "; ".join(f"{name} ({unit})" if unit else name for name, unit in found.items())

    def rows(table: str) -> str:
        """The names of all rows of a table."""
        return "; ".join(_table(tables, table).rows)

    def find(table: str, column: str, value: str) -> str:
        """The names of the rows that have this value in this column."""
        chosen = _table(tables, table)
        _known("column", column, list(chosen.columns))
        return "; ".join(name for name, row in chosen.rows.items() if _text(row[column]) == value.strip())

    def lookup(table: str, row: str, column: str) -> str:
        """The value in one row and one column of a table."""
        chosen = _table(tables, table)
        _known("row", row, list(chosen.rows))
        _known("column", column, list(chosen.columns))
        return _text(chosen.rows[row][column])

    advice = "the value has to be written as in the table; lookup shows how that is"
    return (
        *(Tool.of(made, next=advice) for made in (columns, rows, find, lookup)),
        Tool.of(_calculator, name="calculate"),
    )


def _calculator(expression: str) -> str:
    """The value of an arithmetic expression, such as (3 + 4.5) * 2."""
    return written(calculate(expression))


def _table(tables: Tables, name: str) -> Table:
    _known("table", name, list(tables))
    return tables[name]


def _known(kind: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        near = nearest(name[:80], names)
        hint = f"; did you mean {near!r}?" if near else f"; there are: {', '.join(names)}"
        raise ToolFailure(f"there is no {kind} {echo(name, 80)}{hint}")


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else written(cell)


def _goods(random: Random) -> Table:
    rows: dict[str, Row] = {
        name: {
            "price": random.randint(150, 4000) / 100,
            "weight": random.randint(2, 120) / 10,
            "maker": random.choice(MAKERS),
            "stock": random.randint(3, 90),
        }
        for name in random.sample(GOODS, 10)
    }
    return Table({"price": "crowns each", "weight": "kg each", "maker": "", "stock": "pieces"}, rows)


def _shops(random: Random) -> Table:
    rows: dict[str, Row] = {
        f"{city} Store": {
            "city": city,
            "discount": random.choice([5, 8, 10, 12, 15, 20, 25]),
            "delivery": random.randint(80, 950) / 100,
            "opened": random.randint(1890, 2015),
        }
        for city in random.sample(CITIES, 6)
    }
    return Table({"city": "", "discount": "percent off the goods", "delivery": "crowns", "opened": "year"}, rows)


def _trains(random: Random) -> Table:
    """A round of legs between neighbouring cities, in both directions apart: a journey of any legs exists."""
    stops = random.sample(CITIES, 8)
    rows: dict[str, Row] = {}
    for start, end in zip(stops, stops[1:] + stops[:1], strict=True):
        distance = random.randint(30, 240)
        rows[f"{start}-{end}"] = {
            "distance": distance,
            "minutes": round(distance * 60 / random.randint(50, 110)),
            "fare": random.randint(200, 3200) / 100,
            "departs": f"{random.randint(5, 21):02d}:{random.randrange(0, 60, 5):02d}",
        }
    return Table({"distance": "km", "minutes": "duration", "fare": "crowns", "departs": "time of day"}, rows)


def _planets(random: Random) -> Table:
    names = random.sample(PLANETS, 12)
    rows: dict[str, Row] = {
        name: {
            "star": STARS[number % len(STARS)],
            "diameter": random.randint(2100, 98000),
            "moons": random.randint(0, 40),
            "day": random.randint(60, 900) / 10,
        }
        for number, name in enumerate(names)
    }
    shuffled = {name: rows[name] for name in random.sample(names, len(names))}
    return Table({"star": "", "diameter": "km", "moons": "", "day": "hours"}, shuffled)


def _rates(random: Random) -> Table:
    rows: dict[str, Row] = {
        name: {"crowns": random.randint(105, 990) / 100, "metal": random.choice(["gold", "silver"])}
        for name in CURRENCIES
    }
    return Table({"crowns": "crowns for one", "metal": ""}, rows)
