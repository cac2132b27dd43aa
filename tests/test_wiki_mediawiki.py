"""The MediaWiki source, against a small wiki served on this machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from trialogue.envs import make
from trialogue.envs.wiki.browser import Browser
from trialogue.envs.wiki.mediawiki import MediaWiki
from trialogue.envs.wiki.sources import open_source
from trialogue.errors import EnvError, UsageError

ODD = r"The path C:\users\new and the token \u00e9 appear; so does café."
EXTRACTS = {
    "Ada Lovelace": (
        "Ada Lovelace was a mathematician. She wrote notes.\n\n\n== Life ==\n\n=== Youth ===\nShe was born in London.\n"
        "The sum {\\displaystyle x}\n== Notes ==\nA note.\n=== Finer notes ===\nA finer note.\n"
        "== Legacy ==\nA prize bears her name.\n== References ==\nSmith 1990."
    ),
    "Odd": ODD,
    "Empty": "",
    "User:Ann": "Ann edits.",
}
REDIRECTS = {"Countess of Lovelace": "Ada Lovelace"}
DISAMBIGUATIONS = {"Ada"}


class Wiki(ThreadingHTTPServer):
    """Answers as MediaWiki does; ``troubles`` are (status, headers, body) to be given first, one each."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, str]] = []
        self.agents: list[str] = []
        self.times: list[float] = []
        self.troubles: list[tuple[int, dict[str, str], str]] = []

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/w/api.php"

    def answer(self, asked: dict[str, str]) -> dict[str, Any]:
        if asked.get("list") == "search":
            words = asked["srsearch"].split()
            titles = [t for t in sorted({*EXTRACTS, *DISAMBIGUATIONS}) if any(w in t for w in words)]
            return {"query": {"search": [{"ns": 0, "title": title} for title in titles]}}
        title = REDIRECTS.get(asked["titles"], asked["titles"])
        if title in DISAMBIGUATIONS:
            page: dict[str, Any] = {"title": title, "extract": "Ada may refer to:", "pageprops": {"disambiguation": ""}}
        elif title in EXTRACTS:
            page = {"ns": 2 if title.startswith("User:") else 0, "title": title, "extract": EXTRACTS[title]}
        else:
            page = {"title": title, "invalid": True} if "<" in title else {"title": title, "missing": True}
        return {"query": {"pages": [page]}}


class Handler(BaseHTTPRequestHandler):
    server: Wiki

    def do_GET(self) -> None:
        asked = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(asked)
        self.server.agents.append(self.headers["User-Agent"])
        self.server.times.append(time.monotonic())
        trouble = self.server.troubles.pop(0) if self.server.troubles else None
        status, headers, body = trouble or (200, {}, json.dumps(self.server.answer(asked)))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body.encode())), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the tests look at what was asked."""


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    server = Wiki()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def source(wiki: Wiki, tmp_path: Path) -> MediaWiki:
    return MediaWiki(wiki.api, cache=tmp_path / "cache", interval=0.0)


NOW = {"Retry-After": "0"}


def test_a_page_is_its_prose(source: MediaWiki) -> None:
    page = source.page("Ada Lovelace")
    assert page is not None
    assert page.sentences == (
        "Ada Lovelace was a mathematician.",
        "She wrote notes.",
        "She was born in London.",
        "A prize bears her name.",
    )


def test_redirects_are_followed_by_the_wiki(source: MediaWiki, wiki: Wiki) -> None:
    page = source.page("Countess of Lovelace")
    assert page is not None
    assert page.title == "Ada Lovelace"
    assert wiki.asked[0]["redirects"] == "1"


def test_a_disambiguation_page_is_not_found_and_not_suggested(source: MediaWiki, wiki: Wiki) -> None:
    assert Browser(source).search("Ada") == "Could not find [Ada]. Similar: ['Ada Lovelace']."
    assert len(wiki.asked) == 2


@pytest.mark.parametrize("title", ["Nobody", "Empty", "User:Ann", "a<b", "a|b", " ", "x\x1fy", "\ud800"])
def test_what_is_no_page_is_not_found(source: MediaWiki, title: str) -> None:
    assert source.page(title) is None
    assert Browser(source).search(title).startswith("Could not find [")


def test_odd_text_passes_through_unharmed(source: MediaWiki) -> None:  # QA-09
    assert Browser(source).search("Odd") == ODD


def test_requests_name_the_program_and_give_way(source: MediaWiki, wiki: Wiki) -> None:
    source.page("Odd")
    assert wiki.agents[0].startswith("trialogue/")
    assert wiki.asked[0]["maxlag"] == "5"
    assert (wiki.asked[0]["format"], wiki.asked[0]["action"]) == ("json", "query")


def test_what_is_asked_twice_is_requested_once(source: MediaWiki, wiki: Wiki, tmp_path: Path) -> None:
    first = source.page("Odd")
    again = MediaWiki(wiki.api, cache=tmp_path / "cache", interval=0.0)
    assert (source.page("Odd"), again.page("Odd")) == (first, first)
    assert len(wiki.asked) == 1
    assert not [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".json"]


@pytest.mark.parametrize("damage", ["", "{", "[]", "3"])
def test_a_damaged_cache_entry_is_fetched_again(source: MediaWiki, wiki: Wiki, tmp_path: Path, damage: str) -> None:
    first = source.page("Odd")
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text(damage, encoding="utf-8")
    assert source.page("Odd") == first
    assert len(wiki.asked) == 2


@pytest.mark.parametrize(
    "trouble",
    [
        (429, NOW, "slow down"),
        (503, NOW, ""),
        (200, NOW, json.dumps({"error": {"code": "maxlag", "info": "lagged"}})),
    ],
    ids=["429", "503", "maxlag"],
)
def test_a_busy_wiki_is_asked_again_when_it_says_so(
    source: MediaWiki, wiki: Wiki, trouble: tuple[int, dict[str, str], str]
) -> None:
    wiki.troubles = [trouble, trouble]
    assert source.page("Odd") is not None
    assert len(wiki.asked) == 3


def test_a_wiki_that_stays_busy_is_an_environment_error(source: MediaWiki, wiki: Wiki, tmp_path: Path) -> None:
    wiki.troubles = [(503, NOW, "")] * 4
    with pytest.raises(EnvError, match="no answer in 4 tries; the last: 503"):
        source.page("Odd")
    assert not (tmp_path / "cache").exists()
    assert source.page("Odd") is not None


@pytest.mark.parametrize("body", ["<html>", "[]", '"text"'])
def test_an_answer_that_is_no_object_is_an_environment_error(wiki: Wiki, tmp_path: Path, body: str) -> None:
    wiki.troubles = [(200, {}, body)]
    with pytest.raises(EnvError, match="no answer in 1 tries"):
        MediaWiki(wiki.api, cache=tmp_path, interval=0.0, retries=0).page("Odd")


@pytest.mark.parametrize(
    "trouble",
    [(404, {}, ""), (200, {}, json.dumps({"error": {"code": "badvalue", "info": "no such module"}}))],
    ids=["404", "badvalue"],
)
def test_a_refused_request_is_not_repeated(
    source: MediaWiki, wiki: Wiki, trouble: tuple[int, dict[str, str], str]
) -> None:
    wiki.troubles = [trouble]
    with pytest.raises(EnvError, match="refused a request"):
        source.page("Odd")
    assert len(wiki.asked) == 1


def test_an_unreachable_wiki_is_an_environment_error(tmp_path: Path) -> None:
    with pytest.raises(EnvError, match="no answer in 1 tries"):
        MediaWiki("http://127.0.0.1:9/w/api.php", cache=tmp_path, interval=0.0, retries=0).page("Odd")


def test_requests_are_spaced_over_all_objects_of_one_wiki(wiki: Wiki, tmp_path: Path) -> None:
    for number in range(3):
        MediaWiki(wiki.api, cache=tmp_path, interval=0.1).page(f"Page {number}")
    gaps = [later - sooner for sooner, later in zip(wiki.times, wiki.times[1:], strict=False)]
    assert min(gaps) > 0.09


def test_an_address_must_be_http() -> None:
    with pytest.raises(UsageError, match="starts with http"):
        MediaWiki("file:///etc/passwd")


def test_a_setting_can_name_an_api(wiki: Wiki) -> None:
    assert open_source(wiki.api).fingerprint() == f"live {wiki.api}"
    assert open_source("live").fingerprint() == "live https://en.wikipedia.org/w/api.php"


def test_questions_can_be_asked_of_a_live_wiki(wiki: Wiki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    question = {"_id": "q", "question": "Where was Ada born?", "answer": "London", "type": "bridge"}
    (tmp_path / "dev.json").write_text(json.dumps([question]), encoding="utf-8")
    env = make("hotpotqa", data=tmp_path, pages=wiki.api)
    env.reset(options={"task": "dev/q"})
    assert env.step("search[Ada Lovelace]")[0].startswith("Ada Lovelace was a mathematician.")
    assert env.step("lookup[born]")[0] == "(Result 1 / 1) She was born in London."
    assert env.step("finish[London]")[4]["won"] is True
    assert env.versions()["pages"] == f"live {wiki.api}"
    assert list((tmp_path / "cache" / "trialogue" / "wiki").glob("*.json"))
