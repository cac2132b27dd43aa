"""Is the model kept busy? A simulated server of fixed latency and capacity; episodes a minute against one by one."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trialogue.experiments.bench import counting
from trialogue.experiments.bench.figure import Figure
from trialogue.experiments.bench.loop import ENV, configured
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment

LATENCY_S = 0.05
CAPACITY = 8
EPISODES_AT_ONCE = 12  # more than the server takes at once, so that one waits whenever it is free


def measure(episodes: int = 32) -> Iterator[Figure]:
    """The share of the server's capacity that was used while work was left, and the speed against a serial loop."""
    share, fast = _played(episodes, concurrency=EPISODES_AT_ONCE)
    _, slow = _played(max(2, episodes // 16), concurrency=1)
    note = f"latency {1000 * LATENCY_S:g} ms, capacity {CAPACITY}, {EPISODES_AT_ONCE} episodes at once"
    yield Figure("server busy", share, "share of its capacity", aim="at least 0.95", note=note)
    yield Figure(
        "episodes a minute", fast, "1/min", reference=slow, ratio=fast / slow, note=f"{note}; against one by one"
    )


def _played(episodes: int, concurrency: int) -> tuple[float, float]:
    """The share of capacity used, and episodes a minute."""
    counting.server = counting.SimulatedServer(LATENCY_S, CAPACITY)
    config = configured(episodes, concurrency, model=f"scripted:{ENV}:ask_server")
    with tempfile.TemporaryDirectory() as folder, open_store(config, Path(folder) / "bench.sqlite") as store:
        began = time.monotonic()
        asyncio.run(run_experiment(config, store))
        spent = time.monotonic() - began
    return counting.server.answering_s / (spent * CAPACITY), 60 * episodes / spent
