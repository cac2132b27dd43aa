"""What the loop itself costs: CPU of a turn outside the model, storing included, with few and many episodes at once."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trialogue.experiments.bench.counting import LENGTH
from trialogue.experiments.bench.figure import Figure
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment

ENV = "trialogue.experiments.bench.counting"


def measure(turns: int = 6_000) -> Iterator[Figure]:
    """CPU seconds (``time.process_time``: all threads) for each turn of ``turns``, in milliseconds."""
    for concurrency in (1, 16, 128):
        config = configured(max(concurrency, turns // LENGTH), concurrency)
        with tempfile.TemporaryDirectory() as folder, open_store(config, Path(folder) / "bench.sqlite") as store:
            began = time.process_time()
            asyncio.run(run_experiment(config, store))
            spent = time.process_time() - began
            played = sum(row["turns"] for row in store.episodes())
        note = f"{played} turns, a model that answers at once"
        yield Figure(
            f"loop, {concurrency} at once", 1000 * spent / played, "ms of CPU a turn", aim="under 1", note=note
        )


def configured(count: int, concurrency: int, model: str = f"scripted:{ENV}:at_once") -> ExperimentConfig:
    """``count`` episodes of the environment that does next to nothing."""
    return parse_config(
        {
            "name": "bench",
            "model": model,
            "agents": {"react": {"agent": "react", "settings": {"exemplars": 0}}},
            "tasks": {"count": {"env": f"{ENV}:CountingEnv", "split": "generated_train", "settings": {"count": count}}},
            "concurrency": concurrency,
            "stuck": None,
        }
    )
