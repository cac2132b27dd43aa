"""One suite over every registered environment: the contract, Gymnasium's checker, seeds, vectors, names."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv

import trialogue.envs as envs
from trialogue.envs import ActionSpace, TextEnv, TextSpace, generated
from trialogue.envs.contract import Info
from trialogue.errors import UnknownName, UsageError

NAMES = envs.names()
SMALL: dict[str, dict[str, Any]] = {
    "household": {"receptacles": 5, "distractors": 3},
    "textworld": {"count": 4},
}
"""Settings that keep these tests quick, by environment."""

GYM_ID = "trialogue.envs:trialogue/Household-v0"


def fresh(env: TextEnv) -> TextEnv:
    return envs.make(env.name, **SMALL.get(env.name, {}))


def rollout(env: TextEnv, seed: int, steps: int = 4) -> list[tuple[Any, ...]]:
    observation, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    seen: list[tuple[Any, ...]] = [("", observation, 0.0, False, False, info["task"])]
    for _ in range(steps):
        action = env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append((action, observation, reward, terminated, truncated, info["task"]))
        if terminated:
            break
    return seen


@pytest.fixture(scope="module", params=NAMES)
def env(request: pytest.FixtureRequest) -> Any:
    made = envs.make(request.param, **SMALL.get(request.param, {}))
    yield made
    made.close()


def test_gymnasium_checker_passes_without_warnings(env: TextEnv) -> None:  # GYM-02, GYM-04, GYM-11
    entry = envs.describe(env.name)[0]
    made = gymnasium.make(entry.gym_id, **SMALL.get(env.name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped, skip_render_check=True)
    made.close()


def test_equal_seeds_give_equal_rollouts(env: TextEnv) -> None:
    first, again = rollout(env, 7), rollout(env, 7)
    assert first == again
    other = fresh(env)
    assert rollout(other, 7) == first
    other.close()


def test_plain_resets_after_a_seed_are_repeatable(env: TextEnv) -> None:  # GYM-04
    other = fresh(env)
    runs = [[made.reset(seed=s)[1]["task"] for s in (123, None, None)] for made in (env, other)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 1
    other.close()


def test_seeds_reach_the_generator(env: TextEnv) -> None:  # GYM-05
    states = []
    for seed in (1, 2, 3):
        env.reset(seed=seed)
        states.append(str(env.np_random.bit_generator.state))
    assert len(set(states)) == 3


def test_reset_and_step_return_the_contract(env: TextEnv) -> None:  # GYM-11
    observation, info = env.reset(seed=1)
    assert type(observation) is str
    assert set(info) >= set(Info.__annotations__)
    assert (info["valid"], info["reason"], info["score"], info["won"]) == (True, "", 0.0, False)
    observation, reward, terminated, truncated, info = env.step("dance wildly")
    assert [type(x) for x in (observation, reward, terminated, truncated)] == [str, float, bool, bool]
    assert set(info) >= set(Info.__annotations__)
    assert info["valid"] is False
    assert info["reason"]


ODD = ["", "   ", "\n", "\x00\x07", "a" * 100_000, "go to \ud800", "{0}", "café – 5 £"]


def test_odd_text_is_an_invalid_action_and_changes_nothing(env: TextEnv) -> None:
    _, before = env.reset(seed=1)
    for text in ODD:
        observation, reward, terminated, truncated, info = env.step(text)
        assert (reward, terminated, truncated, info["valid"]) == (0.0, False, False, False)
        assert 0 < len(info["reason"]) < 1000
        assert info["admissible"] == before["admissible"]
        assert observation in env.observation_space


def test_explain_names_the_nearest_admissible_command(env: TextEnv) -> None:
    _, info = env.reset(seed=1)
    assert env.action_space.explain("y" * 100_000).reason
    if info["admissible"] is None:
        pytest.skip(f"{env.name} cannot list its commands")
    command = info["admissible"][0]
    told = env.action_space.explain(command + "x")
    assert told.reason
    assert told.nearest == command
    assert env.action_space.explain(command).reason == ""


def test_every_admissible_command_is_in_the_action_space(env: TextEnv) -> None:
    _, info = env.reset(seed=2)
    admissible = info["admissible"] or [env.action_space.sample()]
    assert all(command in env.action_space for command in admissible)
    assert info["admissible"] is None or env.action_space.sample() in admissible
    assert "dance wildly" not in env.action_space


def test_tasks_are_stable_unique_and_name_their_split(env: TextEnv) -> None:
    for split in env.splits:
        tasks = env.tasks(split)
        assert list(tasks) == list(fresh(env).tasks(split))
        assert len({task.id for task in tasks}) == len(tasks)
        assert all(task.split == split and task.id.startswith(f"{split}/") for task in tasks)
        assert env.task(tasks[0].id) == tasks[0]


def test_generated_splits_have_disjoint_seeds() -> None:
    assert set(generated.SEEDS["generated_train"]).isdisjoint(generated.SEEDS["generated_eval"])
    assert tuple(generated.SEEDS) == generated.SPLITS


def test_an_id_is_written_in_one_way_only(env: TextEnv) -> None:
    for task in env.tasks("generated_train")[:4]:
        for other in (f"{task.id} ", re.sub(r"([/-]s)(?=\d)", r"\g<1>0", task.id), f"{task.id}\n"):
            with pytest.raises(UsageError, match="one looks like generated_eval/"):
                env.task(other)


def test_a_task_can_be_chosen(env: TextEnv) -> None:
    task = env.tasks(env.splits[0])[3]
    observation, info = env.reset(seed=5, options={"task": task.id})
    assert (info["task"], info["type"]) == (task.id, task.type)
    assert env.reset(seed=99, options={"task": task.id})[0] == observation


def test_unknown_reset_options_are_refused_with_the_nearest(env: TextEnv) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'task'"):
        env.reset(options={"tasks": "x"})


def test_unknown_split_is_refused_with_the_nearest(env: TextEnv) -> None:
    with pytest.raises(UnknownName, match=f"Did you mean {env.splits[0]!r}"):
        env.tasks(env.splits[0] + "s")


def test_what_is_not_text_is_refused(env: TextEnv) -> None:
    env.reset(seed=1)
    with pytest.raises(UsageError, match="an action is text; got int"):
        env.step(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a task id is text; got int"):
        env.reset(options={"task": 3})


def test_stepping_before_reset_is_refused(env: TextEnv) -> None:
    with pytest.raises(UsageError, match="call reset"):
        fresh(env).step("look")


def test_versions_are_told(env: TextEnv) -> None:
    env.reset(seed=1)
    assert all(isinstance(v, str) and v for v in env.versions().values())
    assert env.versions()


def test_naming_an_environment_imports_no_simulator() -> None:
    code = (
        "import sys, trialogue.envs as e; e.names(); e.describe(); "
        "print([m for m in ('textworld', 'alfworld', 'fast_downward') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_environment_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'household'"):
        envs.make("houshold")


def test_an_unknown_setting_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'dialect'"):
        envs.make("household", dialct="put")


def test_an_entry_point_can_be_named_directly() -> None:
    assert envs.make("trialogue.envs.household:HouseholdEnv").name == "household"
    with pytest.raises(UsageError, match="no environment at"):
        envs.make("trialogue.envs.household:NoSuchEnv")
    with pytest.raises(UsageError, match="no environment at"):
        envs.make("no_such_module:Env")


def test_a_taken_name_cannot_be_registered_again() -> None:
    with pytest.raises(UsageError, match="is taken by"):
        envs.register("household", "elsewhere:Env", "elsewhere/Env-v0", "another")
    entry = envs.describe("household")[0]
    envs.register(entry.name, entry.entry_point, entry.gym_id, entry.summary)
    assert envs.describe("household") == (entry,)


def test_exported_names_exist() -> None:
    assert all(hasattr(envs, name) for name in envs.__all__)
    assert envs.__all__ == sorted(envs.__all__)


def test_vector_environments_in_spawned_processes_pass_text_on() -> None:  # GYM-01, GYM-09
    vector = envs.make_vec("household", 2, context="spawn", **SMALL["household"])
    try:
        observations, infos = vector.reset(seed=[1, 2])
        alone = envs.make("household", **SMALL["household"])
        assert [str(text) for text in observations] == [alone.reset(seed=seed)[0] for seed in (1, 2)]
        alone.close()
        observations, rewards, _, _, infos = vector.step(("look", "dance"))
        assert [bool(valid) for valid in infos["valid"]] == [True, False]
        assert observations[1] == "Nothing happens."
        assert rewards.tolist() == [0.0, 0.0]
    finally:
        vector.close()


@pytest.fixture(scope="module")
def vector() -> Iterator[AsyncVectorEnv]:
    made = envs.make_vec("tools", 2)
    made.reset(seed=1)
    yield made
    made.close()


WRONG_BATCHES = [
    ("look", r"expected a sequence of num_envs=2 actions \(text\), got one str 'look'; wrap it: \[action\] \* 2"),
    ("ab", "got one str 'ab'"),
    (["look"], "num_envs=2 .* got 1"),
    (("look",) * 3, "num_envs=2 .* got 3"),
    ([], "got 0"),
    (["look", 3], "got int for environment 1"),
    ([b"look", "look"], "got bytes for environment 0"),
    (None, "got NoneType"),
    (7, "got int"),
]


@pytest.mark.parametrize(("actions", "told"), WRONG_BATCHES)
def test_tw_07_a_batch_that_is_not_one_text_each_is_refused_and_costs_nothing(
    vector: AsyncVectorEnv, actions: Any, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        vector.step(actions)
    assert vector.step(["columns[goods]"] * 2)[4]["valid"].all()


@pytest.mark.parametrize("batch", [tuple, list, np.array])
def test_a_batch_is_any_sequence_of_texts(vector: AsyncVectorEnv, batch: Any) -> None:
    assert vector.step(batch(["columns[goods]", "dance"]))[4]["valid"].tolist() == [True, False]
    vector.step(vector.action_space.sample())


def test_a_vector_needs_an_environment() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        envs.make_vec("household", 0)


def test_a_fresh_process_knows_the_id() -> None:  # GYM-09
    code = f"import gymnasium; print(gymnasium.make({GYM_ID!r}).unwrapped.name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "household"


def test_time_limit_truncates_and_never_wins() -> None:
    made = gymnasium.make(GYM_ID, max_episode_steps=3)
    made.reset(seed=1)
    ends = [made.step("look")[1:] for _ in range(3)]
    assert [(reward, terminated, truncated) for reward, terminated, truncated, _ in ends] == [
        (0.0, False, False),
        (0.0, False, False),
        (0.0, False, True),
    ]
    assert ends[-1][3]["won"] is False
    made.close()


TEXTS = ["You are in a room.", "", "café – 5 £", "a\nb", "x" * 40_000]


@pytest.mark.parametrize("text", TEXTS)
def test_text_space_contains_real_text(text: str) -> None:  # GYM-02
    assert text in TextSpace()


def test_text_space_bounds_and_samples() -> None:
    space = TextSpace(5, seed=1)
    assert "123456" not in space
    assert 3 not in space
    assert all(space.sample() in space for _ in range(50))
    assert space == TextSpace(5) != TextSpace(6)


def test_action_space_of_words_contains_words() -> None:  # GYM-03
    space = ActionSpace(["look", "go {direction}"], seed=1)
    assert "look" in space
    assert "go east" in space
    assert "go " not in space
    assert "fly" not in space
    assert space.sample() in space
    space.update(["look", "go east"])
    assert {space.sample() for _ in range(50)} == {"look", "go east"}


def test_action_space_can_change_its_language() -> None:
    space = ActionSpace(["put {object}"])
    space.update(["move cup"], templates=["move {object}"])
    assert space.templates == ("move {object}",)
    assert "move pan" in space
    assert "put pan" not in space
