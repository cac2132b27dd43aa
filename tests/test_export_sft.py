"""Training data: the agent's own prompts, with what the model wrote marked; thoughts kept or dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sft_models import THINK
from test_cli import trialogue
from test_fork import ADVICE, CHANGES, played
from test_runner import BASE, configured, play

from trialogue.agents.models import request_hash
from trialogue.agents.models.contract import Message, Reply, Request, Tool, ToolCall
from trialogue.errors import DataError
from trialogue.experiments.exports.conversations import calls_of, conversations
from trialogue.experiments.exports.sft import Thoughts, end_of_written, export_sft, without_thoughts
from trialogue.experiments.forking import fork
from trialogue.experiments.records import EpisodePlan, RunPlan
from trialogue.experiments.store import Store

PLAYER = "scripted:sft_models:player"


def exported(path: Path, thoughts: Thoughts = "keep", unsolved: bool = False) -> list[dict[str, Any]]:
    with Store.read(path) as store:
        runs = [row["id"] for row in store.runs(forks=True)]
        return [json.loads(line) for line in export_sft(store, runs, thoughts=thoughts, unsolved=unsolved)]


def react(**settings: Any) -> dict[str, Any]:
    return {"react": {"agent": "react", "settings": {"exemplars": 0, **settings}}}


def chat(model: str = "sft_models:player", **settings: Any) -> dict[str, Any]:
    return {"name": f"scripted:{model}", "settings": {"style": "chat", **settings}}


async def test_completions_are_cut_into_what_the_model_wrote_and_what_it_read(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(agents=react()), path)
    lines = exported(path)
    assert [line["task"] for line in lines] == ["test/2", "test/4", "test/6", "test/8", "test/10"]
    line = lines[0]
    assert line["prompt"].endswith("Goal: reach room 2\n>")
    assert line["segments"] == [
        {"text": f" think: {THINK}\n", "loss": True},
        {"text": "OK.\n>", "loss": False},
        {"text": " go right\n", "loss": True},
        {"text": "You are in room 1.\n>", "loss": False},
        {"text": "go right\n", "loss": True},
    ]
    named = {key: line[key] for key in ("agent", "model", "type", "seed", "trial", "won", "part", "run")}
    assert named == {
        "agent": "react",
        "model": "scripted:toy:walk",
        "type": "even",
        "seed": 0,
        "trial": 0,
        "won": True,
        "part": "1 of 1",
        "run": "react/corridor",
    }
    assert len({line["digest"] for line in lines}) == 5
    assert len({line["conditions"] for line in lines}) == 1
    assert len(exported(path, unsolved=True)) == 10


@pytest.mark.parametrize("thoughts", ["none", "sparse", "dense", "decision_points"])
@pytest.mark.parametrize("notation", ["arrow", "labelled", "labelled_zh", "json"])
@pytest.mark.parametrize("drop", [False, True])
async def test_segments_are_the_whole_of_what_was_added(
    tmp_path: Path, thoughts: str, notation: str, drop: bool
) -> None:
    path = tmp_path / "x.sqlite"
    tasks = {"corridor": {"env": "toy:Corridor", "ids": ["test/1", "test/3"]}}
    await play(configured(model=PLAYER, agents=react(thoughts=thoughts, notation=notation), tasks=tasks), path)
    with Store.read(path) as store:
        whole = {row["id"]: list(store.prompts(row["id"]).values()) for row in store.episodes()}
        steps = {row["id"]: list(store.steps(row["id"])) for row in store.episodes()}
    lines = exported(path, "drop" if drop else "keep", unsolved=True)
    assert {line["episode"] for line in lines} == set(whole)
    for line in lines:
        learnt = "".join(segment["text"] for segment in line["segments"] if segment["loss"])
        read = "".join(segment["text"] for segment in line["segments"] if not segment["loss"])
        assert "".join(segment["text"] for segment in line["segments"]) == line["completion"]
        assert "You are in room" not in learnt
        assert learnt.count("go right") == len(steps[line["episode"]])
        if drop:
            assert THINK not in line["completion"]
            assert "OK." not in read
        else:
            text = line["prompt"] + line["completion"]
            assert text.startswith(whole[line["episode"]][-1])
            assert (THINK in learnt) is (thoughts != "none")


async def test_a_thought_and_its_label_are_dropped_before_the_command_that_came_with_it(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured(model=PLAYER, agents=react(thoughts="dense", notation="labelled"), limits={"steps": 3})
    await play(config, path)
    [line] = [line for line in exported(path) if line["task"] == "test/2"]
    assert line["prompt"].endswith("\nThought 1:")
    assert line["segments"][0] == {"text": f" {THINK}\nAction 1: go right\n", "loss": True}
    assert line["segments"][1] == {"text": "Observation 1: You are in room 1.\nThought 2:", "loss": False}
    [line] = [line for line in exported(path, "drop") if line["task"] == "test/2"]
    assert line["prompt"].endswith("Goal: reach room 2\n")
    assert line["segments"] == [
        {"text": "Action 1: go right\n", "loss": True},
        {"text": "Observation 1: You are in room 1.\n", "loss": False},
        {"text": "Action 2: go right\n", "loss": True},
    ]


async def test_what_could_not_be_read_is_no_lesson(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(model="scripted:sft_models:stammers", agents=react()), path)
    [line] = [line for line in exported(path) if line["task"] == "test/2"]
    learnt = [segment["text"] for segment in line["segments"] if segment["loss"]]
    assert learnt == [" go right\n", "go right\n"]
    assert line["completion"].startswith("\nYour reply was empty")
    await play(configured(model=chat("sft_models:stammers"), agents=react()), tmp_path / "chat.sqlite")
    [line] = [line for line in exported(tmp_path / "chat.sqlite") if line["task"] == "test/2"]
    assert [m.get("weight") for m in line["messages"] if m["role"] == "assistant"] == [0, None, None]


async def test_chats_are_told_as_they_were_sent(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(model=chat(), agents=react()), path)
    [line] = [line for line in exported(path) if line["task"] == "test/2"]
    assert [message["role"] for message in line["messages"]] == ["system", *["user", "assistant"] * 3]
    told = [message["content"] for message in line["messages"][2:]]
    assert told == [f"think: {THINK}", "OK.", "go right", "You are in room 1.", "go right"]
    [dropped] = [line for line in exported(path, "drop") if line["task"] == "test/2"]
    assert [message["content"] for message in dropped["messages"][2:]] == ["go right", "You are in room 1.", "go right"]
    assert dropped["messages"][:2] == line["messages"][:2]


@pytest.mark.parametrize("thoughts", ["dense", "decision_points"])
async def test_what_asks_a_chat_for_a_thought_goes_with_it(tmp_path: Path, thoughts: str) -> None:
    path = tmp_path / "x.sqlite"
    await play(configured(model=chat(), agents=react(thoughts=thoughts)), path)
    asked = "Write a thought now"
    assert any(asked in m["content"] for line in exported(path, unsolved=True) for m in line["messages"][1:])
    for line in exported(path, "drop", unsolved=True):
        told = "\n".join(message["content"] for message in line["messages"][1:])
        assert (asked in told, THINK in told) == (False, False)
        roles = [message["role"] for message in line["messages"][1:]]
        assert roles == ["user", "assistant"] * (len(roles) // 2)


async def test_native_calls_come_with_their_tools(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    agents = {"tools": {"agent": "native_tools", "settings": {"exemplars": 0}}}
    await play(configured(model=chat("sft_models:calls", can_call_tools=True), agents=agents), path)
    line = next(line for line in exported(path) if line["task"] == "test/2")
    assert {tool["function"]["name"] for tool in line["tools"]} == {"go", "look"}
    assistant, tool = line["messages"][2:4]
    assert assistant["content"] == "To the right."
    assert assistant["tool_calls"][0]["function"] == {"name": "go", "arguments": '{"direction": "right"}'}
    assert (tool["role"], tool["tool_call_id"]) == ("tool", assistant["tool_calls"][0]["id"])
    dropped = next(line for line in exported(path, "drop") if line["task"] == "test/2")
    assert dropped["messages"][2] == {**assistant, "content": ""}


async def test_a_correction_counts_as_what_the_model_should_have_said(tmp_path: Path) -> None:
    path = await played(tmp_path / "x.sqlite")
    await fork(path, 1, 3, thought=ADVICE)
    [line] = exported(path)
    learnt = [segment["text"] for segment in line["segments"] if segment["loss"]]
    assert f" think: {ADVICE}\n" in learnt
    assert "approves" not in line["completion"]
    assert CHANGES["agents"]["react"]["agent"] == line["agent"]


MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["system", "user"]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[")),
    )
    | st.builds(
        Message,
        st.just("assistant"),
        st.text("abc \n:.", max_size=20),
        st.lists(
            st.builds(ToolCall, st.sampled_from(["c1", "c2"]), st.just("go"), st.text('{}":, ab\n')), max_size=2
        ).map(tuple),
    ),
    min_size=1,
    max_size=5,
)


def stored(path: Path, requests: Sequence[Request]) -> Store:
    path.unlink(missing_ok=True)
    plan = EpisodePlan(1, 1, "x/1", 0, "y", "x", 0, 0)
    store = Store.create(path, name="x", config={}, runs=[RunPlan(1, "a/t", "a", "t")], episodes=[plan])
    for call, request in enumerate(requests):
        store.add_reply(1, call, request, request_hash(request), Reply("ok"))
    return store


@settings(deadline=None, max_examples=30)  # each example writes a file
@given(prompts=st.lists(MESSAGES.map(tuple) | st.text(st.characters(exclude_categories=["Cs"])), max_size=4))
def test_requests_come_back_as_they_were_sent_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, prompts: list[Any]
) -> None:
    tools = (Tool("go", "walk", ("direction",)),)
    requests = [Request(p, ("\n",), 7, 0.5, 3, None, tools if isinstance(p, tuple) else ()) for p in prompts]
    with stored(tmp_path_factory.mktemp("s") / "x.sqlite", requests) as store:
        try:
            found = [call.request for call in calls_of(store, 1)]
        except DataError:
            return
        assert found == requests


def test_a_message_that_looks_like_another_is_not_taken_for_it(tmp_path: Path) -> None:
    tricky = Request((Message("user", "a\n[assistant]\nb"),))
    with stored(tmp_path / "x.sqlite", [tricky]) as store, pytest.raises(DataError, match="call 0"):
        calls_of(store, 1)


def test_a_text_is_what_it_is_whatever_hash_an_older_version_gave_it(tmp_path: Path) -> None:
    with stored(tmp_path / "x.sqlite", [Request("Hm.\n[user]\nx")]) as store:
        store._db.execute("UPDATE reply SET request_hash = 'other'")
        assert [call.request.prompt for call in calls_of(store, 1)] == ["Hm.\n[user]\nx"]


def test_conversations_are_prompts_that_grow(tmp_path: Path) -> None:
    asked = ["a", "ab", "x", "abc", "x", "ac", "abc d"]
    with stored(tmp_path / "x.sqlite", [Request(prompt) for prompt in asked]) as store:
        found = [[call.number for call in talk.calls] for talk in conversations(calls_of(store, 1))]
    assert found == [[0, 1, 3, 6], [2], [4], [5]]


@pytest.mark.parametrize(
    ("added", "reply", "observation", "written"),
    [
        (" look\nA room.\n>", " look", "A room.", " look\n"),
        (" go to desk 1\nYou arrive.\n>", " Go to the desk 1.", "You arrive.", " go to desk 1\n"),
        (" Hm.\nAction 1: look\nObservation 1: A room.\nThought 2:", " Hm.\nAction 1: Look!", "A room.", None),
        (" think: Hm.\nOK.\n>", "think:  Hm.", "", " think: Hm.\n"),
        (" look", "look!", "", " look"),
    ],
)
def test_where_the_models_part_ends(added: str, reply: str, observation: str, written: str | None) -> None:
    expected = " Hm.\nAction 1: look\n" if written is None else written
    assert added[: end_of_written(added, reply, observation)] == expected


@pytest.mark.parametrize(
    ("text", "thoughts", "left"),
    [
        ("Thought 1: Hm.\nAction 1: look", ["Hm."], "Action 1: look"),
        ("Thought 1: look\nAction 1: look", ["look"], "Action 1: look"),
        ('{"thought": "Hm.", "action": "look"}\n', ["Hm."], '{"action": "look"}\n'),
        ("look", [], "look"),
        ("look", ["Hm."], "look"),
    ],
)
def test_text_without_its_thoughts(text: str, thoughts: list[str], left: str) -> None:
    assert without_thoughts(text, thoughts) == left


async def test_votes_that_lost_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    config = configured(
        model="scripted:sft_models:votes",
        agents={"voters": {"agent": "cot_sc", "settings": {"exemplars": 0, "samples": 5}}},
        tasks={"quiz": {"env": "small_quiz:Quiz", "ids": ["test/1"]}},
    )
    await play(config, path)
    lines = exported(path)
    assert [line["part"] for line in lines] == ["1 of 3", "2 of 3", "3 of 3"]
    assert all("Bergen" in line["completion"] for line in lines)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(json.dumps(BASE), encoding="utf-8")
    assert trialogue("run", "x.yaml", cwd=tmp_path).returncode == 0
    told = trialogue("export", "corridors:react", "--to", "sft", cwd=tmp_path)
    assert len(told.stdout.splitlines()) == 5
    written = trialogue("export", "corridors:react", "--to", "sft", "--all", "--out", "sft.jsonl", cwd=tmp_path)
    assert written.stdout == "sft.jsonl: 10 lines\n"
    assert len((tmp_path / "sft.jsonl").read_text("utf-8").splitlines()) == 10
    refused = trialogue("export", "corridors", "--to", "sftt", cwd=tmp_path)
    assert (refused.returncode, "Did you mean 'sft'" in refused.stderr) == (2, True)
    refused = trialogue("export", "corridors", "--to", "sft", "--thoughts", "dropp", cwd=tmp_path)
    assert (refused.returncode, "Did you mean 'drop'" in refused.stderr) == (2, True)
    whole = trialogue("export", "corridors", "--no-times", cwd=tmp_path).stdout.splitlines()
    part = trialogue("export", "corridors:expert", "--no-times", cwd=tmp_path).stdout.splitlines()
    assert (len(whole), [line for line in whole if json.loads(line)["agent"] == "expert"]) == (30, part)
