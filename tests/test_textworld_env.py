"""Generated TextWorld games: how they are made, played, scored, refused and ended."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trialogue.envs import TextEnv, make, make_vec
from trialogue.envs.textworld import maker, replies
from trialogue.envs.textworld.engine import Engine, Moment
from trialogue.envs.textworld.kinds import KINDS
from trialogue.envs.textworld.recipes import Recipe, tasks
from trialogue.errors import DataError, EnvError, UnknownName, UsageError

COINS = "generated_train/coin_collector/l5-s0"
SIMPLE = "generated_train/simple/l1-s7"
OF_EACH_KIND = (COINS, "generated_train/treasure_hunter/l4-s1", "generated_train/cooking/l2-s2", SIMPLE)
TO_THE_APPLE = 7  # commands of SIMPLE's walkthrough after which the apple is held


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("games")


@pytest.fixture(scope="module")
def env(cache: Path) -> Iterator[TextEnv]:
    made = make("textworld", cache=cache)
    yield made
    made.close()


def start(env: TextEnv, task: str = SIMPLE) -> dict[str, Any]:
    return dict(env.reset(options={"task": task})[1])


def walkthrough(env: TextEnv, task: str) -> list[str]:
    start(env, task)
    expert = env.expert()
    assert expert is not None
    return list(expert._left)  # type: ignore[attr-defined]


def play(env: TextEnv, *commands: str) -> tuple[str, float, bool, dict[str, Any]]:
    for command in commands:
        observation, reward, terminated, truncated, info = env.step(command)
        assert not truncated
    return observation, reward, terminated, dict(info)


@pytest.mark.parametrize("task", OF_EACH_KIND)
def test_a_game_of_each_kind_is_won_by_its_walkthrough(env: TextEnv, task: str) -> None:
    commands = walkthrough(env, task)
    total = 0.0
    for number, command in enumerate(commands, start=1):
        _, reward, terminated, truncated, info = env.step(command)
        total += reward
        assert (info["valid"], info["in_admissible"], info["reason"]) == (True, True, "")
        assert reward >= 0
        assert (terminated, truncated) == (number == len(commands), False)
    assert (info["won"], info["lost"], info["score"], total) == (True, False, 1.0, pytest.approx(1.0))
    assert info["points"] == info["max_points"] > 0


def test_rewards_are_increases_of_the_running_score(env: TextEnv) -> None:  # TW-02
    commands = walkthrough(env, SIMPLE)
    points, rewards = [0], []
    for command in commands:
        _, reward, _, _, info = env.step(command)
        points.append(info["points"])
        rewards.append(reward)
    assert info["max_points"] == 7
    assert sum(points) > 7  # adding up the running score would count more than there is
    gains = [after - before for before, after in pairwise(points)]
    assert rewards == pytest.approx([gain / 7 for gain in gains])
    assert set(gains) == {0, 1}
    assert (sum(rewards), info["score"], info["won"]) == (pytest.approx(1.0), 1.0, True)


def test_a_step_cap_does_not_win(env: TextEnv) -> None:  # TW-10
    commands = walkthrough(env, SIMPLE)[:3]
    capped = gymnasium.wrappers.TimeLimit(env, max_episode_steps=3)
    capped.reset(options={"task": SIMPLE})
    for command in commands:
        _, _, terminated, truncated, info = capped.step(command)
    assert (terminated, truncated, info["won"], info["lost"]) == (False, True, False, False)
    assert (info["points"], info["max_points"], info["score"]) == (3, 7, pytest.approx(0.4286, abs=1e-4))


def test_a_lost_game_ends_without_success(env: TextEnv) -> None:
    commands = walkthrough(env, SIMPLE)[:TO_THE_APPLE]
    held = play(env, *commands)[3]
    assert "eat apple" in held["admissible"]
    observation, reward, terminated, info = play(env, "eat apple")
    assert (reward, terminated, info["won"], info["lost"], info["valid"]) == (0.0, True, False, True, True)
    assert "You lost" in observation
    assert info["score"] == held["score"] > 0
    observation, reward, terminated, info = play(env, "look")
    assert (observation, reward, terminated, info["won"], info["valid"]) == (
        "The game is over.",
        0.0,
        True,
        False,
        False,
    )


def test_a_game_accepts_what_is_not_in_the_list(env: TextEnv) -> None:  # TW-05
    first, second = walkthrough(env, SIMPLE)[:2]
    assert second.startswith("take old key from ")
    play(env, first)
    observation, _, _, info = play(env, "take key")
    assert (info["valid"], info["in_admissible"], info["reason"]) == (True, False, "")
    assert observation.startswith("You take the old key from")
    assert "drop old key" in info["admissible"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("dance wildly", "not a verb I recognise"),
        ("take unicorn", "can't see any such thing"),
        ("go north", "can't go that way"),
        ("open wooden door", "unlock the wooden door"),
        ("take", "What do you want to take?"),
        ("look at", "What do you want to"),
    ],
)
def test_what_the_game_did_not_do_is_invalid_and_told_with_the_nearest(env: TextEnv, command: str, said: str) -> None:
    before = start(env)
    observation, reward, terminated, info = play(env, command)
    assert (info["valid"], info["in_admissible"], reward, terminated) == (False, False, 0.0, False)
    assert said in " ".join(observation.split())
    assert said in info["reason"]
    assert any(f"(nearest possible: {listed})" in info["reason"] for listed in before["admissible"])
    assert info["admissible"] == before["admissible"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("quit", "speaks to the program"),
        ("save", "speaks to the program"),
        ("RESTART", "speaks to the program"),
        ("undo.", "speaks to the program"),
        ("superbrief", "speaks to the program"),
        ("quit,", "'quit' speaks to the program"),
        ("Save ,", "'save' speaks to the program"),
        ("me, script", "'script' speaks to the program"),
        ("look, restart!", "'restart' speaks to the program"),
        ("look and quit", "'quit' speaks to the program"),
        ('"save"', "'save' speaks to the program"),
        ("$verify", "speaks to the program"),
        ("tw-trace-actions", "speaks to the program"),
        ("\\x", "plain English"),
        ("look\nlook", "plain English"),
        ("打开箱子", "plain English"),
        ("look. inventory", "one command at a time"),
        ("look then inventory", "one command at a time"),
        ("", "empty"),
        ("x" * 191, "at most 190 characters"),
    ],
)
def test_what_is_not_meant_for_the_game_never_reaches_it(env: TextEnv, command: str, why: str) -> None:
    before = start(env)
    observation, _, _, info = play(env, command)
    assert why in info["reason"]
    assert (info["valid"], info["admissible"]) == (False, before["admissible"])
    assert observation == f"Not a command: {info['reason']}."
    assert why in env.action_space.explain(command).reason
    assert play(env, "inventory")[0] == "You are carrying nothing."


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.one_of(st.text(max_size=250), st.sampled_from(["go", "take key", "open.", "g", "it", "yes", "!"])))
def test_any_text_is_answered(env: TextEnv, command: str) -> None:
    before = start(env)
    observation, reward, terminated, info = play(env, command)
    assert (reward, terminated, info["won"]) == (0.0, False, False)
    assert observation in env.observation_space
    assert info["valid"] == (not info["reason"])
    assert info["valid"] or info["admissible"] == before["admissible"]


def test_every_listed_command_is_done(env: TextEnv) -> None:
    for task in OF_EACH_KIND:
        for number in range(3):
            info = start(env, task)
            env.action_space.seed(number)
            for _ in range(25):
                _, _, terminated, info = play(env, env.action_space.sample())
                assert (info["valid"], info["in_admissible"]) == (True, True)
                if terminated:
                    break


def test_the_opening_is_the_first_room_and_the_goal_stands_apart(env: TextEnv) -> None:
    for task in OF_EACH_KIND:
        observation, info = env.reset(options={"task": task})
        assert observation.startswith("-= ")
        assert not any(mark in observation for mark in ("$$", "\n>", info["goal"], "\n\n\n", "0/"))
        assert info["goal"]
        assert (info["task"], info["dialect"], info["points"]) == (task, "", 0)


def test_the_goal_of_a_search_does_not_tell_the_way(env: TextEnv) -> None:
    for task in OF_EACH_KIND[:2]:
        assert " go " not in start(env, task)["goal"].lower()


def test_the_end_is_told_without_the_interpreters_question(env: TextEnv) -> None:
    observation = play(env, *walkthrough(env, COINS))[0]
    assert "*** The End ***" in observation.split("\n")
    assert "RESTART" not in observation


def test_a_recipe_gives_the_same_game_again(env: TextEnv, cache: Path, tmp_path: Path) -> None:  # TW-09
    start(env, COINS)
    again = maker.generated(Recipe.parse(COINS), tmp_path)
    first = maker.generated(Recipe.parse(COINS), cache)
    assert first != again
    assert first.with_suffix(".json").read_bytes() == again.with_suffix(".json").read_bytes()
    assert first.read_bytes() == again.read_bytes()
    saved = json.loads(again.with_suffix(".json").read_text())
    assert set(saved["metadata"]["seeds"]) == {"map", "objects", "quest", "grammar"}
    assert Recipe.parse(COINS).seed == 0
    assert COINS.endswith("-s0")


def test_a_game_is_made_once(env: TextEnv, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(env, COINS)
    monkeypatch.setattr(maker, "_generate", lambda recipe: pytest.fail("made again"))
    other = make("textworld", cache=cache)
    assert other.reset(options={"task": COINS})[0].startswith("-= ")
    other.close()


def test_a_game_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(game: Any, story: Path, room: Path) -> None:
        story.write_bytes(b"half")
        raise EnvError("the compiler failed")

    monkeypatch.setattr(maker, "_generate", lambda recipe: None)
    monkeypatch.setattr(maker, "_compile", break_off)
    with pytest.raises(EnvError, match="the compiler failed"):
        maker.generated(Recipe.parse(COINS), tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maker, "_generate", lambda recipe: None)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="Name another folder with cache="):
        maker.generated(Recipe.parse(COINS), tmp_path / "file")


def test_making_a_game_leaves_textworlds_generator_as_it_was() -> None:
    import textworld

    before = vars(textworld.g_rng).copy()
    with maker._settled(3):
        textworld.g_rng.next()
        assert textworld.g_rng.seed == 4
    assert vars(textworld.g_rng) == before


def test_splits_have_seeds_of_their_own_and_kinds_in_turn() -> None:
    listed = tasks("generated_eval", 8)
    assert [task.type for task in listed] == list(KINDS) * 2
    assert len({Recipe.parse(task.id).seed for task in listed}) == 8
    with pytest.raises(UsageError, match="a seed of generated_eval must be from 1000000 to 1999999; got 7"):
        Recipe.parse("generated_eval/cooking/l3-s7")


def test_evaluation_games_are_of_other_foods() -> None:
    assert Recipe.parse("generated_train/cooking/l3-s6").settings["split"] == "train"
    assert Recipe.parse("generated_eval/cooking/l3-s1000006").settings["split"] == "test"
    assert Recipe.parse("generated_eval/simple/l3-s1000006").settings["test"] is True


def test_levels_can_be_fixed_and_are_checked() -> None:
    fixed = tasks("generated_train", 12, {"coin_collector": 20})
    assert [task.id for task in fixed if task.type == "coin_collector"][:2] == [
        "generated_train/coin_collector/l20-s0",
        "generated_train/coin_collector/l20-s4",
    ]
    with pytest.raises(UsageError, match="levels of coin_collector are 1 to 150, 201 to 233; got 151"):
        make("textworld", levels={"coin_collector": 151})
    with pytest.raises(UnknownName, match="Did you mean 'cooking'"):
        make("textworld", levels={"cookin": 1})
    with pytest.raises(UsageError, match="count must be from 1"):
        make("textworld", count=0)


def test_ids_that_no_game_has_are_refused(env: TextEnv) -> None:
    with pytest.raises(UsageError, match="one looks like generated_eval/cooking"):
        env.task("generated_train/cooking/3")
    with pytest.raises(UnknownName, match="Did you mean 'cooking'"):
        env.task("generated_train/coking/l1-s3")
    with pytest.raises(UnknownName, match="Did you mean 'games'"):
        env.task("game/x.z8")


def test_an_unknown_setting_is_named(env: TextEnv) -> None:  # TW-04
    with pytest.raises(UnknownName, match="extra_infos"):
        make("textworld", extra_infos=["expert_plan"])
    assert {"admissible", "won", "lost", "score", "max_points"} <= set(start(env))


def test_it_works_without_gym_and_refuses_what_is_no_command(env: TextEnv) -> None:  # TW-07
    start(env)
    with pytest.raises(UsageError, match="an action is text; got list"):
        env.step(["look"])  # type: ignore[arg-type]
    code = "import sys; sys.modules['gym'] = None; import trialogue.envs as e; print(e.make('textworld').name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "textworld"


def test_vector_environments_pass_text_on(env: TextEnv, cache: Path) -> None:
    start(env, COINS)
    vector = make_vec("textworld", 2, cache=cache)
    try:
        vector.reset(options={"task": COINS})
        _, rewards, _, _, infos = vector.step(("look", "dance"))
        assert [bool(valid) for valid in infos["valid"]] == [True, False]
        assert rewards.tolist() == [0.0, 0.0]
    finally:
        vector.close()


def test_versions_name_the_game(env: TextEnv) -> None:
    start(env, COINS)
    coins = env.versions()
    start(env, SIMPLE)
    assert set(coins) == {"textworld", "jericho", "game"}
    assert env.versions()["game"] != coins["game"]


def test_templates_follow_the_game(env: TextEnv) -> None:
    start(env, COINS)
    assert env.action_space.templates == (
        *("look", "inventory", "go {direction}", "examine {thing}", "take {thing}", "drop {thing}"),
    )
    start(env, OF_EACH_KIND[2])
    assert {"prepare meal", "slice {food} with {thing}"} <= set(env.action_space.templates)
    assert not any(letter in " ".join(env.action_space.templates) for letter in ("{o}", "{f}", "{c}"))


def test_closing_ends_the_interpreter_and_reset_starts_another(cache: Path, env: TextEnv) -> None:
    start(env, COINS)
    other = make("textworld", cache=cache)
    start(other, COINS)
    other.close()
    with pytest.raises(UsageError, match="call reset"):
        other.step("look")
    assert start(other, COINS)["valid"]
    other.close()


def test_a_game_that_cannot_tell_who_won_still_ends(env: TextEnv, cache: Path, tmp_path: Path) -> None:
    commands = walkthrough(env, SIMPLE)
    shutil.copy(maker.generated(Recipe.parse(SIMPLE), cache), tmp_path / "alone.z8")
    alone = make("textworld", data=tmp_path)
    alone.reset(options={"task": "games/alone.z8"})
    ends = [alone.step(command) for command in commands]
    assert [end[2] for end in ends] == [False] * (len(commands) - 1) + [True]
    observation, reward, _, _, info = ends[-1]
    assert (reward, info["won"], info["lost"], info["valid"]) == (0.0, False, False, True)
    assert "*** The End ***" in observation
    observation, _, terminated, _, info = alone.step("look")
    assert (observation, terminated, info["valid"]) == ("The game is over.", True, False)
    alone.close()


def test_what_failed_to_begin_is_not_used_again(env: TextEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    start(env, COINS)

    def fail(engine: Engine) -> Moment:
        raise EnvError("the interpreter fell over")

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "reset", fail)
        with pytest.raises(EnvError, match="fell over"):
            start(env, COINS)
    assert env._engine is None  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="call reset"):
        env.step("look")
    assert start(env, COINS)["valid"]


def test_environments_of_several_threads_do_not_disturb_each_other(env: TextEnv, cache: Path) -> None:
    commands = walkthrough(env, SIMPLE)
    start(env, COINS)

    def episode(number: int) -> tuple[str, list[tuple[Any, ...]]]:
        own = make("textworld", cache=cache)
        first, _ = own.reset(options={"task": SIMPLE if number % 2 else COINS})
        steps = [own.step(command) for command in (commands if number % 2 else ["look"] * 3)]
        own.close()
        return first, steps

    alone = [episode(number) for number in range(2)]
    assert alone[1][1][-1][4]["won"]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(episode, range(8))) == alone * 4


@pytest.mark.parametrize(
    ("raw", "done"),
    [
        ("[taking the coin]\nTaken.\n[taking the coin - succeeded]\n", True),
        ("[going north]\nYou can't.\n[going north - failed the can't go that way rule]\n", False),
        ("[going east]\nFirst open it.\n[going east - ended without result]\n", False),
        (
            "[putting a on b]\n[(1) taking a]\nTaken.\n[(1) taking a - succeeded]\nNo.\n[putting a on b - failed it]\n",
            False,
        ),
        ("That's not a verb I recognise.\n", False),
    ],
)
def test_traces_tell_what_was_done(raw: str, done: bool) -> None:
    assert replies.did(raw) is done


def test_texts_are_tidied() -> None:
    text = (
        "You win.  \n\n\n\n      *** The End ***\n>\n"
        + ">"
        + " " * 60
        + "-= Attic =-0/1\nWould you like to RESTART, ..."
    )
    assert replies.tidy(text) == "You win.\n\n*** The End ***"
    assert replies.tidy("You scored 3 out of a possible 4, in 9 turn(s).") == "You scored 3 out of a possible 4."
    assert (
        replies.opening("  ___ $$ \n\nFind the coin. \n\n-= Attic =-\nDark.\n", "Find the coin.")
        == "-= Attic =-\nDark."
    )
    assert replies.opening("  ___\n| $$ |\n\n-= Attic =-\nDark.\n", "") == "\n-= Attic =-\nDark.".strip("\n")
