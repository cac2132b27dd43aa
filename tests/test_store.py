"""The store: what goes in comes out, and stores of the older schema are brought to today's."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_runner import BASE, records

from trialogue.agents import Lesson, Turn
from trialogue.agents.models import request_hash
from trialogue.agents.models.contract import Message, Reply, Request, Tool, ToolCall, Usage
from trialogue.errors import DataError, UsageError
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.records import EpisodePlan, RunPlan
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store
from trialogue.experiments.store_file import SCHEMA

SCHEMA_1 = Path(__file__).with_name("schema_1.sql")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    runs, episodes = [RunPlan(1, "a/t", "a", "t")], [EpisodePlan(n + 1, 1, "x/1", 0, "y", "x", 0, n) for n in range(3)]
    with Store.create(tmp_path / "new.sqlite", name="new", config={}, runs=runs, episodes=episodes) as made:
        yield made


def add(store: Store, call: int, prompt: str | tuple[Message, ...], text: str = "") -> None:
    request = Request(prompt)
    store.add_reply(1, call, request, request_hash(request), Reply(text or f"reply {call}"))


def test_prompts_come_back_whole_whatever_the_order_and_the_gaps(store: Store) -> None:
    told = {0: "a", 1: "ab", 3: "abc", 6: "abcd x", 5: "abcd", 4: "abX", 7: "abcd x y"}
    for call, prompt in told.items():
        add(store, call, prompt)
    assert store.prompts(1) == dict(sorted(told.items()))
    assert list(store.prompts(1)) == [0, 1, 3, 4, 5, 6, 7]
    assert {call: reply.text for call, (_, reply) in store.replies(1).items()} == {
        c: f"reply {c}" for c in sorted(told)
    }
    store.drop_replies(1, 5)
    add(store, 5, "abXY")
    assert store.prompts(1) == {0: "a", 1: "ab", 3: "abc", 4: "abX", 5: "abXY"}


def test_tool_calls_turns_and_lessons_come_back(store: Store) -> None:
    calls = (ToolCall("c1", "act", '{"command": "look'), ToolCall("c2", "act", "{}"))
    messages = (Message("assistant", "I look.", calls[:1]), Message("tool", "A room.", call_id="c1"))
    request = Request(messages, tools=(Tool("act", "do it", ("command",)),))
    store.add_reply(1, 0, request, request_hash(request), Reply("", "tool_calls", Usage(3, 2, 1), 0.5, 1, 2.0, calls))
    assert store.replies(1)[0] == (
        request_hash(request),
        Reply("", "tool_calls", Usage(3, 2, 1), 0.5, 1, 2.0, calls),
    )
    assert store.prompts(1)[0] == '[assistant]\nI look.\ncall c1: act {"command": "look\n[tool c1]\nA room.\n'
    store.add_turn(1, 0, 1, Turn("thought", memory="0123456789ab", notes=("3 of 5 votes", "π")))
    [turn] = store.turns(1)
    assert (turn["memory"], json.loads(turn["notes"])) == ("0123456789ab", ["3 of 5 votes", "π"])
    lessons = [Lesson(0, "go right", "> left"), Lesson(1, "", "> look")]
    for episode, lesson in enumerate(lessons, start=1):
        store.set_lesson(episode, lesson)
    assert [store.lessons(episode) for episode in (1, 2, 3)] == [(), (lessons[0],), tuple(lessons)]
    exported = [json.loads(line) for line in export_jsonl(store)]
    assert exported[0]["lesson"] == {"trial": 0, "reflection": "go right", "attempt": "> left"}
    assert exported[2]["lesson"] is None
    assert exported[0]["turns_list"][0]["notes"] == ["3 of 5 votes", "π"]
    assert exported[0]["replies"][0]["calls"][1] == {"id": "c2", "name": "act", "arguments": "{}"}
    store.start_episode(1)
    assert (store.lessons(2), store.turns(1)) == ((), [])


@pytest.fixture
async def old(tmp_path: Path) -> Path:
    """A store of schema 1 in which half of an experiment was played, as its version left it; today's is beside it."""
    from trialogue.experiments.config import parse_config

    new, old = tmp_path / "today.sqlite", tmp_path / "old.sqlite"
    with open_store(parse_config(BASE), new) as store:
        await run_experiment(parse_config(BASE), store)
    with sqlite3.connect(old) as db:
        db.executescript(SCHEMA_1.read_text("utf-8"))
        db.execute("ATTACH ? AS today", (str(new),))
        for table in ("meta", "run", "episode", "reply", "turn", "step"):
            names = ",".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM today.{table}")
        db.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
        db.execute("UPDATE episode SET ending = NULL, won = NULL WHERE id > 15")
    return old


def columns(path: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(path) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: db.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}


def schema(path: Path) -> str:
    with sqlite3.connect(path) as db:
        return str(db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()[0])


def prompts(path: Path) -> list[dict[int, str]]:
    with Store.read(path) as store:
        return [store.prompts(row["id"]) for row in store.episodes()]


async def test_a_store_of_schema_1_is_read_with_everything_in_it(old: Path) -> None:
    today = old.with_name("today.sqlite")
    assert prompts(old) == prompts(today)
    assert (schema(old), columns(old)) == (SCHEMA, columns(today))
    done = [row for row in records(old) if row["ending"] is not None]
    assert done == records(today)[:15]
    assert not old.with_name("old.sqlite-journal").exists()


async def test_a_store_of_schema_1_is_resumed_without_asking_again(old: Path) -> None:
    from trialogue.experiments.config import parse_config

    with sqlite3.connect(old) as db:
        before = set(db.execute("SELECT episode, call, request_hash, text FROM reply"))
    with open_store(parse_config(BASE), old) as store:
        await run_experiment(parse_config(BASE), store)
    with sqlite3.connect(old) as db:
        assert before <= set(db.execute("SELECT episode, call, request_hash, text FROM reply"))
    assert records(old) == records(old.with_name("today.sqlite"))


async def test_an_old_store_that_a_process_writes_is_left_to_it(old: Path) -> None:
    from trialogue.experiments.store_file import lock

    with lock(old), pytest.raises(UsageError, match=r"older schema 1 .* being written by another process"):
        Store.read(old)
    assert schema(old) == "1"
    Store.read(old).close()
    assert schema(old) == SCHEMA


async def test_a_migration_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialogue.experiments import store_file

    steps = {"1": (*store_file.MIGRATIONS["1"][:-1], "ALTER TABLE nowhere ADD COLUMN x")}
    monkeypatch.setattr(store_file, "MIGRATIONS", steps)
    before = columns(old)
    with pytest.raises(UsageError, match="nothing was changed: no such table: nowhere"):
        Store.resume(old)
    assert (schema(old), columns(old)) == ("1", before)
    monkeypatch.undo()
    Store.resume(old).close()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("4", f"schema 4, of a newer version of Trialogue; this one reads up to {SCHEMA}: update it"),
        ("0", "schema '0', which no version"),
        ("two", "schema 'two', which no version"),
        (None, "names no schema"),
    ],
)
def test_other_schemas_are_refused_with_the_reason(store: Store, value: str | None, message: str) -> None:
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("DELETE FROM meta WHERE key = 'schema'")
        if value is not None:
            db.execute("INSERT INTO meta VALUES ('schema', ?)", (value,))
    for open_ in (Store.read, Store.resume):
        with pytest.raises(DataError, match=message):
            open_(store.path)


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, which may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_what_cannot_be_written_is_read_if_it_is_of_today_and_refused_clearly_if_not(old: Path) -> None:
    expected = prompts(old.with_name("today.sqlite"))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copies = [place / name for name in ("old.sqlite", "today.sqlite")]
        for copy in copies:
            copy.write_bytes(old.with_name(copy.name).read_bytes())
            copy.chmod(0o444)
        place.chmod(0o555)
        with nobody():
            with pytest.raises(UsageError, match=r"older schema 1 .* cannot be written: copy it"):
                Store.read(copies[0])
            assert prompts(copies[1]) == expected
            with pytest.raises(UsageError, match=r"today.sqlite cannot be written: Permission denied"):
                Store.resume(copies[1])
        place.chmod(0o755)
