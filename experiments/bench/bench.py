"""``trialogue bench``: what it costs, measured here and now, as a table or JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version

from rich.table import Table

from trialogue.errors import UnknownName
from trialogue.experiments.bench.figure import Figure

PARTS = {
    "start": "how long it takes until something happens",
    "household": "the household engine against the reference, in one run",
    "loop": "CPU of a turn outside the model",
    "busy": "whether a model server is kept busy",
    "prefix": "whether a turn costs only its new tokens (asks the embedded model)",
    "places": "environments in threads, processes and Ray actors",
}
"""Each is a module beside this one with a function ``measure``."""

PACKAGES = ("trialogue", "gymnasium", "openai", "numpy", "scipy")


def measured(parts: Iterable[str]) -> Iterator[tuple[str, Figure]]:
    """The figures of ``parts``, as they come. Raises UnknownName before the first."""
    chosen = list(parts) or list(PARTS)
    for part in chosen:
        if part not in PARTS:
            raise UnknownName("part of the bench", part, PARTS)
    for part in chosen:
        measure: Callable[[], Iterator[Figure]] = import_module(f"trialogue.experiments.bench.{part}").measure
        for figure in measure():
            yield part, figure


def machine() -> dict[str, str]:
    """What the figures depend on beside the code."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "processor": _processor(),
        "cores": str(cores),
        "load at the start": load,
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def table(figures: Iterable[tuple[str, Figure]]) -> Table:
    made = Table(title="Bench", title_justify="left", title_style="bold")
    for name in ("part", "what", "value", "unit", "reference", "ratio", "aim", "note"):
        made.add_column(name, justify="right" if name in ("value", "reference", "ratio") else "left", overflow="fold")
    for part, f in figures:
        ratio = "" if f.ratio is None else f"{f.ratio:.2f}"
        reference = "" if f.reference is None else f"{f.reference:.3g}"
        made.add_row(part, f.name, f"{f.value:.3g}", f.unit, reference, ratio, f.aim, f.note)
    return made


def as_json(facts: dict[str, str], figures: Iterable[tuple[str, Figure]]) -> str:
    told = [{"part": part, **asdict(figure)} for part, figure in figures]
    return json.dumps({"machine": facts, "figures": told}, ensure_ascii=False, indent=2)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
