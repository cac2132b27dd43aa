"""The viewer: pages, filters, search and labels, over a store whose texts try to break out of them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from html import escape
from pathlib import Path
from typing import Any

import httpx
import pytest
import web_samples
from hypothesis import given
from hypothesis import strategies as st
from synthetic_store import write_store
from web_samples import CONTROL, LONG, QUOTES, SCRIPT, TURNED, Parsed, assert_harmless, play

from trialogue.errors import MissingExtra, UnknownName, UsageError
from trialogue.experiments.failure_tags import KINDS
from trialogue.experiments.labels import add_label
from trialogue.experiments.store import Store
from trialogue.experiments.tagging import tagged
from trialogue.experiments.web import render, server
from trialogue.experiments.web.filters import Filter
from trialogue.experiments.web.listing import Listing
from trialogue.experiments.web.reader import Reader
from trialogue.experiments.web.trajectory import Entry, Trajectory, TurnView, by_step, pair, trajectory

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("web") / "hostile.sqlite")


async def get(path: Path, address: str, *, who: str = "", **options: Any) -> httpx.Response:
    transport = httpx.ASGITransport(server.make_app(path, who))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
        return await client.request(options.pop("method", "GET"), address, **options)


async def page(path: Path, address: str, **options: Any) -> str:
    answer = await get(path, address, **options)
    assert answer.status_code == 200, answer.text
    return answer.text


def listed(text: str) -> list[int]:
    """The episodes of a list, in its order."""
    seen = [int(number) for number in re.findall(r'href="/episode/(\d+)', text)]
    return list(dict.fromkeys(seen))


def ids(path: Path, where: str) -> list[int]:
    with sqlite3.connect(path) as db:
        return [row[0] for row in db.execute(f"SELECT id FROM episode WHERE {where} ORDER BY id")]


# -- lists ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("", "1"),
        ("?run=react/corridor", "run = 2"),
        ("?run=react", "run = 2"),
        ("?type=odd", "type = 'odd'"),
        ("?ending=stuck&run=act", "ending = 'stuck' AND run = 1"),
        ("?ending=env_error", "ending = 'env_error'"),
        ("?won=yes&type=even", "won = 1 AND type = 'even'"),
        ("?won=no", "won = 0"),
    ],
)
async def test_a_list_holds_what_its_address_says(store: Path, query: str, where: str) -> None:
    text = await page(store, f"/{query}")
    assert listed(text) == ids(store, where)
    assert listed(text)
    assert_harmless(text)


async def test_an_address_that_means_nothing_is_answered_with_what_would(store: Path) -> None:
    for query, word in [
        ("?sort=stepz", "steps"),
        ("?tag=repetitions", "repetition"),
        ("?page=0", "page"),
        ("?page=x", "1"),
    ]:
        answer = await get(store, f"/{query}")
        assert answer.status_code == 404
        assert word in answer.text
    assert (await get(store, "/episode/999")).status_code == 404
    assert "1 to 48" in (await get(store, "/episode/999")).text
    assert (await get(store, "/episode/1/prompt/99")).status_code == 404
    for address in ("/compare?a=1", "/episode/x", f"/episode/{10**30}", f"/?page={10**30}", f"/?q={'x' * 60_000}"):
        answer = await get(store, address)
        assert answer.status_code == 404
        assert "expected" in answer.text
    with pytest.raises(UnknownName):
        Filter.parse({"won": "perhaps"})


async def test_lists_are_sorted_and_paged(tmp_path: Path) -> None:
    path = tmp_path / "many.sqlite"
    write_store(path, 240)
    assert listed(await page(path, "/?page=2")) == list(range(51, 101))
    longest = listed(await page(path, "/?sort=-steps&run=act/house"))
    with sqlite3.connect(path) as db:
        order = "SELECT id FROM episode WHERE run = 1 ORDER BY steps DESC, id LIMIT 50"
        assert longest == [row[0] for row in db.execute(order)]
    assert listed(await page(path, "/?page=6")) == []


async def test_search_looks_into_goals_thoughts_actions_and_observations(store: Path) -> None:
    assert listed(await page(store, "/?q=reach room 3")) == ids(store, "goal LIKE '%reach room 3%'")
    thought = listed(await page(store, "/", params={"q": 'x="</pre></details>&lt;b&gt; 100% sure_thing'}))
    assert thought
    assert thought == ids(
        store,
        "id IN (SELECT episode FROM turn, json_each(thoughts) said WHERE said.value LIKE '%sure!_thing' ESCAPE '!')",
    )
    assert listed(await page(store, "/", params={"q": "the very END"})) == ids(
        store, "id IN (SELECT episode FROM step WHERE observation LIKE '%the very end%')"
    )
    assert listed(await page(store, "/?q=go left")) == []
    assert listed(await page(store, "/", params={"q": "s_re_thing"})) == [], "a wildcard of SQL is a character here"
    assert listed(await page(store, "/", params={"q": "100%% sure"})) == []
    found = await page(store, "/", params={"q": SCRIPT[:20]})
    assert f"<mark>{escape(SCRIPT[:20])}</mark>" in found
    assert_harmless(found)


async def test_a_search_that_takes_too_long_says_so(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "many.sqlite"
    write_store(path, 4000)
    with Reader.open(path) as reader:
        found, complete = reader.search(Filter(q="nowhere to be found"), seconds=0)
        assert not complete
        assert len(found) < 4000
        assert reader.search(Filter(q="nowhere to be found"), seconds=60) == ([], True)
        shown = Listing(path, seconds=0).page(reader, Filter(q="You arrive"))
    assert "stopped after 0 seconds" in shown.notes[0]


async def test_tags_in_a_list_are_those_of_the_command(store: Path) -> None:
    with Store.read(store) as read:
        told = {one.episode: {tag.kind for tag in one.tags} for one in tagged(read)}
    with Reader.open(store) as reader:
        shown = Listing(store).page(reader, Filter())
    assert {row["id"]: set(row["tags"]) for row in shown.rows if row["id"] in told} == told
    assert any(told.values())
    kind = next(kind for kind in KINDS if any(kind in kinds for kinds in told.values()))
    assert listed(await page(store, f"/?tag={kind}")) == sorted(id for id, kinds in told.items() if kind in kinds)


def test_a_search_is_made_once_until_the_store_changes(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(store, tmp_path / "copy.sqlite"))
    listing, made = Listing(path), list[str]()
    search = Reader.search

    def counted(self: Reader, chosen: Filter, seconds: float) -> tuple[list[int], bool]:
        made.append(chosen.q)
        return search(self, chosen, seconds)

    def look(page: int = 1, sort: str = "id") -> int:
        with Reader.open(path) as reader:
            return listing.page(reader, Filter(q="room 3", page=page, sort=sort)).total

    monkeypatch.setattr(Reader, "search", counted)
    total = look()
    assert [look(page=2), look(sort="-steps"), look()] == [total] * 3
    assert len(made) == 1
    with Store.resume(path) as writer:
        writer.describe_episode(2, goal="room 3", dialect="", observation="")
        assert look() == total + (2 not in ids(path, "goal LIKE '%room 3%' AND id != 2"))
        assert len(made) == 2


def test_tags_are_told_piece_by_piece_and_again_when_an_episode_was_played_again(tmp_path: Path) -> None:
    path = tmp_path / "many.sqlite"
    write_store(path, 1000)
    listing = Listing(path, seconds=0)
    with Reader.open(path) as reader:
        first = listing.page(reader, Filter(tag="repetition"))
        assert "So far" in first.notes[0]
        while (later := listing.page(reader, Filter(tag="repetition"))).notes:
            assert later.total >= first.total
        whole = listing.page(reader, Filter(tag="repetition"))
        assert whole.total == len(ids(path, "ending = 'stuck'"))
        stuck = whole.rows[0]["id"]
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM step WHERE episode = ?", (stuck,))
        db.execute("UPDATE episode SET started = started + 1 WHERE id = ?", (stuck,))
    with Reader.open(path) as reader:
        assert Listing(path).page(reader, Filter(tag="repetition")).total == whole.total - 1
        listing = Listing(path)
        assert listing.page(reader, Filter(tag="repetition")).total == whole.total - 1


# -- trajectories -----------------------------------------------------------------------------------------


async def test_texts_of_models_and_environments_stay_texts(store: Path) -> None:
    [react] = ids(store, "run = 2 AND task = 'test/6' AND trial = 0")
    [expert] = ids(store, "run = 4 AND task = 'test/5' AND trial = 0")
    told = assert_harmless(await page(store, f"/episode/{react}")).text
    assert SCRIPT in told
    assert QUOTES in told
    assert "\\x1b[31mred\\x07 \\x00 end" in told
    assert "abc \\x202egnp.exe\\x202c שלום عالم" in told
    assert LONG in assert_harmless(await page(store, f"/episode/{expert}")).text, "a long observation is there, whole"
    for address in (f"/episode/{react}?prompts=1", f"/episode/{react}/prompt/1", f"/compare?a={react}&b={expert}"):
        assert SCRIPT in assert_harmless(await page(store, address)).text
    assert CONTROL not in told
    assert TURNED not in told


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_can_be_read_off_a_page_as_it_is_made_visible(text: str) -> None:
    made = render.render("message.html", feature="x", extra="view", message=text)
    assert_harmless(made)
    assert render.visible(text) in Parsed(made).text


async def test_every_page_forbids_scripts_and_is_answered_only_under_its_own_name(store: Path) -> None:
    for address in ("/", "/episode/1", "/compare?a=1&b=2", "/style.css", "/episode/999"):
        answer = await get(store, address)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "script-src" not in answer.headers["content-security-policy"]
    assert (await get(store, "/", headers={"host": "evil.example"})).status_code == 400
    assert (await get(store, "/", headers={"host": "localhost:8765"})).status_code == 200


async def test_a_trajectory_tells_its_parts_apart_by_letters_too(store: Path) -> None:
    [react] = ids(store, "run = 2 AND task = 'test/2' AND trial = 0")
    parsed = Parsed(await page(store, f"/episode/{react}"))
    marked = {
        (given.get("title"), given.get("class")) for name, given in parsed.tags if name == "span" and "title" in given
    }
    assert {"thought", "action", "observation", "repair"} <= {title for title, _ in marked}
    with Reader.open(store) as reader:
        told = trajectory(reader, react)
    kinds = [(entry.kind, entry.mark) for turn in told.turns for entry in turn.entries]
    assert ("thought", "T") in kinds
    assert ("repair", "R") in kinds
    assert [turn.step for turn in told.turns] == [None, 1, 2]


async def test_lessons_and_memory_are_shown(store: Path) -> None:
    [first] = ids(store, "run = 3 AND task = 'test/1' AND trial = 0")
    [second] = ids(store, "run = 3 AND task = 'test/1' AND trial = 1")
    with Reader.open(store) as reader:
        assert "lesson" in {entry.kind for entry in trajectory(reader, first).closing}
        told = trajectory(reader, second)
    memory = [entry for turn in told.turns for entry in turn.entries if entry.kind == "memory"]
    assert [re.fullmatch("[0-9a-f]{12}", entry.text) is not None for entry in memory] == [True]


async def test_prompts_are_shown_when_asked_for(store: Path) -> None:
    [react] = ids(store, "run = 2 AND task = 'test/2' AND trial = 0")
    with Store.read(store) as read:
        prompts = read.prompts(react)
    with Reader.open(store) as reader:
        assert not [e for t in trajectory(reader, react).turns for e in t.entries if e.kind == "prompt"]
        told = [e for t in trajectory(reader, react, prompts=True).turns for e in t.entries if e.kind == "prompt"]
    assert [entry.label for entry in told] == [f"call {call}" for call in prompts]
    assert "".join(entry.text for entry in told) == prompts[max(prompts)]
    whole = Parsed(await page(store, f"/episode/{react}/prompt/1")).text
    assert render.visible(prompts[0]) in whole


async def test_previous_and_next_keep_to_the_list(store: Path) -> None:
    stuck = ids(store, "ending = 'stuck'")
    text = await page(store, f"/episode/{stuck[1]}?ending=stuck")
    assert re.findall(r'href="/episode/(\d+)\?ending=stuck" rel="(\w+)"', text) == [
        (str(stuck[0]), "prev"),
        (str(stuck[2]), "next"),
    ]
    assert f"2 of {len(stuck)} in this list" in text
    backwards = await page(store, f"/episode/{stuck[1]}?ending=stuck&sort=-id")
    assert re.search(rf'href="/episode/{stuck[0]}\?[^"]*" rel="next"', backwards)
    assert "not in this list" in await page(store, f"/episode/{stuck[1]}?ending=solved")


# -- side by side -----------------------------------------------------------------------------------------


def turns(*done: tuple[str, str] | None) -> Trajectory:
    """A trajectory of actions and observations; None stands for a turn of a thought alone."""
    views, step = [], 0
    for number, one in enumerate(done):
        step += one is not None
        entries = (Entry("thought", "hm"),) if one is None else (Entry("action", one[0]), Entry("observation", one[1]))
        views.append(TurnView(number, None if one is None else step, range(0), entries))
    return Trajectory({}, tuple(views), (), ())


A, B, C = ("look", "a room"), ("go", "a hall"), ("look", "a fire")


@pytest.mark.parametrize(
    ("left", "right", "parting", "why"),
    [
        ((A, B), (A, B), None, ""),
        ((A, B), (A, C), 1, "different actions"),
        ((A,), (C,), 0, "the same action, answered differently"),
        ((A, B), (A,), 1, "only one of them acts"),
        ((None, A, None, B), (A, None, None, B), None, ""),
        ((), (A,), 0, "only one of them acts"),
        ((), (), None, ""),
    ],
)
def test_the_first_step_in_which_two_episodes_part(left: Any, right: Any, parting: int | None, why: str) -> None:
    found = pair(turns(*left), turns(*right))
    assert (found.parting, found.why) == (parting, why)


def test_thoughts_stand_with_the_step_that_follows_them() -> None:
    groups = by_step(turns(None, A, None, None, B, None).turns)
    assert [[turn.number for turn in group] for group in groups] == [[0, 1], [2, 3, 4], [5]]


async def test_two_agents_stand_side_by_side(store: Path) -> None:
    react, expert = ids(store, "run IN (2, 4) AND task = 'test/4' AND trial = 0")
    both = await page(store, f"/compare?a={react}&b={expert}")
    assert "Their actions and observations are the same throughout" in both
    lost, walked = ids(store, "run IN (2, 4) AND task = 'test/3' AND trial = 0")
    parted = await page(store, f"/compare?a={lost}&b={walked}")
    assert parted.count('id="parting"') == 1
    assert "They part here: different actions" in parted
    assert f'href="/compare?a={lost}&amp;b={walked}"' in await page(store, f"/episode/{lost}")
    assert "not the same task" in await page(store, f"/compare?a={lost}&b={expert}")


async def test_a_fork_stands_beside_its_parent(store: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(store, tmp_path / "copy.sqlite"))
    [parent] = ids(path, "run = 2 AND task = 'test/3' AND trial = 0")
    with Store.resume(path) as writer:
        fork = writer.add_fork(parent, "react/corridor#fork-1", {"step": 2, "action": SCRIPT}, 1)
    assert f"fork of {parent}" in await page(path, "/?run=react/corridor%23fork-1")
    text = assert_harmless(await page(path, f"/episode/{fork}")).text
    assert SCRIPT in text
    assert f"A fork of episode {parent}" in text
    assert f"/compare?a={parent}&amp;b={fork}" in await page(path, f"/episode/{parent}")
    assert "not played yet" in await page(path, f"/compare?a={parent}&b={fork}")


# -- writing ----------------------------------------------------------------------------------------------


async def test_looking_changes_nothing(store: Path) -> None:
    before = store.read_bytes()
    for address in ("/", "/?tag=repetition&q=room", "/episode/5?prompts=1", "/compare?a=1&b=2"):
        await page(store, address)
    assert store.read_bytes() == before
    with Reader.open(store) as reader, pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.start_episode(1)


async def test_pages_follow_a_run_that_is_being_written(store: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(store, tmp_path / "copy.sqlite"))
    with Store.resume(path) as writer:
        assert "env_error" in await page(path, "/?ending=env_error")
        count = writer.reopen(["env_error"])
        assert listed(await page(path, "/?ending=env_error")) == []
        assert len(listed(await page(path, "/?ending=open"))) == count
        assert "Not finished" in await page(path, f"/episode/{ids(path, 'ending IS NULL')[0]}")


async def test_people_label_episodes_where_somebody_is_named(store: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(store, tmp_path / "copy.sqlite"))
    [episode] = ids(path, "run = 1 AND task = 'test/3' AND trial = 0")
    posted = {"label": "repetition", "note": SCRIPT}
    address = f"/episode/{episode}/label?ending=stuck"
    assert 'method="post"' not in await page(path, f"/episode/{episode}")
    assert (await get(path, address, method="POST", data=posted)).status_code == 403

    blind = await page(path, f"/episode/{episode}", who="Ada")
    assert "not shown before you have said" in blind
    assert '<span class="tag"' not in await page(path, "/", who="Ada")
    answer = await get(
        path, address, who="Ada", method="POST", data=posted, headers={"origin": "http://127.0.0.1:8765"}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, f"/episode/{episode}?ending=stuck")
    shown = await page(path, f"/episode/{episode}", who="Ada")
    assert "not shown before you have said" not in shown
    assert SCRIPT in assert_harmless(shown).text
    with Reader.open(path) as reader:
        [row] = reader.labels_of(episode)
    assert (row["label"], row["who"], row["note"]) == ("repetition", "Ada", SCRIPT)

    foreign = await get(path, address, who="Ada", method="POST", data=posted, headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403
    assert (await get(path, address, who="Ada", method="POST", data={"label": "<b>"})).status_code == 400
    assert (
        await get(path, address, who="Ada", method="POST", data={"label": "x", "note": "y" * 30_000})
    ).status_code == 413
    near = await get(path, address, who="Ada", method="POST", data={"label": "repetitions"})
    assert "did you mean" in await page(path, near.headers["location"], who="Ada")
    for label in ("repetition", "repetitions"):
        gone = await get(path, address, who="Ada", method="POST", data={"label": label, "remove": "1"})
        assert gone.status_code == 303
    with Reader.open(path) as reader:
        assert reader.labels_of(episode) == []


async def test_labels_of_others_are_shown_but_not_to_be_taken_back(store: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(store, tmp_path / "copy.sqlite"))
    add_label(path, 1, "my own word", "Grace", "a note")
    text = await page(path, "/episode/1", who="Ada")
    assert "my own word" in text
    assert "take back" not in text


# -- the command ------------------------------------------------------------------------------------------


def test_the_command_serves_until_it_is_interrupted(store: Path) -> None:
    command = [sys.executable, "-m", "trialogue.experiments.cli", "view", f"{store}:react", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(HERE)}
    ) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?run=react", told)
        assert found, told
        with urllib.request.urlopen(found[0], timeout=30) as answer:
            assert listed(answer.read().decode()) == ids(store, "run = 2")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="--port"):
            server.serve(store, "", port=taken.getsockname()[1], who="", ready=print)


@pytest.mark.parametrize("missing", ["uvicorn", "starlette.applications", "jinja2"])
def test_a_missing_extra_says_how_to_get_it(store: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    render._environment.cache_clear()
    with pytest.raises(MissingExtra, match=r"trialogue\[view\]"):
        server.serve(store, "", port=0, who="", ready=print)


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, trialogue.experiments.cli, trialogue.experiments.web.server, trialogue.experiments.web.document\n"
        "print({'jinja2', 'starlette', 'uvicorn', 'matplotlib'} & set(sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


@pytest.mark.slow
async def test_a_hundred_thousand_episodes_are_listed_within_a_second(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    write_store(path, 100_000)
    for address in ("/", "/?ending=stuck&run=react/house&page=100", "/?sort=-steps", "/episode/50001"):
        took = []
        for _ in range(3):
            begun = time.perf_counter()
            await page(path, address)
            took.append(time.perf_counter() - begun)
        assert min(took) < 1, address


def test_the_samples_are_what_they_are_for(store: Path) -> None:
    """A run of the real runner, with every kind of ending and text that these tests lean on."""
    assert web_samples.CONFIG["trials"] == 2
    assert ids(store, "ending = 'env_error'")
    assert ids(store, "ending = 'solved_earlier'")
    assert ids(store, "goal LIKE '%<script>%'")
