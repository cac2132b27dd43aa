"""The figures of a report as values: what is drawn, and where. Drawn in templates (HTML) and by matplotlib (files)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from trialogue.experiments.compare import Comparison, format_p
from trialogue.experiments.endings import Ending
from trialogue.experiments.failure_tags import KINDS
from trialogue.experiments.rates import Rate
from trialogue.experiments.statistics import wilson
from trialogue.experiments.web.summary import Summary


@dataclass(frozen=True)
class Chart:
    """``name`` is that of its file, ``note`` says how to read it."""

    kind: ClassVar[str]
    name: str
    title: str
    note: str


@dataclass(frozen=True)
class Bar:
    """A value with its interval, for run number ``run``; ``other`` is a second value marked on it.

    ``low`` equal to ``high`` means that there is no interval: nothing is known, or nothing varied.
    """

    run: int
    label: str
    value: float
    low: float
    high: float
    told: str
    other: float | None = None


@dataclass(frozen=True)
class Bars(Chart):
    """Horizontal bars from ``low`` to ``high``, in groups with a heading each ("" for one that needs none)."""

    kind = "bars"
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    named: bool = False

    def at(self, value: float) -> float:
        """Where ``value`` lies, in per cent of the width."""
        return _percent((value - self.low) / (self.high - self.low))


@dataclass(frozen=True)
class Dot:
    """``x`` in the unit of the axis; ``y`` in [0, 1] with its interval."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Dots(Chart):
    """For each run its number, its name and its dots, one or several; with ``joined`` they are one curve."""

    kind = "dots"
    runs: tuple[tuple[int, str, tuple[Dot, ...]], ...]
    across: str
    ticks: tuple[tuple[float, str], ...]
    joined: bool = False
    high: float = field(default=1.0)

    def at(self, x: float) -> float:
        """Where ``x`` lies, in per cent of the width."""
        return _percent(x / self.high) if self.high else 0.0

    def labels(self, height: float, gap: float = 17.0) -> dict[int, float]:
        """How far down the letter of each run stands, in pixels, so that no two at the same place overlap."""
        ends = sorted((height * (1 - dots[-1].y), run, dots[-1].x) for run, _, dots in self.runs)
        placed: dict[int, float] = {}
        where: list[tuple[float, float]] = []
        for down, run, x in ends:
            near = [d for d, other in where if abs(self.at(other) - self.at(x)) < 6]
            at = max([down, *(d + gap for d in near)])
            where.append((at, x))
            placed[run] = at
        below = max([0.0, *(at - height - 4 for at in placed.values())])
        return {run: at - below for run, at in placed.items()}


@dataclass(frozen=True)
class Part:
    name: str
    count: int
    start: float
    width: float
    """``start`` and ``width`` in per cent of the whole."""


@dataclass(frozen=True)
class Stacks(Chart):
    """Each run's episodes divided by how they ended."""

    kind = "stacks"
    rows: tuple[tuple[int, str, tuple[Part, ...]], ...]
    names: tuple[str, ...]


def draw(runs: Sequence[Summary], pairs: Sequence[Comparison], *, priced: bool) -> list[Chart]:
    """Every figure for which there is something to show."""
    charts = [_success(runs), _score(runs), _trials(runs), _types(runs), _spent(runs, priced), _endings(runs)]
    return [chart for chart in [*charts, _tags(runs), _pairs(runs, pairs)] if chart is not None]


def _success(runs: Sequence[Summary]) -> Chart:
    bars = [
        Bar(
            run=n,
            label=s.run.name,
            value=s.rate.value,
            low=s.rate.interval[0],
            high=s.rate.interval[1],
            told=_told(s.rate),
            other=s.strict.value if s.strict.n != s.rate.n else None,
        )
        if s.rate.n
        else Bar(n, s.run.name, 0.0, 0.0, 0.0, "none finished")
        for n, s in enumerate(runs)
    ]
    marked = " Hollow mark: errors as failures." if any(bar.other is not None for bar in bars) else ""
    note = f"Share of tasks solved, errors left out, with 95% intervals.{marked}"
    return Bars("success", "Success", note, (("", tuple(bars)),), named=True)


def _score(runs: Sequence[Summary]) -> Chart | None:
    bars = [
        Bar(n, s.run.name, mean, low, high, f"{100 * mean:.1f}" + (_bounds(low, high) if low < high else ""))
        for n, s in enumerate(runs)
        if s.score
        for mean, (low, high) in [s.score]
    ]
    note = "Mean score in per cent, errors left out, with 95% bootstrap intervals."
    return Bars("score", "Score", note, (("", tuple(bars)),)) if bars else None


def _types(runs: Sequence[Summary]) -> Chart | None:
    types = sorted({t for s in runs for t in s.by_type})
    groups = []
    for t in types:
        rated = [(n, s, rate) for n, s in enumerate(runs) if (rate := s.by_type.get(t)) is not None and rate.n]
        if rated:
            groups.append((t, tuple(_bar(n, s, rate, f"{rate.solved}/{rate.n}") for n, s, rate in rated)))
    note = "Share of tasks solved, errors left out, with 95% intervals."
    return Bars("types", "Success by task type", note, tuple(groups)) if groups else None


def _bar(n: int, summary: Summary, rate: Rate, told: str) -> Bar:
    return Bar(n, summary.run.name, rate.value, *rate.interval, f"{100 * rate.value:.0f}%  {told}")


def _trials(runs: Sequence[Summary]) -> Chart | None:
    curves = [
        (n, s.run.name, tuple(Dot(c.trial, c.success.value, *c.success.interval) for c in s.trials if c.success.n))
        for n, s in enumerate(runs)
    ]
    drawn = tuple(curve for curve in curves if curve[2])
    most = max((len(dots) for *_, dots in drawn), default=0)
    if most < 2:
        return None
    every = max(1, math.ceil(most / 8))
    ticks = tuple((float(t), str(t)) for t in range(0, most, every))
    note = "Share of tasks solved up to and with each trial, errors left out, with 95% intervals."
    return Dots("trials", "Success by trial", note, drawn, "trial", ticks, joined=True, high=float(most - 1))


def _spent(runs: Sequence[Summary], priced: bool) -> Chart | None:
    known = [(n, s, s.spent) for n, s in enumerate(runs) if s.spent is not None and s.rate.n]
    if not any(spent for _, _, spent in known):
        return None
    dots = tuple((n, s.run.name, (Dot(spent, s.rate.value, *s.rate.interval),)) for n, s, spent in known)
    ticks = nice_ticks(max(spent for _, _, spent in known))
    what = "Cost" if priced else "Tokens"
    note = f"{what} per task, read and written together, all trials; success with 95% intervals."
    labelled = tuple((tick, f"{tick:g}" if priced else short(tick)) for tick in ticks)
    return Dots("cost", f"{what} against success", note, dots, f"{what.lower()} per task", labelled, high=ticks[-1])


def _endings(runs: Sequence[Summary]) -> Chart | None:
    order = [*(ending.value for ending in Ending), "unfinished"]
    names = tuple(name for name in order if any(s.endings[name] for s in runs))
    rows = []
    for n, s in enumerate(runs):
        total, start, parts = sum(s.endings.values()), 0.0, []
        for name in names:
            if count := s.endings[name]:
                parts.append(Part(name, count, start, _percent(count / total)))
                start = round(start + count / total * 100, 3)
        rows.append((n, s.run.name, tuple(parts)))
    return Stacks("endings", "Endings", "Tasks by how their last trial ended.", tuple(rows), names)


def _tags(runs: Sequence[Summary]) -> Chart | None:
    groups = []
    for kind in KINDS:
        bars = []
        for n, s in enumerate(runs):
            if count := s.tags.get(kind, 0):
                low, high = wilson(count, s.looked_at)
                bars.append(Bar(n, s.run.name, count / s.looked_at, low, high, f"{count} of {s.looked_at}"))
        if bars:
            groups.append((kind, tuple(bars)))
    note = "Share of the episodes played that show each, with 95% intervals; runs without any are left out."
    return Bars("tags", "Failure tags", note, tuple(groups)) if groups else None


def _pairs(runs: Sequence[Summary], pairs: Sequence[Comparison]) -> Chart | None:
    number = {s.run.name: n for n, s in enumerate(runs)}
    bars = []
    for c in pairs:
        if c.pair.only_a == c.pair.only_b == 0:
            continue  # the bootstrap of nothing but ties gives [0, 0], as if no doubt were left
        low, high = c.pair.interval
        told = f"{100 * c.pair.difference:+.0f} [{100 * low:+.0f}, {100 * high:+.0f}], p = {format_p(c.p_holm)}"
        bars.append(Bar(number[c.a.name], f"{c.a.name} − {c.b.name}", c.pair.difference, low, high, told))
    if not bars:
        return None
    reach = max(0.1, *(abs(v) for bar in bars for v in (bar.low, bar.high)))
    end = math.ceil(reach * 10) / 10
    same = " Pairs with the same outcomes throughout are left out." if len(bars) < len(pairs) else ""
    note = f"Points of success on the tasks that both finished, 95% bootstrap intervals; p adjusted after Holm.{same}"
    ticks = (-end, -end / 2, 0.0, end / 2, end)
    return Bars("pairs", "Paired differences", note, (("", tuple(bars)),), -end, end, ticks, named=True)


def _told(rate: Rate) -> str:
    return f"{100 * rate.value:.1f}%  {rate.solved}/{rate.n} {_bounds(*rate.interval)}"


def _bounds(low: float, high: float) -> str:
    return f" [{100 * low:.0f}, {100 * high:.0f}]"


def nice_ticks(top: float, most: int = 5) -> list[float]:
    """0 and on in steps of 1, 2 or 5 times a power of ten, the last at ``top`` or just beyond it."""
    rough = top / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [round(step * n, 12) for n in range(math.ceil(top / step - 1e-9) + 1)]


def short(number: float) -> str:
    """1,200 as 1.2k, 3,400,000 as 3.4M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return f"{number:g}"


def _percent(share: float) -> float:
    return round(100 * share, 3)
