"""Exemplars: the loader, the bundled household files, the replay that checks them, and the tool that records them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from trialogue.agents.decision_points import EVENTS
from trialogue.envs import TextEnv, make
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.exemplars import Exemplar, bundled_files, exemplars_for
from trialogue.exemplars.library import ExemplarFile, read_file
from trialogue.experiments.cli import app
from trialogue.experiments.exemplar_check import check_file, replay
from trialogue.experiments.exemplar_record import as_yaml, read_actions, record, translate

TYPES = ("put", "clean", "heat", "cool", "examine", "puttwo")
DIALECTS = ("move", "put")
HOUSEHOLD = {file.type: file for file in bundled_files("household")}
EVERY = [exemplar for file in HOUSEHOLD.values() for exemplar in file.told("move")]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def step(**changed: Any) -> dict[str, Any]:
    return {"action": "go right", "observation": "You are in room 1.", **changed}


def file_data(**changed: Any) -> dict[str, Any]:
    entry = {"id": "one", "task": "test/1", "goal": "reach room 1", "observation": "You are in room 0."}
    return {"env": "toy", "type": "odd", "exemplars": [{**entry, "steps": [step()], **changed}]}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "odd.yaml"

    return write


# The loader


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("env: [toy", "is not YAML"),
        ("just words", "is not an exemplar file"),
        (yaml.safe_dump({"env": "toy", "type": "odd", "exemplars": []}), "exemplars: Tuple should have at least 1"),
        (yaml.safe_dump(file_data(steps=[])), "exemplars.0.steps"),
        (yaml.safe_dump(file_data(steps=[step(), {"action": "look"}])), "exemplars.0.steps.1.observation"),
        (yaml.safe_dump(file_data(steps=[step(though="Hm.")])), "exemplars.0.steps.0.though"),
        (yaml.safe_dump(file_data(steps=[step(thought=3)])), "exemplars.0.steps.0.thought"),
        (yaml.safe_dump(file_data(steps=[step(**{"in": {"put": "x"}})])), "exemplars.0.steps.0.in.put"),
        (yaml.safe_dump(file_data(goal=None)), "exemplars.0.goal"),
    ],
)
def test_a_broken_file_is_refused_with_the_file_and_the_place(write: Any, text: str, told: str) -> None:
    with pytest.raises(DataError, match=re.escape(told)) as error:
        read_file(write(text))
    assert "odd.yaml" in str(error.value)


def test_thoughts_are_one_text_or_a_list(write: Any) -> None:
    steps = [step(thought="One."), step(thought=["One.", "Two."]), step()]
    [exemplar] = read_file(write(yaml.safe_dump(file_data(steps=steps)))).told("")
    assert [s.thoughts for s in exemplar.steps] == [("One.",), ("One.", "Two."), ()]


def test_a_dialect_changes_only_what_it_words_differently(write: Any) -> None:
    steps = [
        step(**{"in": {"far": {"action": "walk right"}}}),
        step(**{"in": {"far": {"observation": "Room 1."}}}),
        step(),
    ]
    file = read_file(write(yaml.safe_dump(file_data(steps=steps))))
    assert file.dialects() == ("", "far")
    told = [(s.action, s.observation) for s in file.told("far")[0].steps]
    here = "You are in room 1."
    assert told == [("walk right", here), ("go right", "Room 1."), ("go right", here)]
    assert {s.action for s in file.told("")[0].steps} == {"go right"}


def test_what_is_not_there_gives_no_exemplars() -> None:
    assert exemplars_for("household", "dance", "move") == ()
    assert exemplars_for("household", "put", "shout") == ()
    assert exemplars_for("nowhere", "put") == ()


@settings(max_examples=60, deadline=None)
@given(thoughts=st.lists(TEXT, min_size=1, max_size=2), action=TEXT, observation=st.text(st.characters(codec="utf-8")))
def test_any_text_survives_writing_and_reading(thoughts: list[str], action: str, observation: str) -> None:
    steps = [step(thought=thoughts, action=action, observation=observation, event="start")]
    file = ExemplarFile.model_validate(file_data(steps=[{**steps[0], "in": {"put": {"action": action + "!"}}}]))
    assert ExemplarFile.model_validate(yaml.safe_load(as_yaml(file))) == file


# The bundled household exemplars


def test_every_type_has_at_least_three_with_ids_of_their_own() -> None:
    assert set(HOUSEHOLD) == set(TYPES)
    assert min(len(file.exemplars) for file in HOUSEHOLD.values()) >= 3
    assert all(exemplar.task.startswith(f"generated_train/{exemplar.type}/") for exemplar in EVERY)
    ids = [exemplar.id for exemplar in EVERY]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("file", HOUSEHOLD.values(), ids=HOUSEHOLD)
def test_files_are_as_the_recorder_writes_them(file: ExemplarFile) -> None:
    assert (file.env, file.dialect, file.dialects()) == ("household", "move", DIALECTS)
    path = Path(__file__).parent.parent / "exemplars" / "household" / f"{file.type}.yaml"
    assert path.read_text(encoding="utf-8") == as_yaml(file)


@pytest.mark.parametrize("file", bundled_files(), ids=lambda f: f"{f.env}/{f.type}")
def test_every_exemplar_is_from_a_training_split(file: ExemplarFile) -> None:
    for exemplar in file.told(file.dialect):
        assert exemplar.task.startswith("generated_train/")


@pytest.mark.parametrize("exemplar", EVERY, ids=lambda e: e.id)
def test_thoughts_come_first_and_at_decision_points_only(exemplar: Exemplar) -> None:
    thinking = [step for step in exemplar.steps if step.thoughts]
    assert exemplar.steps[0].thoughts
    assert [step.event for step in exemplar.steps].count("start") == 1
    assert exemplar.steps[0].event == "start"
    assert {step.event for step in thinking} <= set(EVENTS)
    assert not any(step.event for step in exemplar.steps if not step.thoughts)
    assert 3 <= len(thinking) < len(exemplar.steps)


@pytest.mark.parametrize("exemplar", EVERY, ids=lambda e: e.id)
def test_a_thought_names_only_what_was_seen_before(exemplar: Exemplar) -> None:
    seen = f"{exemplar.goal} {exemplar.observation}"
    for at in exemplar.steps:
        for thought in at.thoughts:
            named = re.findall(r"\b[a-z]+ \d+\b", thought.lower())
            assert [name for name in named if name not in seen] == []
        seen += at.observation


def test_no_thought_is_written_twice() -> None:
    thoughts = [thought for exemplar in EVERY for step in exemplar.steps for thought in step.thoughts]
    assert len(set(thoughts)) == len(thoughts)


@pytest.mark.parametrize("type", TYPES)
def test_the_first_two_fit_a_small_model(type: str) -> None:
    told = exemplars_for("household", type, "move")[:2]
    assert sum(len(text) + 2 for exemplar in told for text in texts(exemplar)) < 5500
    assert any("is closed" in text for exemplar in told for text in texts(exemplar)), "one of them searches"


@pytest.mark.parametrize("type", TYPES)
def test_the_dialects_tell_the_same_episode(type: str) -> None:
    for move, put in zip(HOUSEHOLD[type].told("move"), HOUSEHOLD[type].told("put"), strict=True):
        assert (move.id, move.goal, move.observation) == (put.id, put.goal, put.observation)
        for ours, theirs in zip(move.steps, put.steps, strict=True):
            assert (ours.thoughts, ours.event) == (theirs.thoughts, theirs.event)
            assert re.sub("^move (.*) to ", r"put \1 in/on ", ours.action) == theirs.action
            assert in_put_words(ours.observation) == re.sub(r"loc \d+", "LOC", theirs.observation)


@pytest.mark.parametrize("exemplar", EVERY, ids=lambda e: e.id)
def test_without_thoughts_it_is_the_same_episode(exemplar: Exemplar) -> None:
    act = exemplar.without_thoughts()
    assert not any(step.thoughts or step.event for step in act.steps)
    assert [(s.action, s.observation) for s in act.steps] == [(s.action, s.observation) for s in exemplar.steps]
    assert replace(act, steps=exemplar.steps) == exemplar


def texts(exemplar: Exemplar) -> Iterator[str]:
    yield from (exemplar.goal, exemplar.observation)
    for at in exemplar.steps:
        yield from (*at.thoughts, at.action, at.observation)


def in_put_words(observation: str) -> str:
    arrived = re.sub(r"^You arrive at [a-z]+ \d+\.", "You arrive at LOC.", observation)
    return re.sub(r"^You move the (.*) to the (.*)\.$", r"You put the \1 in/on the \2.", arrived)


# Replays


@pytest.fixture(scope="module")
def speakers() -> Iterator[dict[str, TextEnv]]:
    made = {dialect: make("household", dialect=dialect) for dialect in DIALECTS}
    yield made
    for env in made.values():
        env.close()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("type", TYPES)
def test_the_engine_says_what_the_exemplar_says(speakers: dict[str, TextEnv], type: str, dialect: str) -> None:
    assert replay(exemplars_for("household", type, dialect)[0], speakers[dialect]) == []


@pytest.mark.slow
@pytest.mark.parametrize("file", bundled_files(), ids=lambda f: f"{f.env}/{f.type}")
def test_the_engine_says_what_every_exemplar_says(file: ExemplarFile) -> None:
    checked = list(check_file(file))
    assert len(checked) == len(file.exemplars) * len(file.dialects())
    assert [(exemplar.id, exemplar.dialect, faults) for exemplar, faults in checked if faults] == []


def test_a_replay_finds_one_changed_word(speakers: dict[str, TextEnv]) -> None:
    exemplar = exemplars_for("household", "examine", "move")[0]
    third = exemplar.steps[2]
    altered = replace(third, observation=third.observation.replace("you see", "you find"))
    [fault] = replay(replace(exemplar, steps=(*exemplar.steps[:2], altered, *exemplar.steps[3:])), speakers["move"])
    assert fault.startswith(f"step 3 ({third.action}): the file says")
    assert "you find" in fault


def test_a_replay_finds_a_wrong_goal_type_and_start(speakers: dict[str, TextEnv]) -> None:
    exemplar = replace(
        exemplars_for("household", "examine", "move")[0], goal="dance.", type="put", observation="A room."
    )
    faults = replay(exemplar, speakers["move"])
    assert [fault.partition(":")[0] for fault in faults] == ["at the start", "goal", "type"]


def test_a_replay_finds_the_wrong_dialect_and_a_game_not_won(speakers: dict[str, TextEnv]) -> None:
    exemplar = exemplars_for("household", "put", "put")[0]
    faults = replay(exemplar, speakers["move"])
    assert any("'You arrive at loc" in fault for fault in faults)
    assert any("not accepted" in fault and exemplar.steps[-1].action in fault for fault in faults)
    assert faults[-1] == "the last step does not win the game"


# Recording


def test_what_is_recorded_is_what_is_bundled() -> None:
    file = HOUSEHOLD["examine"]
    recorded = record("household", [file.exemplars[0].task], DIALECTS)
    silent = tuple(s.model_copy(update={"thought": (), "event": ""}) for s in file.exemplars[0].steps)
    assert recorded.exemplars == (file.exemplars[0].model_copy(update={"steps": silent}),)
    assert recorded.told("put")[0] == file.told("put")[0].without_thoughts()


def test_the_expert_is_recorded_in_an_environment_with_one_dialect() -> None:
    file = record("toy:Corridor", ["test/2", "test/4"])
    assert (file.env, file.type, file.dialects()) == ("toy:Corridor", "even", ("",))
    assert [(e.id, e.task, len(e.steps)) for e in file.exemplars] == [("even-1", "test/2", 2), ("even-2", "test/4", 4)]
    assert [faults for _, faults in check_file(file)] == [[], []]


@pytest.mark.parametrize(
    ("tasks", "actions", "told"),
    [
        (["test/1", "test/2"], None, "by type"),
        (["test/1", "test/2"], ["go right"], "one by one"),
        (["test/2"], ["go right"], "the actions end before the task is won"),
        (["test/1"], ["go right", "look"], "won after 1 of 2 actions"),
        (["test/1"], ["go up"], "action 1 ('go up') was not accepted: 'go up' is not possible here"),
        (["test/2"], ["look"] * 50, "not won in 50 steps"),
        (["test/99"], None, "unknown task"),
    ],
)
def test_what_cannot_be_recorded_is_said(tasks: list[str], actions: list[str] | None, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        record("toy:Corridor", tasks, actions=actions)


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'move'"):
        record("household", ["generated_train/put/s1-r8-d8"], ["mov"])


def test_a_command_is_translated_by_the_templates_that_differ() -> None:
    own, other = (
        ["look", "move {a} to {b}", "take {a} from {b}"],
        ["look", "take {a} from {b}", "to {b} bring {a}", "help"],
    )
    assert translate("move mug 1 to desk 2", own, other) == "to desk 2 bring mug 1"
    assert translate("take mug 1 from desk 2", own, other) == "take mug 1 from desk 2"
    assert translate("look", own, other) == "look"


def test_the_command_prints_a_file_that_the_loader_reads(tmp_path: Path, write: Any) -> None:
    actions = tmp_path / "actions.txt"
    actions.write_text("look\n\n  go right\n", encoding="utf-8")
    arguments = ["exemplars", "record", "toy:Corridor", "test/1", "--actions", str(actions)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    [exemplar] = read_file(write(result.stdout)).told("")
    assert [step.action for step in exemplar.steps] == ["look", "go right"]


def test_an_action_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a text file of actions, one a line"):
        read_actions(tmp_path / "none.txt")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=re.escape("binary.txt")):
        read_actions(tmp_path / "binary.txt")
