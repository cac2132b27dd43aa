"""Is the model kept busy? A simulated server, and the embedded model; episodes a minute against one by one."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trialogue.agents.models import make_model
from trialogue.errors import MissingExtra
from trialogue.experiments.bench import servers
from trialogue.experiments.bench.counting import configured
from trialogue.experiments.bench.figure import Figure
from trialogue.experiments.config import ExperimentConfig, parse_config
from trialogue.experiments.launch import open_store
from trialogue.experiments.recording import Observer
from trialogue.experiments.records import EndRecord
from trialogue.experiments.runner import run_experiment

LATENCY_S = 0.05
CAPACITY = 8
EPISODES_AT_ONCE = 12  # more than the server takes at once, so that one waits whenever it is free
SLOTS = 2
"""Of the embedded model: as many episodes at once, so that each keeps its slot."""
MODEL = f"scripted:{servers.__name__}:ask_server"


class Watch(Observer):
    """Notes when fewer than ``places`` episodes were left: from then on no runner could fill as many places."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._left = 0
        self.too_few = 0.0

    def started(self, planned: int, finished: int) -> None:
        self._left = planned - finished

    def ended(self, run: str, end: EndRecord) -> None:
        self._left -= 1
        if self._left == self._places - 1:
            self.too_few = time.monotonic()


def measure(episodes: int = 48, local: int = 6) -> Iterator[Figure]:
    """The share of capacity that was used while there was work for all of it; the speed against a serial loop.

    ``local`` episodes are played with the embedded model, half as many one by one; none if it is not installed.
    """
    yield from _simulated(episodes)
    if local:
        try:
            yield from _embedded(local)
        except MissingExtra as error:
            yield Figure("embedded model busy", float("nan"), "share of the time", note=str(error))


def _simulated(episodes: int) -> Iterator[Figure]:
    server = servers.SimulatedServer(LATENCY_S, CAPACITY)
    ended, fast = _played(configured(episodes, EPISODES_AT_ONCE, model=MODEL), server, CAPACITY)
    few = max(2, episodes // 16)
    _, slow = _played(configured(few, 1, model=MODEL), servers.SimulatedServer(LATENCY_S, CAPACITY), 1)
    note = f"latency {1000 * LATENCY_S:g} ms, capacity {CAPACITY}, {EPISODES_AT_ONCE} of {episodes} episodes at once"
    yield Figure("server busy", server.busy(ended), "share of its capacity", aim="at least 0.95", note=note)
    yield Figure("episodes a minute", fast, "1/min", slow, fast / slow, note=f"{note}; against one by one")


def _embedded(episodes: int) -> Iterator[Figure]:
    rates = []
    for count, at_once in ((episodes // 2, 1), (episodes, SLOTS)):
        model = make_model("local:smollm2-135m", parallel=at_once, context=4096)
        server = servers.WatchedServer(model.generate)
        ended, rate = _played(_household(count, at_once), server, 1)
        asyncio.run(model.close())
        rates.append(rate)
    note = f"smollm2-135m, {SLOTS} of {episodes} household episodes at once"
    yield Figure("embedded model busy", server.busy(ended), "share of the time", aim="at least 0.95", note=note)
    slow, fast = rates
    note = f"{note}; against one by one, in one slot"
    yield Figure("episodes a minute, embedded", fast, "1/min", slow, fast / slow, note=note)


def _household(episodes: int, concurrency: int) -> ExperimentConfig:
    return parse_config(
        {
            "name": "bench",
            "model": MODEL,
            "agents": {"react": {"agent": "react", "settings": {"exemplars": 1}}},
            "tasks": {"games": {"env": "household", "split": "generated_eval", "per_type": 1, "limit": episodes}},
            "limits": {"steps": 5},
            "stuck": None,
            "concurrency": concurrency,
        }
    )


def _played(config: ExperimentConfig, server: servers.Server, places: int) -> tuple[float, float]:
    """When fewer than ``places`` episodes were left, and episodes a minute over the whole run."""
    servers.server = server
    watch = Watch(places)
    with tempfile.TemporaryDirectory() as folder, open_store(config, Path(folder) / "bench.sqlite") as store:
        began = time.monotonic()
        asyncio.run(run_experiment(config, store, watch))
        spent = time.monotonic() - began
        return watch.too_few, 60 * len(store.planned()) / spent
