"""How long it takes until something happens: the command line, and an experiment's first call of a model."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from trialogue.experiments.bench.figure import Figure

_HELP = (sys.executable, "-m", "trialogue.experiments.cli", "--help")
_BARE = (sys.executable, "-c", "import typer")


def measure(times: int = 5) -> Iterator[Figure]:
    """The fastest of ``times`` starts, in seconds: the others were held up by something else."""
    bare, told = _fastest(_BARE, times), _fastest(_HELP, times)
    yield Figure(
        "trialogue --help", told, "s", reference=bare, ratio=bare / told, aim="within twice", note="import typer"
    )


def _fastest(command: Sequence[str], times: int) -> float:
    return min(_seconds(command) for _ in range(times))


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (our own commands)
    return time.perf_counter() - began
