"""What ``trialogue compare`` tells as one HTML file: figures, tables, failure tags with episodes that show them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from trialogue.errors import UsageError
from trialogue.experiments.compare import compare, format_p, verdict
from trialogue.experiments.failure_tags import KINDS
from trialogue.experiments.rates import repeated
from trialogue.experiments.report import behaviour_table, interval, percent, repeated_table
from trialogue.experiments.results import Run, load_several
from trialogue.experiments.web.charts import draw
from trialogue.experiments.web.reader import Reader
from trialogue.experiments.web.render import render, require, style, style_hash
from trialogue.experiments.web.summary import Sample, common_conditions, letter, summarise
from trialogue.experiments.web.trajectory import Trajectory, trajectory

FEATURE, EXTRA = "trialogue report", "report"
NAMED = 40  # tasks that only one of two solved: so many are named
CUT = 1500  # characters of a text in an episode that is shown as a sample


def write_report(specs: Sequence[str], to: Path, figures: Path | None = None) -> list[Path]:
    """Writes the report on these runs, and its figures to a folder where one is given. Returns what was written.

    Raises UsageError when the runs are not there or ``to`` is not to be an HTML file; MissingExtra without the
    extra ``report``.
    """
    if to.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"expected the report to be called NAME.html, got {to}")
    if figures is not None:
        from trialogue.experiments.web import figures as drawing

        drawing.require()
    require(FEATURE, EXTRA)
    runs = load_several(specs)
    summaries, samples, priced = summarise(runs)
    pairs = compare(runs)
    charts = draw(summaries, pairs, priced=priced)
    common, own = common_conditions(runs)
    page = render(
        "report.html",
        feature=FEATURE,
        extra=EXTRA,
        runs=summaries,
        stores=_stores(runs),
        charts={chart.name: chart for chart in charts},
        pairs=pairs,
        number={run.name: n for n, run in enumerate(runs)},
        samples=samples,
        shown=_trajectories(runs, samples),
        behaviour=_columns(behaviour_table([run for run in runs if not run.is_imported])),
        repeated=_columns(repeated_table(runs)) if any(repeated(run.outcomes) for run in runs) else [],
        common=common,
        own=own,
        kinds=KINDS,
        named=NAMED,
        cut=CUT,
        style=style(),
        style_hash=style_hash(),
        words={"percent": percent, "interval": interval, "verdict": verdict, "p": format_p, "json": _short},
        letter=letter,
    )
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(page, encoding="utf-8")
    return [to, *(drawing.write(charts, figures) if figures is not None else [])]


def _stores(runs: Sequence[Run]) -> list[Path]:
    """The files that the runs stand in, each once."""
    return list(dict.fromkeys(run.source[0] for run in runs if run.source is not None))


def _trajectories(runs: Sequence[Run], samples: Mapping[str, Sequence[Sample]]) -> dict[tuple[int, int], Trajectory]:
    """Every episode that is a sample of some tag, by run and number."""
    wanted = sorted({(sample.run, sample.episode) for some in samples.values() for sample in some})
    shown = {}
    for run, episode in wanted:
        source = runs[run].source
        if source is not None:
            with Reader.open(source[0]) as reader:
                shown[run, episode] = trajectory(reader, episode)
    return shown


def _columns(table: Table) -> list[tuple[str, list[str]]]:
    """A table for the terminal by column: its head and its cells."""
    return [(str(column.header), [str(cell) for cell in column.cells]) for column in table.columns]


def _short(value: Any, most: int = 200) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"
