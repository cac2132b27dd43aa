"""The figures of a report as SVG and PDF files, for papers (matplotlib, the extra ``report``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialogue.errors import MissingExtra
from trialogue.experiments.web.charts import Bars, Chart, Dots, Stacks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.5  # inches: the text of a page in one column
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5548c", "#c08a00", "#3aa0d8", "#6b5bb5", "#6f7780")
ENDINGS = {
    "solved": "#00734f",
    "failed": "#b45309",
    "step_limit": "#46637f",
    "stuck": "#7c5a9e",
    "no_action": "#2f7f86",
    "budget": "#8d7b46",
    "context_overflow": "#94556b",
    "model_error": "#c0342b",
    "env_error": "#8e1b14",
    "unfinished": "#838b93",
}
"""Colours of runs and of endings, as in the style sheet of the report."""
MARKERS = "osD^vPX*"
INK, SOFT, LINE = "#1c2024", "#5d666f", "#d9dde1"

SETTINGS: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.4,
    "text.parse_math": False,  # a dollar in the name of a task type is a dollar
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "trialogue",  # equal figures are equal files
}


def require() -> None:
    """Raises MissingExtra where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("trialogue report --figures", "matplotlib", "report") from error


def write(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Draws each to ``NAME.svg`` and ``NAME.pdf``. Returns the files. Raises MissingExtra without matplotlib."""
    require()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in charts:
        with rc_context(SETTINGS):
            figure = Figure(figsize=(WIDTH, _height(chart)), layout="constrained")
            _draw(chart, figure.add_subplot())
            for suffix, dated in (("svg", "Date"), ("pdf", "CreationDate")):
                path = folder / f"{chart.name}.{suffix}"
                figure.savefig(path, metadata={dated: None})
                written.append(path)
    return written


def _height(chart: Chart) -> float:
    """In inches."""
    if isinstance(chart, Bars):
        return 0.75 + 0.19 * sum(len(bars) + bool(heading) for heading, bars in chart.groups)
    return 1.1 + 0.22 * len(chart.rows) if isinstance(chart, Stacks) else 3.0


def _draw(chart: Chart, axes: Axes) -> None:
    axes.set_title(chart.title, loc="left", fontweight="bold", color=INK)
    if isinstance(chart, Bars):
        _bars(chart, axes)
    elif isinstance(chart, Dots):
        _dots(chart, axes)
    elif isinstance(chart, Stacks):
        _stacks(chart, axes)


def _bars(chart: Bars, axes: Axes) -> None:
    rows: list[tuple[str, Any]] = []
    for heading, bars in chart.groups:
        rows += [(heading, None)] if heading else []
        rows += [(bar.label, bar) for bar in bars]
    differences = chart.low < 0
    for y, (_, bar) in enumerate(rows):
        if bar is None:
            continue
        colour = COLOURS[bar.run % len(COLOURS)]
        if differences:
            axes.plot([bar.low, bar.high], [y, y], color=colour, linewidth=1.5)
            axes.plot(bar.value, y, "o", color=colour, markersize=4)
        else:
            axes.barh(y, bar.value, height=0.7, color=colour, alpha=0.42, linewidth=0)
            if bar.low < bar.high:
                _whisker(axes, bar.value, bar.low, bar.high, y)
        if bar.other is not None:
            axes.plot(bar.other, y, "o", color=INK, markerfacecolor="white", markersize=4)
        axes.annotate(bar.told, (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=SOFT)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    for (_, bar), tick in zip(rows, axes.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if bar is None else "normal")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(chart.low, chart.high)
    axes.set_xticks(chart.ticks, [f"{100 * tick:{'+' if differences and tick else ''}.0f}" for tick in chart.ticks])
    axes.set_xlabel("points" if differences else "%", color=SOFT)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    if differences:
        axes.axvline(0, color=SOFT, linewidth=0.8)


def _whisker(axes: Axes, value: float, low: float, high: float, y: float) -> None:
    reach = [[max(0.0, value - low)], [max(0.0, high - value)]]
    axes.errorbar(value, y, xerr=reach, fmt="none", color=INK, elinewidth=1, capsize=2)


def _dots(chart: Dots, axes: Axes) -> None:
    for run, label, dots in chart.runs:
        colour = COLOURS[run % len(COLOURS)]
        reach = [[max(0.0, d.y - d.low) for d in dots], [max(0.0, d.high - d.y) for d in dots]]
        axes.errorbar(
            [d.x for d in dots],
            [d.y for d in dots],
            yerr=reach,
            color=colour,
            marker=MARKERS[(run + run // len(COLOURS)) % len(MARKERS)],
            markersize=4,
            linewidth=1.2 if chart.joined else 0,
            elinewidth=0.8,
            label=label,
        )
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.set_xticks([x for x, _ in chart.ticks], [words for _, words in chart.ticks])
    axes.set_ylabel("success, %", color=SOFT)
    axes.set_xlabel(chart.across, color=SOFT)
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.figure.legend(frameon=False, fontsize=7, ncols=3, loc="outside lower center")


def _stacks(chart: Stacks, axes: Axes) -> None:
    for name in chart.names:
        parts = [(y, part) for y, (_, _, parts) in enumerate(chart.rows) for part in parts if part.name == name]
        bars = axes.barh(
            [y for y, _ in parts],
            [part.width for _, part in parts],
            left=[part.start for _, part in parts],
            height=0.75,
            color=ENDINGS[name],
            edgecolor="white",
            linewidth=0.5,
            label=name,
        )
        counts = [str(part.count) if part.width > 5 else "" for _, part in parts]
        axes.bar_label(bars, counts, label_type="center", color="white", fontsize=7)
    axes.set_yticks(range(len(chart.rows)), [label for _, label, _ in chart.rows])
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("%", color=SOFT)
    axes.tick_params(axis="y", length=0)
    axes.figure.legend(frameon=False, fontsize=7, ncols=5, loc="outside lower center")
