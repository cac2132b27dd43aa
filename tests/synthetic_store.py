"""A large store of made-up episodes: ``python tests/synthetic_store.py --episodes 100000 --to FILE``.

Nothing is played: rows are written by SQL, with texts as long as those of household games. Two agents, six task
types, two trials; what is solved in the first is not played in the second. The same count gives the same rows.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from trialogue.experiments.records import EpisodePlan, RunPlan
from trialogue.experiments.store import Store

AGENTS = ("act", "react")
TYPES = ("put", "examine", "clean", "heat", "cool", "puttwo")
TRIALS = 2
SAMPLES = 97  # different texts of each sort
THINGS = ("mug", "apple", "plate", "lettuce", "soapbar", "book", "pillow", "egg", "spatula", "pen", "cloth", "kettle")
PLACES = ("shelf", "drawer", "cabinet", "countertop", "fridge", "sinkbasin", "microwave", "desk", "dresser", "bed")


def write_store(path: Path, episodes: int) -> None:
    """A store at ``path`` of at least one task for each agent, and at most ``episodes`` episodes."""
    tasks = max(1, episodes // (len(AGENTS) * TRIALS))
    runs = [RunPlan(n + 1, f"{agent}/house", agent, "house") for n, agent in enumerate(AGENTS)]
    Store.create(path, name="synthetic", config={"name": "synthetic"}, runs=runs, episodes=_plan(tasks)).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        _texts(db)
        for statement in _FILL:
            db.execute(statement)
        for number, agent in enumerate(AGENTS):
            db.execute("UPDATE run SET conditions = ? WHERE id = ?", (_conditions(agent), number + 1))
        db.commit()


def _plan(tasks: int) -> Iterator[EpisodePlan]:
    number = 0
    for index in range(tasks):
        kind = TYPES[index % len(TYPES)]
        for trial in range(TRIALS):
            for run in range(len(AGENTS)):
                number += 1
                yield EpisodePlan(number, run + 1, f"made_up/{kind}/{index:06}", index, kind, "made_up", 0, trial)


def _conditions(agent: str) -> str:
    return f'{{"agent": {{"name": "{agent}"}}, "limits": {{"steps": 20}}, "model": {{"name": "scripted:none"}}}}'


def _texts(db: sqlite3.Connection) -> None:
    draw = random.Random(0)

    def sight(things: int) -> str:
        seen = ", ".join(f"a {draw.choice(THINGS)} {draw.randint(1, 4)}" for _ in range(things))
        return f"On the {draw.choice(PLACES)} {draw.randint(1, 9)}, you see {seen}."

    def row(n: int) -> tuple[Any, ...]:
        thing, place = draw.choice(THINGS), draw.choice(PLACES)
        return (
            n,
            f"put a {draw.choice(('clean', 'hot', 'cool'))} {thing} in {place}.",
            "You are in the middle of a room. Looking quickly around you, you see "
            + ", ".join(f"a {draw.choice(PLACES)} {k}" for k in range(12, 0, -1))
            + ".",
            f"go to {place} {draw.randint(1, 9)}",
            f"You arrive at {place} {draw.randint(1, 9)}. {sight(draw.randint(1, 7))}",
            f'["Now I find a {thing} 1. Next, I need to take it to the {place} and look whether the {thing} fits. '
            f'Then I go on with the next {draw.choice(PLACES)} and check it too."]',
            "".join(f"> go to {draw.choice(PLACES)} {k}\n{sight(4)}\n" for k in range(16)),
        )

    db.execute("CREATE TEMP TABLE sample (n INTEGER PRIMARY KEY, goal, start, action, observation, thoughts, prompt)")
    db.execute("CREATE TEMP TABLE number (value INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO number VALUES (?)", [(n,) for n in range(1, 21)])
    db.executemany("INSERT INTO sample VALUES (?,?,?,?,?,?,?)", [row(n) for n in range(SAMPLES)])


_LUCK = "(episode.id * 7919 + episode.task_index * 104729) % 1000"

_FILL = (
    # How each first trial ends; react solves somewhat more.
    f"""
    UPDATE episode SET
        goal = (SELECT goal FROM sample WHERE n = task_index % {SAMPLES}),
        observation = (SELECT start FROM sample WHERE n = task_index % {SAMPLES}),
        started = 1000000 + id,
        ending = CASE WHEN {_LUCK} < 250 + 100 * run THEN 'solved' WHEN {_LUCK} < 600 THEN 'step_limit'
            WHEN {_LUCK} < 850 THEN 'stuck' WHEN {_LUCK} < 970 THEN 'failed' WHEN {_LUCK} < 990 THEN 'no_action'
            ELSE 'model_error' END
    """,
    """
    UPDATE episode SET ending = 'solved_earlier', goal = '', observation = '', started = NULL
    WHERE trial = 1 AND EXISTS (SELECT 1 FROM episode first WHERE (first.run, first.task_index, first.seed, first.trial)
        = (episode.run, episode.task_index, episode.seed, 0) AND first.ending = 'solved')
    """,
    """
    UPDATE episode SET won = ending IN ('solved', 'solved_earlier'),
        score = CASE WHEN ending IN ('solved', 'solved_earlier') THEN 1.0 ELSE 0.0 END,
        error = CASE ending WHEN 'model_error' THEN 'server: it fell over' ELSE '' END,
        steps = CASE ending WHEN 'solved' THEN 6 + id % 13 WHEN 'step_limit' THEN 20 WHEN 'solved_earlier' THEN 0
            ELSE 8 + id % 9 END
    """,
    "UPDATE episode SET turns = steps, seconds = steps * 0.7",
    f"""
    INSERT INTO step SELECT episode.id, number.value, number.value - 1,
        CASE WHEN ending = 'stuck' AND number.value > steps - 6 THEN 'look' ELSE sample.action END,
        CASE WHEN ending = 'stuck' AND number.value > steps - 6 THEN 'Nothing happens.' ELSE sample.observation END,
        number.value % 7 != 0, CASE WHEN number.value % 7 = 0 THEN 'it is not possible here' ELSE '' END,
        ending = 'solved' AND number.value = steps, ending = 'solved' AND number.value = steps,
        ending = 'solved' AND number.value = steps, 0.02
    FROM episode JOIN number ON number.value <= steps
        JOIN sample ON sample.n = (episode.id * 13 + number.value * 31) % {SAMPLES} ORDER BY 1, 2
    """,
    f"""
    INSERT INTO turn (episode, turn, calls, kind, thoughts, action, liberties, problem, event)
    SELECT episode, turn, turn + 1, 'action',
        CASE WHEN run = 2 AND (episode.id + turn) % 3 = 0 THEN sample.thoughts ELSE '[]' END, step.action,
        CASE WHEN turn % 11 = 5 THEN '[{{"after": "go to shelf 1", "before": "Go to shelf 1", "kind": "case"}}]'
            ELSE '[]' END, '', ''
    FROM episode CROSS JOIN step ON step.episode = episode.id
        JOIN sample ON sample.n = (episode.id + turn * 17) % {SAMPLES}
    """,
    f"""
    INSERT INTO reply (episode, call, request_hash, shared, prompt, request, text, finish_reason, prompt_tokens,
        completion_tokens, cached_tokens, cost, retries, seconds, base)
    SELECT episode, turn, substr('0123456789abcdef', 1 + turn % 16, 1), 0 + (turn > 0) * 2000,
        CASE turn WHEN 0 THEN sample.prompt ELSE '> ' || step.action || char(10) || step.observation || char(10) END,
        '{{"max_tokens": 60, "temperature": 0.0}}', step.action, 'stop', 1200 + 40 * turn, 8, 1100 + 40 * turn, NULL, 0,
        0.6, CASE turn WHEN 0 THEN NULL ELSE turn - 1 END
    FROM episode CROSS JOIN step ON step.episode = episode.id JOIN sample ON sample.n = episode.id % {SAMPLES}
    """,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    write_store(arguments.to, arguments.episodes)
    size = arguments.to.stat().st_size / 1e6
    print(f"{arguments.to}: {arguments.episodes} episodes, {size:,.0f} MB, {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
