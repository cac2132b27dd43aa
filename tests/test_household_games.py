"""Real ALFWorld games: what is found, in which order, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trialogue.envs import TextEnv, make
from trialogue.envs.household import games, grammar
from trialogue.envs.household.tasktypes import type_of
from trialogue.errors import DataError, UnknownName, UsageError

DOMAIN, RULES = grammar.packaged("put")
GAME = "pick_and_place_simple-Mug-None-Desk-1/trial_1"
CONTENT: dict[str, Any] = {
    "pddl_domain": DOMAIN,
    "grammar": RULES.replace("UNKNOWN GOAL.", "put a mug in desk."),
    "pddl_problem": "(define (problem p) (:domain alfred))",
    "solvable": True,
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_game(game: str = GAME, text: str | None = None, **changed: Any) -> Path:
        folder = tmp_path / "json_2.1.1" / "valid_seen" / game
        folder.mkdir(parents=True)
        content = json.dumps({**CONTENT, **changed}) if text is None else text
        (folder / games.FILE).write_text(content, encoding="utf-8")
        return tmp_path

    return write_game


def ids(env: TextEnv, split: str) -> list[str]:
    return [task.id for task in env.tasks(split)]


def start(data: Path, game: str = GAME) -> None:
    make("household", data=data).reset(options={"task": f"valid_seen/{game}"})


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("pick_and_place_simple-Mug-None-Desk-1", "put"),
        ("pick_two_obj_and_place-Pen-None-Shelf-2", "puttwo"),
        ("look_at_obj_in_light-Bowl-None-DeskLamp-3", "examine"),
        ("pick_clean_then_place_in_recep-Cloth-None-Cabinet-4", "clean"),
        ("pick_heat_then_place_in_recep-Egg-None-Fridge-5", "heat"),
        ("pick_cool_then_place_in_recep-Pan-None-Table-6", "cool"),
        ("pick_and_place_with_movable_recep-Apple-Pot-Table-9", None),
        ("pick_and_place-Mug-None-Desk-1", None),
    ],
)
def test_the_type_comes_from_the_whole_first_word_of_the_folder(folder: str, kind: str | None) -> None:  # ALF-12
    assert type_of(folder) == kind


def test_the_real_split_is_complete_sorted_and_typed(alfworld_data: Path) -> None:
    env = make("household", data=alfworld_data)
    tasks = env.tasks("valid_seen")
    assert len(tasks) == 140
    assert [task.id for task in tasks] == sorted(task.id for task in tasks)
    assert Counter(task.type for task in tasks) == {
        "put": 35, "clean": 27, "cool": 25, "puttwo": 24, "heat": 16, "examine": 13
    }  # fmt: skip
    assert all(task.id.count("/") == 2 and not task.id.endswith(games.FILE) for task in tasks)


def test_the_folder_can_come_from_the_environment(alfworld_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    assert ids(make("household"), "valid_seen") == ids(make("household", data=alfworld_data), "valid_seen")


def test_chosen_games_are_the_ones_that_run(alfworld_data: Path) -> None:  # ALF-10
    env = make("household", data=alfworld_data)
    listed = env.tasks("valid_seen")
    for index in (5, 23):
        _, info = env.reset(options={"task": listed[index].id})
        assert (info["task"], info["type"], info["dialect"]) == (listed[index].id, listed[index].type, "put")
    env.close()


def test_a_real_game_tells_the_action_space_its_dialect(alfworld_data: Path) -> None:
    env = make("household", data=alfworld_data, dialect="move", receptacles=5, distractors=0)
    env.reset(options={"task": ids(env, "valid_seen")[0]})
    assert "put {object} in/on {receptacle}" in env.action_space.templates
    assert "move mug 1 to shelf 1" not in env.action_space
    env.reset(seed=1)
    assert "move mug 1 to shelf 1" in env.action_space
    env.close()


def test_the_order_does_not_depend_on_the_file_system(write: Callable[..., Path]) -> None:
    names = [f"pick_and_place_simple-Mug-None-Desk-{n}/trial_{n}" for n in (3, 1, 20, 2)]
    for name in names:
        data = write(name)
    assert ids(make("household", data=data), "valid_seen") == sorted(f"valid_seen/{name}" for name in names)


def test_only_solvable_games_count(write: Callable[..., Path]) -> None:
    write(GAME)
    data = write("pick_and_place_simple-Mug-None-Desk-2/trial_1", solvable=False)
    first = json.dumps({"solvable": False, **{key: CONTENT[key] for key in CONTENT if key != "solvable"}})
    write("pick_and_place_simple-Mug-None-Desk-3/trial_1", text=first)
    liar = json.dumps({**json.loads(first), "note": '"solvable": true}'})
    write("pick_and_place_simple-Mug-None-Desk-4/trial_1", text=liar)
    assert ids(make("household", data=data), "valid_seen") == [f"valid_seen/{GAME}"]
    with pytest.raises(DataError, match="not solvable"):
        start(data, "pick_and_place_simple-Mug-None-Desk-2/trial_1")


def test_games_with_movable_receptacles_are_not_loaded(write: Callable[..., Path]) -> None:  # ALF-13
    movable = "pick_and_place_with_movable_recep-Apple-Pot-Table-9/trial_1"
    write(movable)
    data = write(GAME)
    assert ids(make("household", data=data), "valid_seen") == [f"valid_seen/{GAME}"]
    with pytest.raises(UsageError, match=rf"{movable}.*movable receptacles"):
        start(data, movable)


def test_a_missing_folder_says_where_it_was_looked_for_and_how_to_get_it(tmp_path: Path) -> None:
    env = make("household", data=tmp_path)
    for act in (lambda: env.tasks("valid_unseen"), lambda: env.reset(options={"task": f"valid_unseen/{GAME}"})):
        with pytest.raises(DataError, match=r"json_2\.1\.1.*alfworld-download"):
            act()


def test_unknown_splits_and_games_are_answered_with_the_nearest(write: Callable[..., Path]) -> None:
    env = make("household", data=write(GAME))
    with pytest.raises(UnknownName, match="Did you mean 'valid_seen'"):
        env.tasks("valid_sen")
    with pytest.raises(UnknownName, match="Did you mean 'valid_seen'"):
        env.task(f"valid_sen/{GAME}")
    with pytest.raises(UnknownName, match=f"Did you mean 'valid_seen/{GAME}'"):
        env.task(f"valid_seen/{GAME}2")
    with pytest.raises(UnknownName, match="Did you mean 'pick_and_place_simple'"):
        env.task("valid_seen/pick_and_place_simpl-Mug-None-Desk-1/trial_1")
    with pytest.raises(UnknownName, match="Did you mean 'generated_eval'"):
        make("household", data="no/such/folder").tasks("generated_evl")


@pytest.mark.parametrize(
    "task", ["", "mug", "valid_seen/x", "../../etc/passwd", "valid_seen/../x", "a/b/c/d", "a\\b/c/d"]
)
def test_what_cannot_be_a_task_id_is_refused(write: Callable[..., Path], task: str) -> None:
    with pytest.raises(UsageError):
        make("household", data=write(GAME)).task(task)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not readable as JSON"),
        ("{", "not readable as JSON"),
        ("[" * 100_000, "not readable as JSON"),
        ("[]", "missing: pddl_domain"),
        ('{"solvable": true}', "missing: pddl_domain, grammar, pddl_problem"),
        (json.dumps({**CONTENT, "grammar": 3}), "expected text under grammar"),
    ],
)
def test_broken_files_are_named(write: Callable[..., Path], text: str, complaint: str) -> None:
    with pytest.raises(DataError, match=f"(?s)Desk-1.*{complaint}"):
        start(write(text=text))


@pytest.mark.parametrize(
    "changed",
    [
        {"pddl_problem": "(define (problem p)"},
        {"pddl_problem": ""},
        {"pddl_problem": "(define (problem p) (:domain alfred) (:objects {x.y} - object))"},
        {"pddl_domain": "(define"},
        {"grammar": "nothing"},
        {"grammar": RULES.replace("put {o} in/on {r}", "drop {o} at {r}")},
    ],
)
def test_games_that_the_engine_cannot_read_are_data_errors(write: Callable[..., Path], changed: dict[str, str]) -> None:
    with pytest.raises(DataError, match="Desk-1"):
        start(write(**changed))


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("{o.name}", "{__import__('pathlib').Path('PWNED').touch()}"),
        ("open {r}", "open {open('PWNED', 'w')}"),
        ("{o.indefinite + ' ' + o.name | holds", "{o.__class__ | holds"),
        ("{r.name or r.id}", "{r.name or exec('x = 1')}"),
        ("{r.name}", "{r.name.format}"),
        ("{r.name}", "{r.name if r else r}"),
    ],
)
def test_code_in_a_game_file_is_refused_and_never_run(
    write: Callable[..., Path], place: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place in RULES
    monkeypatch.chdir(tmp_path)
    data = write(grammar=RULES.replace(place, code), pddl_problem=PROBLEM)
    with pytest.raises(DataError, match="asks to evaluate"):
        start(data)
    assert not Path("PWNED").exists()


PROBLEM = """(define (problem p) (:domain alfred) (:objects agent1 - agent MugType - otype KnifeType - otype
ButterKnifeType - otype DeskType - rtype SinkBasinType - rtype SinkType - rtype MicrowaveType - rtype
FridgeType - rtype Mug_bar_1 - object Desk_bar_1 - receptacle loc_bar_1 - location loc_bar_2 - location)
(:init (atLocation agent1 loc_bar_1) (receptacleAtLocation Desk_bar_1 loc_bar_2) (receptacleType Desk_bar_1 DeskType)
(objectType Mug_bar_1 MugType) (inReceptacle Mug_bar_1 Desk_bar_1) (pickupable Mug_bar_1))
(:goal (and (exists (?o - object ?a - agent) (and (objectType ?o MugType) (holds ?a ?o))))))"""


def test_the_problem_of_the_tests_above_is_otherwise_a_game(write: Callable[..., Path]) -> None:
    env = make("household", data=write(pddl_problem=PROBLEM))
    observation, info = env.reset(options={"task": f"valid_seen/{GAME}"})
    assert observation == "You are in the middle of a room. Looking quickly around you, you see a desk 1."
    assert info["goal"] == "put a mug in desk."
    env.step("go to desk 1")
    assert env.step("take mug 1 from desk 1")[1:3] == (1.0, True)
    env.close()


def test_the_grammar_of_real_games_is_the_put_dialect(alfworld_data: Path) -> None:
    folder = games.root(alfworld_data)
    for task in games.tasks(folder, "valid_seen")[::20]:
        game = games.read(folder, task.id)
        goal = game.grammar.partition("Your task is to: ")[2].partition('"')[0]
        assert game.grammar.split() == RULES.replace("UNKNOWN GOAL.", goal).split()
        assert grammar.dialect_of(game.grammar, game.source) == "put"


def test_dialects_are_named() -> None:
    assert grammar.dialect_of(grammar.packaged("move")[1], "the package") == "move"
    with pytest.raises(UnknownName, match="Did you mean 'move'"):
        make("household", dialect="mov")
