"""The bundled trajectory experiments: training tasks only, and episodes that a learner can learn from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_runner import play

from trialogue.envs import TextEnv, make
from trialogue.envs.household import generate
from trialogue.experiments.config import load_config
from trialogue.experiments.exports.sft import export_sft
from trialogue.experiments.store import Store

FOLDER = Path(__file__).parents[1] / "experiments"
EXPERIMENTS = ("household-trajectories", "questions-trajectories")


def envs_of(name: str) -> list[tuple[str, TextEnv]]:
    config = load_config(FOLDER / f"{name}.yaml")
    return [(tasks.split or "", make(tasks.env, **tasks.settings)) for tasks in config.tasks.values()]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_real_task_and_no_evaluation_task_is_in_them(name: str) -> None:
    for split, env in envs_of(name):
        assert split == "generated_train"
        trained = {task.id for task in env.tasks(split)}
        evaluated = {task.id for task in env.tasks("generated_eval")}
        seeds = [{re.search(r"/s(\d+)", id)[1] for id in ids} for ids in (trained, evaluated)]  # type: ignore[index]
        assert len(trained) >= 180
        assert not seeds[0] & seeds[1]


def test_no_training_scene_is_an_evaluation_scene() -> None:
    """Other seeds give other games, not the same ones under other names."""

    def scenes(split: str, env: TextEnv) -> set[str]:
        return {str(generate.scene(task.id)) for task in env.tasks(split)[:60]}

    trained = [scenes(split, env) for split, env in envs_of("household-trajectories")]
    evaluated = [scenes("generated_eval", env) for _, env in envs_of("household-trajectories")]
    assert not set.union(*trained) & set.union(*evaluated, scenes("generated_eval", make("household")))


@pytest.mark.parametrize("name", EXPERIMENTS)
async def test_the_first_tasks_of_each_set_are_won_and_exported(name: str, tmp_path: Path) -> None:
    config = load_config(FOLDER / f"{name}.yaml", [f"tasks.{key}.limit=6" for key in tasks_of(name)])
    await play(config, tmp_path / "x.sqlite")
    with Store.read(tmp_path / "x.sqlite") as store:
        runs = [row["id"] for row in store.runs()]
        assert all(row["won"] for row in store.episodes())
        lines: list[dict[str, Any]] = [json.loads(line) for line in export_sft(store, runs, prompt="task")]
        acts = [json.loads(line) for line in export_sft(store, runs, prompt="task", thoughts="drop")]
    assert len(lines) == 6 * len(runs)
    assert [line["task"] for line in acts] == [line["task"] for line in lines]
    for line, act in zip(lines, acts, strict=True):
        assert line["task"].startswith("generated_train/")
        assert re.search("think: I|Thought 1: I", line["completion"])
        assert not re.search("think|Thought", act["completion"])
        assert line["segments"][-1]["loss"]


def tasks_of(name: str) -> list[str]:
    return list(load_config(FOLDER / f"{name}.yaml").tasks)


def test_questions_are_thought_through() -> None:
    """Each answer is what the last thought says, and each value in it was read before."""
    for name in ("hotpotqa", "fever"):
        env = make(name, count=60)
        for task in env.tasks("generated_train"):
            observation, info = env.reset(options={"task": task.id})
            expert: Any = env.expert()
            read, done = info["goal"] + observation, False
            while not done:
                action, thought = expert.act(observation, None), expert.thought(dense=False)
                for told in re.findall(r"The \w+ of [^.]*? is (?!not told)([^.]*)\.", thought):
                    assert told in read, (task.id, thought)
                if action.startswith("finish"):
                    assert thought.endswith(f"The answer is {action[7:-1]}.")
                assert expert.thought(dense=True)
                observation, _, done, _, info = env.step(action)
                read += observation
            assert info["won"]
