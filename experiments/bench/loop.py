"""What the loop itself costs: CPU of a turn outside the model, storing included, with few and many episodes at once."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trialogue.experiments.bench.counting import LENGTH, configured
from trialogue.experiments.bench.figure import Figure
from trialogue.experiments.config import ExperimentConfig
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment


def measure(turns: int = 6_000) -> Iterator[Figure]:
    """CPU seconds (``time.process_time``: all threads) for each turn of ``turns``, in milliseconds.

    The environment is in a thread of this process and does next to nothing; its CPU is counted with the rest.
    """
    for concurrency in (1, 16, 128):
        yield _figure(f"loop, {concurrency} at once", configured(max(concurrency, turns // LENGTH), concurrency))
    chat = configured(max(16, turns // LENGTH), 16, model_settings={"style": "chat"})
    yield _figure("loop, 16 at once, chat", chat)


def _figure(name: str, config: ExperimentConfig) -> Figure:
    spent, turns = played(config)
    note = f"{turns} turns, a model that answers at once"
    return Figure(name, 1000 * spent / turns, "ms of CPU a turn", aim="under 1", note=note)


def played(config: ExperimentConfig) -> tuple[float, int]:
    """Plays it, its store in a temporary folder. Returns seconds of CPU, and turns."""
    with tempfile.TemporaryDirectory() as folder, open_store(config, Path(folder) / "bench.sqlite") as store:
        began = time.process_time()
        asyncio.run(run_experiment(config, store))
        spent = time.process_time() - began
        return spent, sum(row["turns"] for row in store.episodes())
