"""Failure tags: each given where it should be, and not where it nearly would; on texts of the real environments."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cli import trialogue
from test_runner import BASE, configured, play

from trialogue.envs import make
from trialogue.experiments.failure_tags import KINDS, Facts, Tag, tags_of
from trialogue.experiments.records import EpisodePlan, RunPlan, StepRecord
from trialogue.experiments.results import load_runs
from trialogue.experiments.store import Store
from trialogue.experiments.tagging import Count, count, counts_of, tagged

ROOM = "You are in the middle of a room. Looking quickly around you, you see a desk 1, a fridge 1, and a shelf 1."
WIKI = "You have an encyclopedia. Search it for a page, look up words on the page, and finish with a short answer."
LIND = "Edda Lind was a citizen of the Free Valleys. She was born in the town of Teivox in 1,843."
DONE = "Episode finished."
Told = tuple[str | None, str] | tuple[str | None, str, bool]


def facts(*told: Told, **changes: Any) -> Facts:
    """An episode of (action, observation[, valid]); an action None is an unreadable turn."""
    steps = tuple(
        StepRecord(n, n - 1, one[0], one[1], one[2] if len(one) == 3 else one[0] is not None, "", 0.0, 0.0, False, 0.0)
        for n, one in enumerate(told, start=1)
    )
    unreadable = sum(step.action is None for step in steps)
    base: dict[str, Any] = {
        "goal": "put a mug on desk.",
        "observation": ROOM,
        "ending": "failed",
        "won": False,
        "turns": len(steps),
        "unreadable": unreadable,
        "step_limit": 50,
        "steps": steps,
    }
    return Facts(**{**base, **changes})


def kinds(given: Facts) -> dict[str, int]:
    return {tag.kind: tag.step for tag in tags_of(given)}


def answer(text: str, *before: Told, **changes: Any) -> Facts:
    told: dict[str, Any] = {"goal": "answer the question: Where was Lind born?", "observation": WIKI, **changes}
    return facts(*before, (f"finish[{text}]", DONE), **told)


SEEN: Told = ("go to desk 1", "On the desk 1, you see a mug 1, and a pen 2.")
LOOK: Told = ("look", "You are in the middle of a room. Looking quickly around you, you see nothing.")
READ: Told = ("search[Edda Lind]", LIND)
NEW: tuple[Told, ...] = tuple((f"go to drawer {n}", f"You arrive at drawer {n}. It is closed.") for n in range(1, 13))


@pytest.mark.parametrize(
    ("given", "tag", "step"),
    [
        (facts(SEEN, LOOK, LOOK, LOOK), "repetition", 4),
        (facts(SEEN, LOOK, SEEN, LOOK, SEEN, LOOK), "repetition", 6),
        (facts(SEEN, LOOK, LOOK), "repetition", None),
        (facts(SEEN, LOOK, LOOK, ("look", "You are facing the desk 1.")), "repetition", None),
        (facts(("go to desk 1", "On the desk 1, you see a pen 2.")), "object_not_found", 1),
        (facts(SEEN), "object_not_found", None),
        (facts(SEEN, goal="look at mug under the desklamp."), "object_not_found", 1),
        (facts(SEEN, goal="find two mug and put them in shelf."), "object_not_found", None),
        (facts(SEEN, goal="clean some mug and put it in fridge."), "object_not_found", None),
        (facts(READ, goal="buy a size 9 shoe", observation="i want a size 9 shoe"), "object_not_found", None),
        (facts(), "object_not_found", None),
        (facts(SEEN, ("take pen 2 from desk 1", "You pick up the pen 2 from the desk 1.")), "wrong_object", 2),
        (facts(SEEN, ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")), "wrong_object", None),
        (facts(SEEN, ("take pen 2 from shelf 1", "Nothing happens.", False)), "wrong_object", None),
        (facts(("take red potato from counter", "Taken."), goal="You are hungry!"), "wrong_object", None),
        (facts(SEEN, ("fly", "Nothing happens.", False), LOOK), "invalid_actions", 2),
        (facts(SEEN, ("fly", "Nothing happens.", False), LOOK, SEEN), "invalid_actions", None),
        (facts(SEEN, (None, ""), LOOK), "invalid_actions", None),
        (answer("unknown"), "gave_up", 1),
        (answer(""), "gave_up", 1),
        (answer("I don't know."), "gave_up", 1),
        (answer("cannot be determined from the page"), "gave_up", 1),
        (answer("Unknown Pleasures"), "gave_up", None),
        (answer("NOT ENOUGH INFO"), "gave_up", None),
        (facts(SEEN, (None, ""), ending="no_action", unreadable=0), "gave_up", 2),
        (facts(SEEN, *[(None, "")] * 5, ending="no_action"), "gave_up", None),
        (answer("Bergen", READ), "answer_unsupported", 2),
        (answer("the Teivox", READ), "answer_unsupported", None),
        (answer("1843", READ), "answer_unsupported", None),
        (answer("Lind", goal="answer the question: Who is older, Lind or Holm?"), "answer_unsupported", None),
        (answer("yes", READ), "answer_unsupported", None),
        (answer("REFUTES", READ), "answer_unsupported", None),
        (answer("refute", READ), "answer_unsupported", None),
        (answer("33.13", ("calculate[99.4 / 3]", "33.1333333333")), "answer_unsupported", None),
        (answer("33.2", ("calculate[99.4 / 3]", "33.1333333333")), "answer_unsupported", 2),
        (answer("vox", READ), "answer_unsupported", 2),
        (facts(("search[x]", "Could not find [x]. Similar: [].")), "search_found_nothing", 1),
        (facts(READ, ("lookup[owl]", "No more results.")), "search_found_nothing", 2),
        (facts(("find[planets, star, Z]", "find found nothing; try other arguments.")), "search_found_nothing", 1),
        (facts(("search[qx]", "[Back to Search]\nPage 1 (Total results: 0)")), "search_found_nothing", 1),
        (facts(("search[qx]", "[Back to Search]\nPage 1 (Total results: 10)")), "search_found_nothing", None),
        (facts(("search[Lind]", "Nothing happened here. Could not find her grave.")), "search_found_nothing", None),
        (
            facts(READ, ("lookup[born]", "(Result 1 / 1) She was born."), ("lookup[born]", "No more results.")),
            "search_found_nothing",
            None,
        ),
        (facts(READ, READ, ("search[x]", "Could not find [x].")), "search_found_nothing", None),
        (facts(SEEN, (None, ""), LOOK, LOOK), "format", 2),
        (facts(SEEN, (None, ""), LOOK, LOOK, SEEN), "format", None),
        (facts(*NEW, ending="step_limit"), "cap_too_short", 12),
        (facts(*NEW, ending="failed"), "cap_too_short", None),
        (facts(*NEW, *NEW[:5], ending="step_limit"), "cap_too_short", None),
        (facts(*NEW, *[(f"go to drawer {n}", "Nothing happens.", False) for n in range(5)]), "cap_too_short", None),
        (answer("Bergen", READ, won=True, ending="solved"), "lucky", 2),
        (answer("Teivox", READ, won=True, ending="solved"), "lucky", None),
    ],
)
def test_a_tag_is_given_where_its_step_shows_it_and_nowhere_near(given: Facts, tag: str, step: int | None) -> None:
    assert kinds(given).get(tag) == step


def test_a_solved_episode_has_no_failures_and_an_error_has_no_tags() -> None:
    assert kinds(facts(*[LOOK] * 4, won=True, ending="solved")) == {}
    assert kinds(facts(*[LOOK] * 4, ending="model_error")) == {}
    assert list(kinds(facts(*[LOOK] * 4))) == ["repetition", "object_not_found"]
    assert {tag.kind for tag in tags_of(answer("unknown"))} == {"gave_up", "answer_unsupported"}


def test_evidence_is_one_short_line() -> None:
    [tag] = [tag for tag in tags_of(facts(*[("look", "A\n" * 300)] * 3)) if tag.kind == "repetition"]
    assert tag == Tag("repetition", 3, tag.evidence)
    assert len(tag.evidence) <= 120
    assert "\n" not in tag.evidence


PLAYED: list[tuple[str, list[str], set[str]]] = [
    ("hotpotqa", ["search[Nobody at all]", "finish[Xyzzy]"], {"search_found_nothing", "answer_unsupported"}),
    ("hotpotqa", ["search[Nobody at all]", "finish[]"], {"search_found_nothing", "gave_up"}),
    ("fever", ["search[Nobody at all]", "finish[unknown]"], {"search_found_nothing", "gave_up", "answer_unsupported"}),
    (
        "webshop",
        ["search[xyzzyq]", "click[Next >]", "click[Back to Search]"],
        {"search_found_nothing", "invalid_actions"},
    ),
    ("tools", ["find[planets, star, Zzz]", "finish[123456789]"], {"search_found_nothing", "answer_unsupported"}),
    ("household", ["inventory", "go to nowhere 1", "inventory"], {"object_not_found", "invalid_actions"}),
    ("textworld", ["inventory", "take nothing", "look"], {"invalid_actions"}),
]


@pytest.mark.parametrize(("name", "actions", "expected"), PLAYED)
def test_what_the_environments_really_say(name: str, actions: list[str], expected: set[str]) -> None:
    env = make(name)
    observation, info = env.reset(seed=0, options={"task": env.tasks("generated_train")[0].id})
    told = []
    for action in actions:
        said, _, _, _, info = env.step(action)
        told.append((action, said, info["valid"]))
    env.close()
    assert kinds(facts(*told, goal=info["goal"], observation=observation)).keys() == expected


@pytest.mark.parametrize("name", ["hotpotqa", "fever", "tools", "webshop", "household", "textworld"])
def test_experts_are_not_lucky(name: str) -> None:
    env = make(name)
    found = []
    for task in env.tasks("generated_train")[:2]:
        observation, info = env.reset(seed=0, options={"task": task.id})
        first, told, expert = observation, [], env.expert()
        assert expert is not None
        for _ in range(40):
            action = expert.act(observation, info["admissible"])
            observation, _, over, _, info = env.step(action)
            told.append((action, observation, info["valid"]))
            if over:
                break
        given = facts(*told, goal=info["goal"], observation=first, won=info["won"], ending="solved")
        found.append((info["won"], kinds(given)))
    env.close()
    assert found == [(True, {})] * 2


# -- whole runs -------------------------------------------------------------------------------------------


async def test_a_run_is_tagged_in_one_pass_and_counted_with_an_example(tmp_path: Path) -> None:
    rows = await play(configured(trials=2), tmp_path / "x.sqlite")
    played = [row["id"] for row in rows if row["ending"] != "solved_earlier"]
    with Store.read(tmp_path / "x.sqlite") as store:
        found = list(tagged(store))
        [react] = [row for row in store.runs() if row["agent"] == "react"]
        one = [item for item in found if item.run == react["name"]]
        statements: list[str] = []
        store._db.set_trace_callback(statements.append)
        list(tagged(store, "react"))
        store._db.set_trace_callback(None)
    assert sorted(item.episode for item in found) == played
    assert len(statements) < 6
    stuck = [item.episode for item in one if item.ending == "stuck"]
    assert [item.episode for item in one if item.tags] == stuck
    assert count(iter(one)) == [Count("repetition", len(stuck), stuck[0], 3)]
    [run] = load_runs(f"{tmp_path / 'x.sqlite'}:react")
    assert counts_of(run) == count(iter(one))


def test_the_commands(tmp_path: Path) -> None:
    import json

    (tmp_path / "x.yaml").write_text(json.dumps(BASE), encoding="utf-8")
    assert trialogue("run", "x.yaml", cwd=tmp_path).returncode == 0
    told = trialogue("tags", "corridors:react", "--json", cwd=tmp_path).stdout
    lines = [json.loads(line) for line in told.splitlines()]
    assert len(lines) == 10
    assert lines[0]["tags"] == [{"kind": "repetition", "step": 3, "evidence": "look -> You are in room 0."}]
    assert "repetition" in trialogue("tags", "corridors", cwd=tmp_path).stdout
    compared = trialogue("compare", "corridors", cwd=tmp_path).stdout
    assert "Failure tags" in compared
    [row] = [line for line in compared.splitlines() if "react/corridor" in line and "repetition" in line]
    assert [cell.strip() for cell in row.split("│")[3:6]] == ["5", str(lines[0]["episode"]), "3"]
    assert trialogue("tags", "corridors:reactt", cwd=tmp_path).returncode == 2


def make_large(path: Path, episodes: int, steps: int) -> None:
    plans = [EpisodePlan(n + 1, 1, f"x/{n}", n, "put", "x", 0, 0) for n in range(episodes)]
    Store.create(path, name="large", config={}, runs=[RunPlan(1, "a/t", "a", "t")], episodes=plans).close()
    text = "You arrive at drawer {n}. On the drawer {n}, you see a pen 1, a book 2, a keychain 1, and a creditcard 3."
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE episode SET ending = 'step_limit', won = 0, goal = 'put mug on desk.', observation = ?, turns = ?",
            (ROOM, steps),
        )
        db.executemany(
            "INSERT INTO step VALUES (?, ?, ?, ?, ?, 1, '', 0.0, 0.0, 0, 0.0)",
            (
                (e, s, s - 1, f"go to drawer {s % 9}", text.format(n=s % 9))
                for e in range(1, episodes + 1)
                for s in range(1, steps + 1)
            ),
        )
    db.close()


@pytest.mark.slow
def test_a_hundred_thousand_episodes_take_less_than_a_minute(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    make_large(tmp_path / "x.sqlite", 100_000, 20)
    began = time.process_time()
    with Store.read(tmp_path / "x.sqlite") as store:
        found = count(tagged(store))
    seconds = time.process_time() - began
    record_property("seconds", seconds)
    assert [(one.kind, one.episodes) for one in found] == [("object_not_found", 100_000)]
    assert seconds < 60


def test_every_tag_is_explained() -> None:
    assert all(text and not text.endswith(".") for text in KINDS.values())
