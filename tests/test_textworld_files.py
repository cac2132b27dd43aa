"""TextWorld games from files: real ones, hand-written ones, and files that cannot be played."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from trialogue.envs import make
from trialogue.errors import DataError, UnknownName

DATA = os.environ.get("TRIALOGUE_TEST_DATA")
REAL = pytest.mark.skipif(DATA is None, reason="needs real games: set TRIALOGUE_TEST_DATA")
GAMES = (
    "tw-another_game.z8",
    "tw-rewardsBalanced_goalDetailed.z8",
    "tw-rewardsDense_goalDetailed.z8",
    "tw-rewardsSparse_goalDetailed.z8",
)
HANDWRITTEN = """
Array text_buffer -> 123;
Array parse_buffer -> 64;
[ Main w;
  print "A small room with a button.^";
  text_buffer->0 = 120; parse_buffer->0 = 10;
  while (true) {
    print ">";
    text_buffer->1 = 0;
    @aread text_buffer parse_buffer -> w;
    if (text_buffer->2 == 'p') print "Click. *** You have won ***^";
    else if (text_buffer->2 == 'l') print "A small room with a button.^";
    else print "That's not a verb I recognise.^";
  }
];
"""


def real() -> Path:
    return Path(DATA or "") / "textworld"


@pytest.fixture(scope="module")
def handwritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Z-machine game that TextWorld did not make, from the compiler that TextWorld brings."""
    folder = tmp_path_factory.mktemp("handwritten")
    (folder / "button.inf").write_text(HANDWRITTEN)
    package = find_spec("textworld")
    assert package is not None
    assert package.origin is not None
    brought = Path(package.origin).parent / "thirdparty" / "inform7-6M62" / "share" / "inform7"
    compiler = brought / "Compilers" / "inform6"
    subprocess.run([compiler, "-v5", folder / "button.inf", folder / "button.z5"], check=True, capture_output=True)
    (folder / "button.inf").unlink()
    return folder


@REAL
@pytest.mark.parametrize("name", GAMES)
def test_real_games_are_won_by_their_walkthroughs(name: str) -> None:
    env = make("textworld", data=real())
    observation, info = env.reset(options={"task": f"games/{name}"})
    assert observation.startswith("-= Bedroom =-\n")
    assert (info["type"], info["points"]) == ("simple", 0)
    expert = env.expert()
    assert expert is not None
    total, terminated = 0.0, False
    while not terminated:
        observation, reward, terminated, truncated, info = env.step(expert.act(observation, info["admissible"]))
        assert (info["valid"], info["in_admissible"], truncated) == (True, True, False)
        total += reward
    assert (info["won"], info["score"], total) == (True, 1.0, pytest.approx(1.0))
    env.close()


@REAL
def test_real_games_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALOGUE_TEXTWORLD_DATA", str(real()))
    env = make("textworld", split="games")
    assert [task.id for task in env.tasks("games")] == [f"games/{name}" for name in GAMES]
    assert {(task.split, task.type) for task in env.tasks("games")} == {("games", "simple")}
    assert env.reset(seed=1)[1]["task"].startswith("games/")
    env.close()


@REAL
def test_one_game_can_be_named() -> None:
    env = make("textworld", data=real() / GAMES[0])
    assert [task.id for task in env.tasks("games")] == [f"games/{GAMES[0]}"]
    with pytest.raises(UnknownName):
        env.reset(options={"task": f"games/{GAMES[1]}"})


@REAL
def test_a_json_without_its_story_is_compiled_once(tmp_path: Path) -> None:
    shutil.copy(real() / "tw-rewardsSparse_goalDetailed.json", tmp_path / "alone.json")
    env = make("textworld", data=tmp_path, cache=tmp_path / "cache")
    assert [task.id for task in env.tasks("games")] == ["games/alone.json"]
    observation, info = env.reset(options={"task": "games/alone.json"})
    assert "-= Bedroom =-" in observation
    assert info["admissible"]
    assert len(list((tmp_path / "cache").rglob("game.z8"))) == 1
    assert env.step("dance")[4]["valid"] is False
    env.close()


@REAL
def test_a_story_without_its_json_has_no_list(tmp_path: Path) -> None:  # TW-03
    shutil.copy(real() / GAMES[0], tmp_path / "alone.z8")
    env = make("textworld", data=tmp_path)
    _, info = env.reset(options={"task": "games/alone.z8"})
    assert (info["admissible"], info["type"], info["max_points"]) == (None, "other", 0)
    assert env.step("open chest drawer")[4]["valid"] is True
    assert env.expert() is None
    env.close()


def test_a_handwritten_game_is_played_without_a_list(handwritten: Path) -> None:  # TW-03
    env = make("textworld", data=handwritten)
    observation, info = env.reset(options={"task": "games/button.z5"})
    assert observation == "A small room with a button."
    assert (info["admissible"], info["in_admissible"], info["max_points"]) == (None, None, 0)
    assert info["goal"]
    assert env.expert() is None
    assert "None" not in observation + info["goal"] + repr(env.action_space)
    observation, reward, terminated, _, info = env.step("dance")
    assert (observation, info["valid"]) == ("That's not a verb I recognise.", False)
    assert "not a verb I recognise" in info["reason"]
    assert env.step("look")[4]["valid"] is True
    _, reward, terminated, _, info = env.step("press button")
    assert (reward, terminated, info["won"], info["valid"]) == (0.0, False, False, True)  # words alone never win
    assert env.step("quit")[4]["valid"] is False
    assert set(env.versions()) == {"textworld", "jericho", "game"}
    env.close()


def test_glulx_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "game.ulx").write_bytes(b"Glul" + bytes(100))
    env = make("textworld", data=tmp_path)
    assert env.tasks("games") == ()
    with pytest.raises(DataError, match=r"Glulx games .* cannot be played: the interpreter is for the Z-machine"):
        env.reset(options={"task": "games/game.ulx"})
    with pytest.raises(DataError, match="Glulx"):
        make("textworld", data=tmp_path / "game.ulx").tasks("games")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match=r"expected a story file .* got '.txt'"):
        make("textworld", data=tmp_path).reset(options={"task": "games/notes.txt"})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda story: b"", "0 bytes; the header alone has 64"),
        (lambda story: story[: len(story) // 2], "bytes of"),
        (lambda story: b"\x03" + story[1:], "version 3 in the header, 5 in the name"),
        (lambda story: story[:200] + bytes([story[200] ^ 1]) + story[201:], "the checksum does not match"),
    ],
)
def test_a_damaged_story_is_refused_before_it_ends_the_process(
    handwritten: Path, tmp_path: Path, damage: Any, said: str
) -> None:
    (tmp_path / "bad.z5").write_bytes(damage((handwritten / "button.z5").read_bytes()))
    with pytest.raises(DataError, match=said):
        make("textworld", data=tmp_path).reset(options={"task": "games/bad.z5"})


@REAL
@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', "\x00"])
def test_a_broken_json_is_a_data_error(tmp_path: Path, text: str) -> None:
    shutil.copy(real() / GAMES[0], tmp_path / "game.z8")
    (tmp_path / "game.json").write_text(text)
    with pytest.raises(DataError, match="not a readable game"):
        make("textworld", data=tmp_path).reset(options={"task": "games/game.z8"})


def test_a_json_that_is_no_game_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"uuid": "x"}')
    env = make("textworld", data=tmp_path, cache=tmp_path / "cache")
    with pytest.raises(DataError, match="expected a game as TextWorld saves it"):
        env.reset(options={"task": "games/other.json"})


@pytest.mark.parametrize("name", ["../secret.z5", "/etc/passwd", "button", "nothing.z8", "a\x00b", "x" * 5000, ""])
def test_only_games_of_the_folder_are_found(handwritten: Path, name: str) -> None:
    with pytest.raises(UnknownName):
        make("textworld", data=handwritten).task(f"games/{name}")


def test_a_folder_must_be_named_and_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIALOGUE_TEXTWORLD_DATA", raising=False)
    with pytest.raises(DataError, match=r"set data= or \$TRIALOGUE_TEXTWORLD_DATA"):
        make("textworld").tasks("games")
    with pytest.raises(DataError, match="no game and no folder with games at"):
        make("textworld", data=tmp_path / "absent").tasks("games")
