"""The HotpotQA and FEVER environments, played: generated and real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from trialogue.envs import TextEnv, make, make_vec
from trialogue.envs.wiki.corpus import Corpus
from trialogue.envs.wiki.expert import Expert
from trialogue.envs.wiki.pages import Page
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.exemplars import bundled_files, exemplars_for
from trialogue.experiments.exemplar_check import check_file

NAMES = ("hotpotqa", "fever")
QUESTION = {
    "_id": "q1",
    "question": "Where was Ann born?",
    "answer": "the Old Town",
    "type": "bridge",
    "context": [["Ann (poet)", ["Ann is a poet.", "She was born in the Old Town."]], ["Anna", ["Anna is a ship."]]],
}


@pytest.fixture
def env(tmp_path: Path) -> TextEnv:
    """One question with two pages, just begun."""
    (tmp_path / "dev.json").write_text(json.dumps([QUESTION]), encoding="utf-8")
    made = make("hotpotqa", data=tmp_path)
    made.reset(options={"task": "dev/q1"})
    return made


def play(env: TextEnv, task: str) -> tuple[list[tuple[str, str]], Any]:
    observation, info = env.reset(options={"task": task})
    player, terminated, moves = env.expert(), False, [("", observation)]
    assert player is not None
    while not terminated and len(moves) < 40:
        action = player.act(observation, info["admissible"])
        observation, _, terminated, _, info = env.step(action)
        assert info["valid"], info["reason"]
        moves.append((action, observation))
    return moves, info


@pytest.mark.parametrize("name", NAMES)
def test_the_expert_answers_what_it_reads(name: str) -> None:
    env = make(name)
    won, actions = 0, set()
    for task in env.tasks("generated_eval")[:100]:
        moves, info = play(env, task.id)
        won += info["won"]
        actions |= {action.partition("[")[0] for action, _ in moves[1:]}
        assert len(moves) <= 15
    assert won >= 95
    assert actions == {"search", "lookup", "finish"}


def test_the_expert_knows_nothing_but_the_text() -> None:
    player = Expert("answer the question: In which town was Ann Ore born?")
    assert player.act("", None) == "search[Ann Ore]"
    assert player.act("Ann Ore is a poet.", None) == "lookup[born]"
    assert player.act("(Result 1 / 2) She was born in 1801.", None) == "lookup[born]"
    assert player.act("(Result 2 / 2) She was born in the town of Xul.", None) == "finish[Xul]"
    assert player.act("Episode finished.", None) == "finish[Xul]"
    with pytest.raises(UsageError, match="goals of generated tasks only"):
        Expert("answer the question: Who was the third consul?")


def test_search_lookup_finish(env: TextEnv) -> None:
    observation, _, _, _, info = env.step("search[Ann]")
    assert observation == "Could not find [Ann]. Similar: ['Ann (poet)', 'Anna']."
    assert (info["valid"], info["reason"]) == (True, "")
    assert env.step("search[ann (POET)]")[0] == "Ann is a poet. She was born in the Old Town."
    assert env.step("lookup[born]")[0] == "(Result 1 / 1) She was born in the Old Town."
    assert env.step(" lookup[born]\n")[0] == "No more results."
    observation, reward, terminated, truncated, info = env.step("finish[old town]")
    assert (observation, reward, terminated, truncated) == ("Episode finished.", 1.0, True, False)
    assert (info["won"], info["score"], info["admissible"], info["dialect"]) == (True, 1.0, None, "")


def test_a_partly_right_answer_scores_and_does_not_win(env: TextEnv) -> None:
    _, reward, terminated, _, info = env.step("finish[town]")
    assert terminated
    assert info["won"] is False
    assert info["score"] == reward == pytest.approx(2 / 3)
    _, reward, terminated, _, info = env.step("finish[the Old Town]")
    assert (reward, terminated, info["won"], info["valid"]) == (0.0, True, False, False)
    assert info["reason"] == "the episode is over; call reset"


INVALID = {
    "": "expected search",
    "Search[Ann]": "the verb in lower case",
    "search Ann": "expected search",
    "search[Ann": "expected search",
    "look[Ann]": "expected search",
    "search[]": r"search\[\] is empty",
    "lookup[born]": "no page has been found yet; search first",
    "東京": "expected search",
    f"search[{'x' * 100_000}]": "at most 300 characters",
    "x" * 100_000: "expected search",
}


@pytest.mark.parametrize(("action", "reason"), INVALID.items(), ids=lambda text: text[:20])
def test_an_invalid_action_says_why_and_changes_nothing(env: TextEnv, action: str, reason: str) -> None:
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["valid"], info["score"]) == (0.0, False, False, False, 0.0)
    assert observation == "Invalid action."
    assert re.search(reason, info["reason"])
    assert len(info["reason"]) < 200
    assert env.action_space.explain(action).reason == info["reason"]


def test_an_invalid_action_leaves_the_page_open(env: TextEnv) -> None:
    env.step("search[Ann (poet)]")
    for action in ("", "Search[Anna]", "search[]", f"search[{'x' * 301}]", "search[Nobody]"):
        env.step(action)
    assert env.step("lookup[Ann]")[0] == "(Result 1 / 1) Ann is a poet."
    assert env.action_space.explain("lookup[born]").reason == ""


@given(st.text(max_size=40))
def test_any_text_is_answered(text: str) -> None:
    env = make("fever")
    env.reset(options={"task": "generated_eval/claim/s1000000"})
    for action in (text, f"search[{text}]", f"lookup[{text}]"):
        observation, reward, terminated, _, info = env.step(action)
        assert observation in env.observation_space
        assert info["valid"] is (info["reason"] == "")
        assert reward == 0.0 or terminated


def test_odd_pages_pass_through_unharmed(tmp_path: Path) -> None:  # QA-09
    odd = r"The path C:\users\new and the token \u00e9 appear; so does café."
    (tmp_path / "dev.json").write_text(json.dumps([QUESTION]), encoding="utf-8")
    env = make("hotpotqa", data=tmp_path, pages=Corpus([Page("Odd", (odd,))]))
    env.reset(options={"task": "dev/q1"})
    assert env.step("search[Odd]")[0] == odd


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_told_nowhere(name: str, tmp_path: Path) -> None:
    secret = "REFUTES" if name == "fever" else "the Old Town"
    row = {"id": 1, "claim": "Ann is.", "label": secret} if name == "fever" else {**QUESTION, "context": []}
    file = tmp_path / ("dev.jsonl" if name == "fever" else "dev.json")
    file.write_text(json.dumps(row if name == "fever" else [row]), encoding="utf-8")
    env = make(name, data=tmp_path, pages=Corpus([Page("Odd", ("Text.",))]))
    told: list[Any] = [env.reset(options={"task": env.tasks("dev")[0].id})[1]]
    for action in ("search[Odd]", "lookup[x]", "nonsense", "finish[wrong]", "finish[wrong]"):
        observation, _, _, _, info = env.step(action)
        told += [observation, info]
    assert secret not in json.dumps([*told, env.versions()])


def test_the_metric_is_a_setting_and_told(tmp_path: Path) -> None:  # QA-03
    (tmp_path / "dev.json").write_text(json.dumps([{**QUESTION, "answer": "10"}]), encoding="utf-8")
    won = {}
    for metric in ("official", "number_aware"):
        env = make("hotpotqa", data=tmp_path, metric=metric)
        env.reset(options={"task": "dev/q1"})
        won[env.versions()["scoring"]] = env.step("finish[1.0]")[4]["won"]
    assert won == {"exact match and F1, official": True, "exact match and F1, number_aware": False}
    with pytest.raises(UnknownName, match="Did you mean 'official'"):
        make("hotpotqa", metric="offical")


def test_versions_name_the_pages_and_the_data(env: TextEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOTPOTQA_DATA", raising=False)
    versions = env.versions()
    assert set(versions) == {"scoring", "pages", "data dev"}
    assert len(versions["pages"]) == len(versions["data dev"]) == 64
    assert set(make("hotpotqa", data=tmp_path).versions()) == {"scoring", "data dev"}
    with_pages = make("hotpotqa", data=tmp_path, pages=tmp_path / "dev.json").versions()
    assert with_pages == versions
    other = make("hotpotqa")
    assert set(other.versions()) == {"scoring"}
    other.reset(options={"task": "generated_eval/bridge/s1000000"})
    assert set(other.versions()) == {"scoring", "pages"}


def test_claims_need_pages(tmp_path: Path) -> None:
    claim = {"id": 1, "claim": "Ann is a poet.", "label": "SUPPORTS"}
    (tmp_path / "dev.jsonl").write_text(json.dumps(claim), encoding="utf-8")
    env = make("fever", data=tmp_path)
    with pytest.raises(DataError, match=r"no pages to search for dev: give the setting pages"):
        env.reset(options={"task": "dev/1"})
    with pytest.raises(UsageError, match="call reset"):
        env.step("search[Ann]")
    (tmp_path / "recorded_searches.json").write_text('{"Ann": "Ann is a poet."}', encoding="utf-8")
    env.reset(options={"task": "dev/1"})
    assert env.step("search[ann]")[0] == "Ann is a poet."
    assert env.expert() is None
    assert env.step("finish[supported]")[4]["won"] is True


def test_an_answer_that_is_no_label_is_wrong_and_ends() -> None:
    env = make("fever")
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step("finish[maybe]")
    assert (reward, terminated, info["won"], info["valid"]) == (0.0, True, False, True)


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_checker_passes_without_warnings(name: str) -> None:
    gym_id = {"hotpotqa": "trialogue/HotpotQA-v0", "fever": "trialogue/FEVER-v0"}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(gym_id).unwrapped, skip_render_check=True)


ROLLOUT = """
import sys, trialogue.envs as envs
for name in ("hotpotqa", "fever"):
    env = envs.make(name)
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        player, terminated = env.expert(), False
        print(info["task"], info["goal"], env.versions())
        print(env.step("search[Lake]")[0])
        while not terminated:
            observation, reward, terminated, _, info = env.step(player.act(observation, None))
            print(observation, reward)
"""


def test_equal_seeds_give_equal_rollouts_whatever_the_hash_seed() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", ROLLOUT],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("Episode finished.") == 10


def test_a_vector_environment_passes_text_on() -> None:
    vector = make_vec("fever", 2, context="spawn")
    try:
        vector.reset(seed=[1, 2])
        observations, _, _, _, infos = vector.step(("search[Nowhere]", "dance"))
        assert str(observations[0]).startswith("Could not find [Nowhere].")
        assert [bool(valid) for valid in infos["valid"]] == [True, False]
    finally:
        vector.close()


@pytest.mark.parametrize("name", NAMES)
def test_exemplars_replay(name: str) -> None:
    checked = [faults for file in bundled_files(name) for _, faults in check_file(file)]
    assert checked == [[]] * {"hotpotqa": 6, "fever": 3}[name]


def test_exemplars_are_dense_and_cover_every_type_and_label() -> None:
    found = [
        e for name, kind in [("hotpotqa", "bridge"), ("hotpotqa", "comparison")] for e in exemplars_for(name, kind)
    ]
    claims = exemplars_for("fever", "claim")
    assert len(found) == 6
    assert {e.steps[-1].action for e in claims} == {"finish[SUPPORTS]", "finish[REFUTES]", "finish[NOT ENOUGH INFO]"}
    for exemplar in (*found, *claims):
        assert exemplar.task.startswith("generated_train/")
        assert all(step.thoughts for step in exemplar.steps)
        assert exemplar.steps[0].event == "start"


def test_real_questions_are_found_and_their_answers_win(test_data: Path) -> None:
    path = test_data / "hotpotqa" / "hotpot_dev_distractor_100.json"
    env = make("hotpotqa", data=path)
    questions = {f"{path.stem}/{row['_id']}": row for row in json.loads(path.read_text(encoding="utf-8"))}
    assert [task.id for task in env.tasks(path.stem)] == list(questions)
    for id, row in questions.items():
        _, info = env.reset(options={"task": id})
        assert (info["goal"], info["type"]) == (f"answer the question: {row['question']}", row["type"])
        pages = dict(row["context"])
        for title, _ in row["supporting_facts"]:
            shown = env.step(f"search[{title}]")[0]
            assert shown == " ".join(stripped for s in pages[title][:5] if (stripped := s.strip(" \t\r\n")))
        assert env.step("lookup[the]")[0].startswith(("(Result 1 / ", "No more results."))
        _, reward, terminated, _, info = env.step(f"finish[{row['answer']}]")
        assert (reward, terminated, info["won"], info["score"]) == (1.0, True, True, 1.0)


def test_real_claims_are_won_by_their_labels(test_data: Path) -> None:
    env = make("fever", data=test_data / "fever")
    lines = (test_data / "fever" / "paper_dev_1000.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    won = 0
    for row in rows:
        env.reset(options={"task": f"paper_dev_1000/{row['id']}"})
        won += env.step(f"finish[{row['label']}]")[4]["won"]
    assert won == len(rows) == 1000
    env.reset(options={"task": f"paper_dev_1000/{rows[0]['id']}"})
    assert env.step("search[Paramore]")[0].startswith("Paramore is an American rock band from Franklin, Tennessee")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_expert_answers_thousands(name: str) -> None:
    env = make(name, count=2000)
    assert sum(play(env, task.id)[1]["won"] for task in env.tasks("generated_train")) >= 1990


@pytest.mark.parametrize("name", ["hotpotqa", "fever"])
@pytest.mark.parametrize("answer", ["", "  ", "..."])
def test_parse_30_an_empty_answer_ends_the_episode_and_scores_nothing(name: str, answer: str) -> None:
    env = make(name)
    task = env.tasks("generated_train")[0].id
    env.reset(options={"task": task})
    observation, reward, terminated, _, info = env.step(f"finish[{answer}]")
    assert (observation, reward, terminated) == ("Episode finished.", 0.0, True)
    assert (info["valid"], info["won"], info["score"]) == (True, False, 0.0)
    env.close()
