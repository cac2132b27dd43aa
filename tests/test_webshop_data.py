"""WebShop's own files: what is read, which goals follow, and that they are the same in every process."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from webshop_samples import buy, played

from trialogue.envs import TextEnv, make
from trialogue.envs.webshop import files, goals
from trialogue.envs.webshop.catalogue import LIMITS, NO_LIMIT
from trialogue.errors import DataError, UnknownName

SEED = 233


@pytest.fixture(scope="module")
def folder(test_data: Path) -> Path:
    return (test_data / "webshop").resolve()


@pytest.fixture(scope="module")
def shop(folder: Path) -> TextEnv:
    return make("webshop", data=folder)


def item(asin: str = "B000000001", **fields: Any) -> dict[str, Any]:
    return {
        "asin": asin,
        "name": "Plain  Mug",
        "pricing": "$1,204.50",
        "query": " Mugs ",
        "full_description": "A mug.",
        "product_category": "Home › Mugs",
        "small_description": "Dishwasher safe.",
        "customization_options": "",
        **fields,
    }


def write(folder: Path, items: Any, asked: Any, human: Any = None, suffix: str = "_1000") -> Path:
    (folder / f"items_shuffle{suffix}.json").write_text(json.dumps(items))
    (folder / f"items_ins_v2{suffix}.json").write_text(json.dumps(asked))
    if human is not None:
        (folder / "items_human_ins.json").write_text(json.dumps(human))
    return folder


ASKED = {"attributes": ["hand made"], "instruction": "Find me mugs", "instruction_attributes": ["hand made"]}


def test_the_thousand_products_give_6910_synthetic_goals(shop: TextEnv, folder: Path) -> None:
    assert len(files.read(folder, SEED).shop.products) == 1000
    assert len(shop.tasks("synthetic")) == 6910
    assert [len(shop.tasks(f"synthetic_{part}")) for part in ("test", "eval", "train")] == [500, 1000, 5410]
    assert len(shop.tasks("human")) == len(shop.tasks("human_test")) == 13
    assert len({task.id for task in shop.tasks("synthetic")}) == 6910


def test_goals_and_prices_follow_from_the_seed_alone(folder: Path) -> None:
    code = (
        "import hashlib, pathlib, sys\n"
        "from trialogue.envs.webshop import files, goals\n"
        "folder, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])\n"
        "told = [[(p.asin, p.price) for p in files.read(folder, seed).shop.products]]\n"
        "told += [[(id, g.text, g.price_limit) for id, g in goals.goals(folder, split, seed).items()]"
        " for split in goals.SPLITS]\n"
        "print(hashlib.sha256(repr(told).encode()).hexdigest())\n"
    )

    def told(hash_seed: str, seed: int) -> bytes:
        command = [sys.executable, "-c", code, str(folder), str(seed)]
        return subprocess.run(command, env={"PYTHONHASHSEED": hash_seed}, capture_output=True, check=True).stdout

    assert told("1", SEED) == told("2", SEED) != told("1", SEED + 1)


def test_prices_lie_in_their_range_and_limits_above_them(folder: Path) -> None:
    for goal in goals.goals(folder, "synthetic", SEED).values():
        tags = [float(tag) for tag in goal.product.price_tag.replace("$", "").split(" to ")]
        assert min(tags) <= goal.product.price <= max(tags)
        assert goal.product.price < goal.price_limit
        if goal.price_limit == NO_LIMIT:
            assert "price lower than" not in goal.text
        else:
            assert goal.price_limit in LIMITS
            assert goal.text.endswith(f", and price lower than {goal.price_limit:.2f} dollars")


def test_types_tell_whether_options_are_asked_for(shop: TextEnv, folder: Path) -> None:
    listed = goals.goals(folder, "synthetic", SEED)
    types = Counter(task.type for task in shop.tasks("synthetic"))
    assert types == Counter("options" if goal.options else "plain" for goal in listed.values())
    assert min(types.values()) > 100


def test_an_unknown_task_is_answered_with_near_ones(shop: TextEnv) -> None:
    known = shop.tasks("synthetic_test")[0].id
    with pytest.raises(UnknownName, match=known):
        shop.reset(options={"task": f"{known}9999"})


@pytest.mark.parametrize("split", ["synthetic", "human"])
def test_a_buyer_that_knows_the_goal_gets_the_full_score(shop: TextEnv, folder: Path, split: str) -> None:
    for id, goal in list(goals.goals(folder, split, SEED).items())[::40]:
        info, _ = buy(shop, id, goal)
        assert (info["won"], info["clipped"]) == (True, False), (id, info)


@pytest.mark.slow
def test_every_one_of_the_6910_goals_can_be_met(shop: TextEnv, folder: Path) -> None:
    missed = [id for id, goal in goals.goals(folder, "synthetic", SEED).items() if not buy(shop, id, goal)[0]["won"]]
    assert missed == []


def test_the_expert_does_decently_on_real_goals(shop: TextEnv) -> None:
    infos = [played(shop, task.id) for task in shop.tasks("synthetic_test")[:60]]
    assert sum(info["won"] for info in infos) >= 30
    assert sum(info["score"] for info in infos) >= 40


def test_the_record_names_the_files(shop: TextEnv) -> None:
    shop.reset(options={"task": shop.tasks("human")[0].id})
    assert len(shop.versions()["webshop files"]) == hashlib.sha256().digest_size * 2


def test_what_the_files_say_is_read(tmp_path: Path) -> None:
    options = {"Color": [{"value": " Red/Blue "}, {"value": "GREEN"}], "Size": None}
    items = [item(customization_options=options), item("B2", pricing="$10.00$20.00"), item("B3", pricing=""), item()]
    asked = {"B000000001": ASKED, "B2": {"attributes": []}}
    human = [{"instruction": "i need a mug.", "instruction_attributes": ["hand made"], "instruction_options": ["red"]}]
    skipped = {"instruction": "a mug", "instruction_attributes": [], "instruction_options": []}
    folder = write(tmp_path, items, asked, {"B000000001": [*human, skipped]})
    first, second, third = files.read(folder, SEED).shop.products
    assert (first.title, first.query, first.path) == ("Plain Mug", "mugs", ("Home", "Mugs"))
    assert (first.price, first.price_tag, first.features) == (1204.5, "$1204.50", ("Dishwasher safe.",))
    assert first.options == {"color": ("red | blue", "green")}
    assert (third.price, third.price_tag, second.price_tag) == (100.0, "$100.00", "$10.00 to $20.00")
    assert 10 < second.price < 20
    listed = goals.goals(folder, "synthetic", SEED)
    assert sorted(goal.text for goal in listed.values()) == [
        "Find me mugs with color: green",
        "Find me mugs with color: red | blue",
    ]
    [asked_for] = goals.goals(folder, "human", SEED).values()
    assert (asked_for.text, asked_for.options) == ("i need a mug", (("", "red"),))


def test_the_usual_set_goes_before_others(tmp_path: Path) -> None:
    write(tmp_path, [item(), item("B2")], {}, suffix="")
    assert len(files.read(tmp_path, 1).shop.products) == 2
    write(tmp_path, [item()], {})
    assert len(files.read(tmp_path, 2).shop.products) == 1
    assert goals.goals(tmp_path, "human", 2) == {}


@pytest.mark.parametrize("human", [["mug"], [{"instruction": 3, "instruction_attributes": ["a"]}], "mug"])
def test_broken_human_goals_are_named(tmp_path: Path, human: Any) -> None:
    with pytest.raises(DataError, match="the goals of product B000000001"):
        goals.goals(write(tmp_path, [item()], {}, {"B000000001": human}), "human", SEED)


@pytest.mark.parametrize(
    ("items", "asked", "said"),
    [
        ({}, {}, "expected a JSON list"),
        ([], [], "expected a JSON object"),
        ([item(), {"asin": "B2"}], {}, "product 1"),
        ([item(pricing="$a.b.c")], {}, "product 0"),
        ([item(customization_options=["red"])], {}, "product 0"),
        (["mug"], {}, "product 0"),
        (
            [item()],
            {"B000000001": {"instruction": "Find me mugs", "instruction_attributes": None}},
            "instruction_attrib",
        ),
    ],
)
def test_broken_files_are_named(tmp_path: Path, items: Any, asked: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        goals.goals(write(tmp_path, items, asked), "synthetic", SEED)


def test_missing_and_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        make("webshop", data=tmp_path / "nowhere").tasks("human")
    with pytest.raises(DataError, match=r"no pair of items_shuffle"):
        make("webshop", data=tmp_path).tasks("human")
    write(tmp_path, [], {})
    (tmp_path / "items_ins_v2_1000.json").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        make("webshop", data=tmp_path).tasks("human")
