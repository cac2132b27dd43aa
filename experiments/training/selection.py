"""Which episodes are trained on and which are held out, and what makes a step. Decided by the seed alone."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialogue.errors import DataError
from trialogue.experiments.training.config import Limit
from trialogue.experiments.training.tokens import Tokens


@dataclass(frozen=True)
class Selection:
    train: list[Tokens]
    held_out: list[Tokens]


def select(episodes: Sequence[Tokens], seed: int, held_out: int, limit: Limit | None) -> Selection:
    """Holds out whole tasks until ``held_out`` episodes are; then takes the first of the others, up to ``limit``.

    The order is one of tasks, drawn by the seed from their ids alone: the same come first whatever files tell of them,
    with thoughts or without. What is held out does not depend on the limit. Raises DataError where nothing is left to
    train on.
    """
    order = sorted(episodes, key=lambda episode: _place(seed, episode))
    kept: list[Tokens] = []
    tasks: set[str] = set()
    for episode in order:
        if len(kept) >= held_out:
            break
        if episode.task not in tasks or not episode.task:
            tasks.add(episode.task)
            kept += [other for other in order if other.task == episode.task] if episode.task else [episode]
    out = {id(episode) for episode in kept}
    train = _limited([episode for episode in order if id(episode) not in out], limit)
    if not train:
        raise DataError(
            f"nothing to train on: {len(episodes)} episodes of {len({e.task for e in episodes})} tasks, of which "
            f"{len(kept)} are held out (held_out: {held_out}, and all others of their tasks)"
        )
    return Selection(train, kept)


def _place(seed: int, episode: Tokens) -> bytes:
    named = episode.task or " ".join(map(str, episode.ids))
    return hashlib.sha256(f"{seed}/{named}".encode()).digest()


def _limited(episodes: list[Tokens], limit: Limit | None) -> list[Tokens]:
    if limit is None:
        return episodes
    if limit.episodes is not None:
        return episodes[: limit.episodes]
    room, taken = limit.tokens or 0, []
    for episode in episodes:
        room -= len(episode)
        if room < 0:
            break
        taken.append(episode)
    return taken


def steps_of(episodes: Sequence[Tokens], seed: int, passes: int, tokens: int, at: Iterable[int]) -> list[list[Tokens]]:
    """What each optimiser step reads: episodes until they have ``tokens``. A step also ends with its pass, and after
    the episodes counted ``at``, so that the adapter can be written there."""
    ends = {*at, *(len(episodes) * (done + 1) for done in range(passes))}
    steps: list[list[Tokens]] = []
    step: list[Tokens] = []
    seen = 0
    for number in range(passes):
        order = list(episodes)
        if number:  # the first pass is in the order of the selection
            random.Random(f"{seed}/{number}").shuffle(order)
        for episode in order:
            step.append(episode)
            seen += 1
            if sum(map(len, step)) >= tokens or seen in ends:
                steps.append(step)
                step = []
    return steps
