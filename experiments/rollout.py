"""Walks through an environment, here or in another process, written down so that they can be compared.

Every value is what JSON can hold, so that a walk taken elsewhere compares equal to one taken here.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, cast

from trialogue.envs import make
from trialogue.envs.contract import TextEnv
from trialogue.errors import EnvError

ANOTHER_HASH_SEED = "4242"
PATIENCE = 300
"""Seconds that another process may take."""


class Moment(NamedTuple):
    """What ``reset`` (``action`` is None) or ``step`` answered."""

    action: str | None
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


def begin(env: TextEnv, *, seed: int | None = None, task: str | None = None) -> Moment:
    """Resets ``env`` to ``task``, or to what ``seed`` draws."""
    observation, info = env.reset(seed=seed, options=None if task is None else {"task": task})
    return Moment(None, observation, 0.0, False, False, info)


def do(env: TextEnv, action: str) -> Moment:
    """One step, its answer just as it came."""
    observation, reward, terminated, truncated, info = env.step(action)
    return Moment(action, observation, cast(float, reward), terminated, truncated, info)


def walk(env: TextEnv, steps: int, *, seed: int, task: str | None = None) -> Iterator[Moment]:
    """At most ``steps`` commands, drawn by ``seed`` from the admissible ones, else from the action space."""
    now = begin(env, seed=seed, task=task)
    yield now
    env.action_space.seed(seed)
    draw = random.Random(seed)
    for _ in range(steps):
        listed = now.info["admissible"]
        if now.terminated or now.truncated or listed == []:
            return
        action = env.action_space.sample() if listed is None else draw.choice(listed)
        now = do(env, action)
        yield now


def elsewhere(
    name: str, settings: Mapping[str, Any], *, steps: int, seeds: Sequence[int], tasks: Sequence[str]
) -> dict[str, Any]:
    """In a fresh process with another hash seed: ``walks`` by seed, and the ``openings`` of ``tasks``.

    Raises EnvError with the last words of a process that failed.
    """
    asked = {"name": name, "settings": dict(settings), "steps": steps, "seeds": list(seeds), "tasks": list(tasks)}
    surroundings = {
        **os.environ,
        "PYTHONHASHSEED": ANOTHER_HASH_SEED,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        code = "from trialogue.experiments.rollout import main; main()"
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, str(answer)],
            input=json.dumps(asked),
            env=surroundings,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode or not answer.is_file():
            raise EnvError(f"another process failed: {done.stderr.strip()[-500:]}")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def main() -> None:
    """The other process: the question as JSON on standard input, the answer into the file that is named."""
    asked = json.load(sys.stdin)
    with redirect_stdout(sys.stderr), closing(make(asked["name"], **asked["settings"])) as env:
        walks = {str(seed): list(walk(env, asked["steps"], seed=seed)) for seed in asked["seeds"]}
        openings = {task: begin(env, seed=0, task=task) for task in asked["tasks"]}
    text = json.dumps({"walks": walks, "openings": openings}, default=repr)
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


def plain(moments: Any) -> Any:
    """``moments`` as they are after having been JSON."""
    return json.loads(json.dumps(moments, default=repr))
