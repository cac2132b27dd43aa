"""Replays: equal where nothing has changed, and the first difference, with both texts, where something has."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from test_cli import trialogue
from test_runner import BASE, configured, play
from toy import Corridor

from trialogue.errors import UsageError
from trialogue.experiments.replaying import Replayed, Replayer
from trialogue.experiments.store import Store


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    await play(configured(), tmp_path / "x.sqlite")
    return tmp_path / "x.sqlite"


async def replayed(path: Path, *, agent: bool = False) -> list[Replayed]:
    with Store.read(path) as store:
        replayer = Replayer(store)
        try:
            return [await replayer.replay(episode, agent=agent) for episode in replayer.episodes()]
        finally:
            replayer.close()


def change(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as db:
        assert db.execute(statement).rowcount == 1
    db.close()


async def difference(path: Path, episode: int, *, agent: bool = False) -> str:
    with Store.read(path) as store:
        replayer = Replayer(store)
        found = (await replayer.replay(episode, agent=agent)).difference
        replayer.close()
    return str(found)


@pytest.mark.parametrize("agent", [False, True])
async def test_what_was_just_played_is_equal(path: Path, agent: bool) -> None:
    found = await replayed(path, agent=agent)
    assert [str(one.difference) for one in found] == ["None"] * 30
    assert sum(one.steps for one in found) > 100


async def test_agents_that_learn_sample_and_shorten_are_made_anew(tmp_path: Path) -> None:
    agents = {
        "reflexion": {"agent": "reflexion", "settings": {"exemplars": 0, "strategy": "both"}},
        "hinted": {"agent": "react", "settings": {"exemplars": 0, "on_repetition": "hint", "recall": True, "reask": 2}},
    }
    await play(configured(agents=agents, trials=2, limits={"steps": 6}), tmp_path / "x.sqlite")
    found = await replayed(tmp_path / "x.sqlite", agent=True)
    assert {one.difference for one in found} == {None}
    with Store.read(tmp_path / "x.sqlite") as store:
        assert any(row["lesson"] for row in store.episodes())
    change(
        tmp_path / "x.sqlite",
        "UPDATE episode SET lesson = json_set(lesson, '$.attempt', 'x') WHERE id = "
        "(SELECT min(id) FROM episode WHERE lesson NOT NULL)",
    )
    [other] = [one for one in await replayed(tmp_path / "x.sqlite", agent=True) if one.difference][:1]
    assert "lesson" in str(other.difference)


@pytest.mark.parametrize(
    ("column", "value", "where"),
    [
        ("observation", "'You are in room 7.'", "step 2 (go right): observation"),
        ("reason", "'no'", "step 2 (go right): reason"),
        ("valid", "0", "step 2 (go right): valid"),
        ("score", "0.5", "step 2 (go right): score"),
        ("won", "1", "step 2 (go right): won"),
        ("reward", "0.5", "step 2 (go right): reward"),
    ],
)
@pytest.mark.parametrize("agent", [False, True])
async def test_the_first_step_that_differs_is_told(
    path: Path, column: str, value: str, where: str, agent: bool
) -> None:
    with Store.read(path) as store:
        [episode] = [r["id"] for r in store.episodes() if (r["agent"], r["task"]) == ("expert", "test/5")]
    change(path, f"UPDATE step SET {column} = {value} WHERE episode = {episode} AND step = 2")
    assert (await difference(path, episode, agent=agent)).startswith(where)


async def test_both_texts_of_an_observation_are_told_to_the_last_byte(path: Path) -> None:
    change(path, "UPDATE episode SET observation = observation || ' ' WHERE id = 3")
    told = await difference(path, 3)
    assert told.splitlines() == [
        "start: observation",
        "  stored: 'You are in room 0. '",
        "  now:    'You are in room 0.'",
    ]


async def test_a_change_of_prompts_is_found_and_no_model_is_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialogue.agents.notation import Arrow

    monkeypatch.setattr(Arrow, "due", lambda *_: "$")
    monkeypatch.setattr("toy.walk", lambda request: pytest.fail("a model was asked"))
    with Store.read(path) as store:
        episode = next(row["id"] for row in store.episodes() if row["agent"] == "react")
    assert await difference(path, episode) == "None"
    told = (await difference(path, episode, agent=True)).splitlines()
    assert told[0].startswith("call 0: prompt, from character ")
    assert told[1].endswith(">'")
    assert told[2].endswith("$'")


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE reply SET text = 'look' WHERE episode = {0} AND call = 0", "turn 0: kind"),
        ("UPDATE turn SET thoughts = '[\"Hm.\"]' WHERE episode = {0} AND turn = 0", "turn 0: thoughts"),
        ("UPDATE turn SET liberties = '[1]' WHERE episode = {0} AND turn = 1", "turn 1: liberties"),
        ("UPDATE episode SET ending = 'step_limit' WHERE id = {0}", "end: ending"),
        ("DELETE FROM reply WHERE episode = {0} AND call = 1", "call 1"),
        ("UPDATE reply SET request_hash = '' WHERE episode = {0} AND call = 1", "call 1: request"),
        (
            "UPDATE reply SET request_hash = '', request = json_set(request, '$.max_tokens', 7) "
            "WHERE episode = {0} AND call = 1",
            "call 1: request: max_tokens",
        ),
        ("DELETE FROM step WHERE episode = {0} AND step = 4", "step 4"),
        ("DELETE FROM turn WHERE episode = {0} AND turn = 4", "turn 4"),
    ],
)
async def test_a_change_of_the_reader_or_the_loop_is_found(path: Path, statement: str, where: str) -> None:
    with Store.read(path) as store:
        [episode] = [r["id"] for r in store.episodes() if (r["agent"], r["task"]) == ("react", "test/4")]
    change(path, statement.format(episode))
    assert (await difference(path, episode, agent=True)).startswith(where)


async def test_an_environment_that_plays_otherwise_or_fails_is_a_difference(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Corridor, "_look", lambda self: f"Room {self.place}.")
    assert (await difference(path, 3)).startswith("start: observation")

    def fail(self: Corridor, action: str) -> Any:
        raise IndexError("the engine fell over")

    monkeypatch.undo()
    monkeypatch.setattr(Corridor, "step", fail)
    assert "the engine fell over" in await difference(path, 3)


async def test_episodes_that_ended_by_circumstance_are_equal_as_far_as_they_came(tmp_path: Path) -> None:
    settings = {"crash_at": 7, "crash_in": "test/8"}
    tasks = {"corridor": {"env": "toy:Corridor", "split": "test", "settings": settings}}
    config = configured(model="scripted:runner_models:flaky", tasks=tasks)
    rows = await play(config, tmp_path / "x.sqlite")
    assert {"env_error", "model_error"} <= {row["ending"] for row in rows}
    for agent in (False, True):
        assert {one.difference for one in await replayed(tmp_path / "x.sqlite", agent=agent)} == {None}


async def test_an_episode_that_was_never_played_has_nothing_to_differ(tmp_path: Path) -> None:
    await play(configured(trials=2, agents={"expert": {"agent": "expert"}}), tmp_path / "x.sqlite")
    found = await replayed(tmp_path / "x.sqlite")
    assert [(one.steps, one.difference) for one in found[:4]] == [(1, None), (0, None), (2, None), (0, None)]


async def test_imported_results_cannot_be_replayed(tmp_path: Path) -> None:
    from trialogue.experiments.importer import import_results

    entries = [{"name": "env_0", "is_success": True}]
    (tmp_path / "env_results_trial_0.json").write_text(json.dumps(entries), encoding="utf-8")
    import_results("reflexion", tmp_path, "published", tmp_path / "x.sqlite")
    with Store.read(tmp_path / "x.sqlite") as store, pytest.raises(UsageError, match="imported results"):
        await Replayer(store).replay(1)


def test_the_command_prints_the_difference_and_fails(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(json.dumps(BASE), encoding="utf-8")
    assert trialogue("run", "x.yaml", cwd=tmp_path).returncode == 0
    equal = trialogue("replay", "corridors", "3", cwd=tmp_path)
    assert (equal.returncode, equal.stdout) == (0, "episode 3 of expert/corridor: equal (1 steps)\n")
    change(tmp_path / "runs" / "corridors.sqlite", "UPDATE step SET observation = 'π' WHERE episode = 3 AND step = 1")
    differs = trialogue("replay", "corridors:expert", "--all", cwd=tmp_path)
    assert differs.returncode == 1
    assert "differs at step 1 (go right): observation\n  stored: 'π'\n  now:    'You are in room 1.'" in differs.stdout
    assert "10 replayed, 1 differ" in differs.stdout
    assert trialogue("replay", "corridors", cwd=tmp_path).returncode == 2
