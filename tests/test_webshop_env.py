"""The shopping environment as Gymnasium and the runner meet it, on generated shops."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from webshop_samples import buy, played

from trialogue.envs import TextEnv, make
from trialogue.envs.webshop import generate
from trialogue.envs.webshop.catalogue import Goal
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.exemplars import exemplars_for

TASK = "generated_eval/s1000000-g0"


@pytest.fixture(scope="module")
def shop() -> Iterator[TextEnv]:
    env = make("webshop")
    yield env
    env.close()


def test_gymnasiums_checker_has_nothing_to_say() -> None:
    env = gymnasium.make("trialogue.envs:trialogue/WebShop-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


def test_buying_pays_once_and_what_follows_is_harmless(shop: TextEnv) -> None:
    """SHOP-05."""
    task = next(t.id for t in shop.tasks("generated_eval") if len(generate.build(t.id)[1].options) == 1)
    _, goal = generate.build(task)
    without = Goal(goal.product, goal.text, goal.attributes, (), goal.price_limit)
    info, _ = buy(shop, task, without)
    assert (info["score"], info["won"], info["valid"]) == (0.75, False, True)
    observation, reward, terminated, truncated, after = shop.step("click[buy now]")
    assert (observation, reward, terminated, truncated) == ("Invalid action!", 0.0, True, False)
    assert (after["score"], after["won"], after["valid"], after["admissible"]) == (0.75, False, False, [])
    assert "over" in after["reason"]


def test_the_buying_step_itself_brings_the_reward(shop: TextEnv) -> None:
    _, goal = generate.build(TASK)
    shop.reset(options={"task": TASK})
    commands = [goal.product.asin, *(value for _, value in goal.options), "Buy Now"]
    steps = [shop.step(f"search[{goal.product.title}]"), *(shop.step(f"click[{label}]") for label in commands)]
    assert [step[1] for step in steps] == [0.0] * (len(steps) - 1) + [1.0]
    assert [step[2] for step in steps] == [False] * (len(steps) - 1) + [True]
    assert (steps[-1][4]["won"], steps[-1][4]["clipped"]) == (True, False)


def test_an_invalid_action_is_answered_and_changes_nothing(shop: TextEnv) -> None:
    _, before = shop.reset(options={"task": TASK})
    for text in ("", "buy", "click[Add to Cart]", "a" * 100_000, "\x00", "купить", "click[\ud800]", "search[\x07]"):
        observation, reward, terminated, truncated, info = shop.step(text)
        assert (observation, reward, terminated, truncated) == ("Invalid action!", 0.0, False, False)
        assert info["valid"] is False
        assert 0 < len(info["reason"]) < 1000
        assert info["admissible"] == before["admissible"]


def test_the_space_explains_and_samples_what_can_be_done(shop: TextEnv) -> None:
    _, info = shop.reset(options={"task": TASK})
    assert all(shop.action_space.explain(command).reason == "" for command in info["admissible"])
    assert shop.action_space.explain("search[anything else]").reason == ""
    shop.action_space.seed(5)
    for _ in range(30):
        command = shop.action_space.sample()
        assert command in shop.action_space
        *_, over, _, info = shop.step(command)
        assert info["valid"] or over
        if over:
            break


def test_hidden_attributes_stay_hidden() -> None:
    env = make("webshop", show_attributes=False, page_size=3)
    _, info = env.reset(options={"task": TASK})
    *_, info = env.step(info["admissible"][0])
    items = [command for command in info["admissible"] if command.startswith("click[B0")]
    assert len(items) == 3
    observation, *_ = env.step(items[0])
    assert "[Attributes]" not in observation
    assert env.step("click[Attributes]")[4]["valid"] is False


def test_what_cannot_be_is_said_so(shop: TextEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="page_size"):
        make("webshop", page_size=0)
    with pytest.raises(UsageError, match="count"):
        make("webshop", count=0)
    with pytest.raises(UnknownName, match="generated_eval"):
        shop.tasks("generated_evil")
    with pytest.raises(UsageError, match=r"generated_eval/s1000002-g17"):
        shop.reset(options={"task": "generated_eval/7"})
    with pytest.raises(UsageError, match="1000000 to 1999999"):
        shop.reset(options={"task": "generated_eval/s5-g1"})
    monkeypatch.delenv("TRIALOGUE_WEBSHOP_DATA", raising=False)
    with pytest.raises(DataError, match="TRIALOGUE_WEBSHOP_DATA"):
        make("webshop").tasks("synthetic_test")
    with pytest.raises(UsageError, match="reset"):
        make("webshop").step("click[Buy Now]")


def test_generated_tasks_are_stable_disjoint_and_of_two_types(shop: TextEnv) -> None:
    train, evaluation = shop.tasks("generated_train"), shop.tasks("generated_eval")
    assert (len(train), len(evaluation)) == (300, 300)
    assert Counter(task.type for task in evaluation) == {"options": 150, "plain": 150}
    assert not {generate.Recipe.parse(t.id).shop for t in train} & {
        generate.Recipe.parse(t.id).shop for t in evaluation
    }
    assert [shop.task(task.id) for task in train] == list(train)
    for task in evaluation[:60]:
        assert generate.type_of(generate.build(task.id)[1]) == task.type


def test_a_generated_shop_is_full_of_near_misses() -> None:
    shop, goal = generate.build(TASK)
    assert len(shop.products) == len(shop.by_asin) == 300
    rivals = [p for p in shop.products if p.query == goal.product.query and p is not goal.product]
    assert len(rivals) == 24
    same = [p for p in rivals if p.title == goal.product.title]
    assert any(p.price > goal.price_limit and p.options == goal.product.options for p in same)
    assert any(p.price == goal.product.price and p.options != goal.product.options for p in same)
    assert goal.product.price < goal.price_limit


def test_a_buyer_that_knows_the_goal_always_succeeds(shop: TextEnv) -> None:
    for task in [*shop.tasks("generated_train")[::7], *shop.tasks("generated_eval")[::7]]:
        info, _ = buy(shop, task.id, generate.build(task.id)[1])
        assert info["won"], (task.id, info)


def test_the_expert_reads_its_way_to_nearly_every_goal(shop: TextEnv) -> None:
    won = [played(shop, task.id)["won"] for task in shop.tasks("generated_eval")[:100]]
    assert sum(won) >= 95


def test_buying_the_first_result_is_not_enough(shop: TextEnv) -> None:
    won = 0
    for task in shop.tasks("generated_eval")[:60:2]:
        _, info = shop.reset(options={"task": task.id})
        *_, info = shop.step(info["admissible"][0])
        first = next(command for command in info["admissible"] if command.startswith("click[B0"))
        shop.step(first)
        won += shop.step("click[Buy Now]")[4]["won"]
    assert won == 0


def test_every_type_has_exemplars() -> None:
    assert all(len(exemplars_for("webshop", kind)) >= 2 for kind in generate.TYPES)


def test_the_record_names_what_scores(shop: TextEnv) -> None:
    shop.reset(options={"task": TASK})
    assert {"bm25s", "rapidfuzz", "nouns"} <= set(shop.versions())


def test_two_processes_tell_the_same_story() -> None:
    code = (
        "import hashlib, trialogue.envs as e\n"
        "env = e.make('webshop'); seen = []\n"
        "for seed in range(6):\n"
        "    seen.append(env.reset(seed=seed)); env.action_space.seed(seed)\n"
        "    for _ in range(12): seen.append(env.step(env.action_space.sample()))\n"
        "print(hashlib.sha256(repr(seen).encode()).hexdigest())\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 65


def test_steps_are_quick(shop: TextEnv) -> None:
    """Well under a millisecond on an idle machine; the bound leaves room for a busy one."""
    shop.reset(options={"task": TASK})
    shop.step(f"search[{generate.build(TASK)[1].text}]")
    begun = time.perf_counter()
    for _ in range(200):
        shop.step("click[Back to Search]")
        shop.step("search[running shoes with rubber sole]")
    assert (time.perf_counter() - begun) / 400 < 0.01
