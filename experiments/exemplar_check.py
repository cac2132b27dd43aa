"""Replays exemplars through the engine they were recorded from."""

from __future__ import annotations

from collections.abc import Iterator

from trialogue.envs import make
from trialogue.envs.contract import TextEnv
from trialogue.exemplars.contract import Exemplar
from trialogue.exemplars.library import ExemplarFile


def check_file(file: ExemplarFile) -> Iterator[tuple[Exemplar, list[str] | None]]:
    """Every exemplar of ``file`` in each dialect, with what differs ([] when nothing does).

    None where it names no task, and so cannot be replayed.
    """
    for dialect in file.dialects():
        env = make(file.env, **({"dialect": dialect} if dialect else {}))
        try:
            for exemplar in file.told(dialect):
                yield exemplar, replay(exemplar, env) if exemplar.task else None
        finally:
            env.close()


def replay(exemplar: Exemplar, env: TextEnv) -> list[str]:
    """What differs between the exemplar and its game: texts, goal, type, an invalid action, or no success."""
    observation, info = env.reset(options={"task": exemplar.task})
    faults = _differences("at the start", exemplar.observation, observation)
    faults += _differences("goal", exemplar.goal, info["goal"]) + _differences("type", exemplar.type, info["type"])
    for number, step in enumerate(exemplar.steps, start=1):
        observation, _, _, _, info = env.step(step.action)
        where = f"step {number} ({step.action})"
        faults += _differences(where, step.observation, observation)
        if not info["valid"]:
            faults.append(f"{where}: not accepted: {info['reason']}")
    if not info["won"]:
        faults.append("the last step does not win the game")
    return faults


def _differences(where: str, expected: str, found: str) -> list[str]:
    return [] if expected == found else [f"{where}: the file says {expected!r}, the engine {found!r}"]
