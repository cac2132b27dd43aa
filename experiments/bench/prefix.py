"""Does a turn cost only its new tokens? Prompt tokens that the embedded model evaluated against those that were new."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trialogue.experiments.bench.figure import Figure
from trialogue.experiments.config import parse_config
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store


def measure(episodes: int = 4) -> Iterator[Figure]:
    """Of a short run of ReAct with ``local:smollm2-135m``, four episodes at once."""
    config = parse_config(
        {
            "name": "bench",
            "model": {"name": "local:smollm2-135m", "settings": {"parallel": 4}},
            "agents": {"react": {"agent": "react"}},
            "tasks": {"games": {"env": "household", "split": "generated_eval", "limit": episodes}},
            "limits": {"steps": 10},
            "stuck": None,
            "concurrency": 4,
        }
    )
    with tempfile.TemporaryDirectory() as folder, open_store(config, Path(folder) / "bench.sqlite") as store:
        asyncio.run(run_experiment(config, store))
        evaluated, new = evaluated_and_new(store)
    note = f"{episodes} household episodes of 10 steps; exemplars are new once in each episode"
    yield Figure("prompt tokens evaluated", evaluated / new, "per new token", aim="at most 1.1", note=note)


def evaluated_and_new(store: Store) -> tuple[int, int]:
    """Prompt tokens that were read, and those that had not stood in the episode's prompt before."""
    evaluated = new = 0
    for episode in store.episodes():
        before = 0
        for _, reply in store.replies(episode["id"]).values():
            evaluated += reply.usage.prompt - reply.usage.cached
            new += reply.usage.prompt - before
            before = reply.usage.prompt + reply.usage.completion
    return evaluated, new
