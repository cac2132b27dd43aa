"""The same household episodes with environments in threads, in processes and in Ray actors."""

from __future__ import annotations

import asyncio
import importlib.util
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trialogue.experiments.bench.figure import Figure
from trialogue.experiments.config import parse_config
from trialogue.experiments.hosts import Where
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment

WORKERS = 2


def measure(episodes: int = 24) -> Iterator[Figure]:
    """Episodes a minute of the expert, which asks no model: all the work is the environment's."""
    places: list[Where] = ["threads", "processes"]
    if importlib.util.find_spec("ray") is not None:
        places.append("ray")
    base = 0.0
    for where in places:
        rate = _rate(where, episodes)
        base = base or rate
        note = f"{episodes} generated household games by the expert, {WORKERS} at once, starting included"
        yield Figure(f"environments in {where}", rate, "episodes/min", reference=base, ratio=rate / base, note=note)


def _rate(where: Where, episodes: int) -> float:
    config = parse_config(
        {
            "name": "bench",
            "agents": {"expert": {"agent": "expert"}},
            "tasks": {"games": {"env": "household", "split": "generated_eval", "limit": episodes}},
            "environments": where,
            "concurrency": WORKERS,
        }
    )
    with tempfile.TemporaryDirectory() as folder, open_store(config, Path(folder) / "bench.sqlite") as store:
        began = time.monotonic()
        asyncio.run(run_experiment(config, store))
        return 60 * episodes / (time.monotonic() - began)
