"""The household's rules against the reference engine: CPU of a step, a reset, a load, and what an episode leaves."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from trialogue.envs.household import generate
from trialogue.envs.household.engine import Engine, Game, Moment, borrow, give_back
from trialogue.errors import MissingExtra
from trialogue.experiments.bench.figure import Figure

GAMES = 6
"""Of each dialect: one of each task type."""


def measure(steps: int = 100, episodes: int = 200) -> Iterator[Figure]:
    """CPU (``time.process_time``) in milliseconds, over ``steps`` admissible commands in each of 12 generated games.

    The reference, where it is installed, plays a tenth of the steps. ``episodes`` are counted for what they leave in
    memory (tracemalloc), after as many again that may fill what is kept on purpose.
    """
    names = ("load a game", "reset it", "step")
    ours = _costs("rules", steps)
    note = f"{2 * GAMES} games, both dialects, {steps} steps in each"
    try:
        theirs: tuple[float | None, ...] = _costs("reference", max(1, steps // 10))
    except MissingExtra as error:
        theirs, note = (None, None, None), str(error)
    for name, aim, cost, reference in zip(names, ("under 20", "under 20", "50 times"), ours, theirs, strict=True):
        ratio = None if reference is None else reference / cost
        yield Figure(f"household: {name}", cost, "ms of CPU", reference, ratio, aim, note)
    note = f"{episodes} episodes"
    yield Figure("household: left by an episode", _left(episodes), "bytes", aim="under 1,000", note=note)


def _costs(name: str, steps: int) -> tuple[float, float, float]:
    """Means of loading, resetting and stepping."""
    engine = borrow(name)
    loading = resetting = stepping = 0.0
    for dialect, task in _tasks():
        game = generate.build(task, dialect)
        loading += _seconds(partial(engine.load, game))
        resetting += _seconds(engine.reset)
        stepping += _seconds(partial(_play, engine, engine.reset(), Random(task), steps)) / steps
    give_back(name, engine)
    return loading * 500 / GAMES, resetting * 500 / GAMES, stepping * 500 / GAMES


def _tasks() -> Iterator[tuple[str, str]]:
    for dialect in ("move", "put"):
        for task in generate.tasks("generated_eval", GAMES, 12, 14):
            yield dialect, task.id


def _play(engine: Engine, moment: Moment, random: Random, steps: int) -> None:
    for _ in range(steps):
        moment = engine.step(random.choice(moment.admissible))


def _left(episodes: int) -> float:
    """Bytes that stay allocated, an episode."""
    games = [generate.build(task, dialect) for dialect, task in _tasks()]
    tracemalloc.start()
    sizes = []
    for _ in range(2):
        _episodes(games, episodes)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return (sizes[1] - sizes[0]) / episodes


def _episodes(games: list[Game], count: int) -> None:
    for number in range(count):
        engine = borrow("rules")
        engine.load(games[number % len(games)])
        _play(engine, engine.reset(), Random(number), 5)


def _seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began
