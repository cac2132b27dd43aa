"""What a training reads: its configuration, the lines of an export, what is learnt, which episodes come first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.agents.models.weights import find_adapter
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.experiments.training.config import Limit, load_training_config, parse_training_config
from trialogue.experiments.training.examples import Example, Segment, parse_example, read_examples
from trialogue.experiments.training.selection import select, steps_of
from trialogue.experiments.training.tokens import Tokens, cut, tokenized


def words(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """A token for every two characters."""
    spans = [(begin, min(begin + 2, len(text))) for begin in range(0, len(text), 2)]
    return [hash(text[begin:end]) % 1000 for begin, end in spans], spans


def line(**changes: Any) -> str:
    segments = [{"text": " go\n", "loss": True}, {"text": "You go.\n>", "loss": False}]
    told = {"prompt": "Goal\n>", "completion": " go\nYou go.\n>", "segments": segments, "task": "generated_train/1"}
    return json.dumps({**told, **changes})


# -- the configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["household-react", "household-act"])
def test_the_bundled_trainings_are_valid(name: str) -> None:
    config = load_training_config(
        Path(__file__).parent.parent / "experiments" / "training" / f"{name}.yaml", ["lora.rank=4"]
    )
    assert (config.name, config.lora.rank, config.lora.alpha) == (name, 4, 16)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"name": "x", "data": ["a"], "learning_rte": 1}, "Did you mean 'learning_rate'"),
        ({"name": "x", "data": ["a"], "lora": {"rnk": 8}}, "lora.rnk: unknown key. Did you mean 'rank'"),
        ({"name": "x"}, "data: missing"),
        ({"name": "x", "data": []}, "data: "),
        ({"name": "x", "data": ["a"], "limit": {}}, "either episodes or tokens"),
        ({"name": "x", "data": ["a"], "limit": {"episodes": 1, "tokens": 1}}, "either episodes or tokens"),
        ({"name": "x", "data": ["a"], "lora": {"targets": ["lm_head"]}}, "lora.targets"),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_key(told: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match="is not a valid training") as raised:
        parse_training_config(told)
    assert words in str(raised.value)


def test_what_is_no_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the training file"):
        load_training_config(tmp_path / "none.yaml")
    for text, told in (("a: [", "is not YAML"), ("- a", "found list")):
        (tmp_path / "x.yaml").write_text(text)
        with pytest.raises(UsageError, match=told):
            load_training_config(tmp_path / "x.yaml")


# -- the data ---------------------------------------------------------------------------------------------------------


def test_examples_are_read_and_those_without_a_reply_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    silent = line(segments=[{"text": " go\nYou go.\n>", "loss": False}])
    path.write_text(f"{line()}\n\n{silent}\n", encoding="utf-8")
    examples, files = read_examples([path])
    assert [(example.text, example.learnt()) for example in examples] == [("Goal\n> go\nYou go.\n>", [(6, 10)])]
    assert [(file.lines, file.empty, len(file.sha256)) for file in files] == [(2, 1, 64)]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{", "not JSON"),
        ("[]", "expected prompt, completion and segments"),
        (json.dumps({"messages": []}), "a chat"),
        (line(completion="other"), "put together, are not the completion"),
        (line(segments=[{"text": 1, "loss": True}]), "a text was expected"),
        (line(segments=[{"text": " go", "loss": 1}]), "true or false was expected"),
        (line(task="generated_eval/put/s1"), "evaluated on"),
        (line(task="valid_seen/pick_and_place/1"), "evaluated on"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(bad: str, told: str) -> None:
    with pytest.raises(DataError, match=told) as raised:
        parse_example(bad, "data.jsonl, line 7")
    assert "data.jsonl, line 7" in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the training data"):
        read_examples([tmp_path / "none.jsonl"])
    (tmp_path / "x.jsonl").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8"):
        read_examples([tmp_path / "x.jsonl"])


segments = st.lists(st.builds(Segment, st.text("ab \n", max_size=7), st.booleans()), max_size=8)


@given(st.text("ab \n", min_size=1, max_size=7), segments)
def test_a_token_is_learnt_when_it_begins_in_a_learnt_part(prompt: str, parts: list[Segment]) -> None:
    example = Example(prompt, tuple(parts), "t")
    learnt_characters = [False] * len(prompt) + [part.loss for part in parts for _ in part.text]
    tokens = tokenized(example, words)
    assert len(tokens) == len(words(example.text)[0])
    assert list(tokens.learnt) == [n > 0 and learnt_characters[2 * n] for n in range(len(tokens))]


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 45))
def test_what_is_too_long_is_cut_after_a_whole_reply(learnt: list[bool], longest: int) -> None:
    tokens = Tokens(tuple(range(len(learnt))), tuple(learnt), "t")
    short = cut(tokens, longest)
    if len(learnt) <= longest:
        assert short == tokens
        return
    ends = [n for n in range(1, longest + 1) if learnt[n - 1] and not learnt[n]]
    assert (None if short is None else len(short)) == (ends[-1] if ends else None)


def test_an_adapter_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown adapter 'household-raect'"):
        find_adapter("household-raect")
    with pytest.raises(DataError, match=r"none\.gguf"):
        find_adapter("none.gguf")


# -- the order --------------------------------------------------------------------------------------------------------


def episodes(count: int, length: int = 4, copies: int = 1) -> list[Tokens]:
    return [Tokens((n,) * length, (False,) + (True,) * (length - 1), f"t{n}") for n in range(count)] * copies


def tasks(chosen: Sequence[Tokens]) -> list[str]:
    return [episode.task for episode in chosen]


def test_held_out_tasks_are_not_trained_on() -> None:
    chosen = select(episodes(20, copies=2), seed=1, held_out=5, limit=None)
    assert len(chosen.held_out) == 6  # three tasks, whole
    assert not set(tasks(chosen.held_out)) & set(tasks(chosen.train))
    assert len(chosen.train) + len(chosen.held_out) == 40


def test_the_same_tasks_come_first_whatever_is_told_of_them() -> None:
    with_thoughts, without = episodes(50, length=9), list(reversed(episodes(50, length=3)))
    one, other = (select(told, seed=3, held_out=4, limit=Limit(episodes=20)) for told in (with_thoughts, without))
    assert tasks(one.train) == tasks(other.train)
    assert tasks(one.held_out) == tasks(other.held_out)
    assert tasks(select(without, seed=4, held_out=4, limit=Limit(episodes=20)).train) != tasks(other.train)


def test_a_limit_takes_the_first_and_holds_out_the_same() -> None:
    told = episodes(30)
    all_of_them = select(told, 0, 3, None)
    few = select(told, 0, 3, Limit(episodes=7))
    by_tokens = select(told, 0, 3, Limit(tokens=30))
    assert few.train == all_of_them.train[:7] == by_tokens.train
    assert few.held_out == all_of_them.held_out
    with pytest.raises(DataError, match="nothing to train on"):
        select(told, 0, 30, None)


@given(st.integers(1, 30), st.integers(1, 40), st.integers(1, 3), st.sets(st.integers(1, 30)))
def test_steps_hold_each_episode_once_a_pass_and_end_at_the_marks(
    count: int, tokens: int, passes: int, marks: set[int]
) -> None:
    told = episodes(count)
    steps = steps_of(told, 5, passes, tokens, marks)
    flat = [episode for step in steps for episode in step]
    assert flat[:count] == told
    for number in range(passes):
        assert sorted(flat[number * count : (number + 1) * count], key=lambda e: e.ids) == told
    ends = {sum(map(len, steps[: n + 1])) for n in range(len(steps))}
    assert {mark for mark in marks if mark <= passes * count} <= ends
    assert all(sum(map(len, step[:-1])) < tokens for step in steps)
