"""Fetching task sets, against a server of our own: resuming, checksums, errors, and what is said without a network."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from test_cli import trialogue

from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.experiments import data, download
from trialogue.experiments.download import fetch

BODY = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves ``body`` at every path but /missing; ``cuts`` are after how many bytes the next connections are cut."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = BODY
        self.tag: str | None = '"one"'
        self.cuts: list[int] = []
        self.busy = 0
        self.asked: list[tuple[str, str | None]] = []
        self.ranges = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append((self.path, wanted))
        if server.busy:
            server.busy -= 1
            return self.send_error(503)
        if self.path == "/missing":
            return self.send_error(404)
        start = 0
        if wanted and server.ranges and self.headers.get("If-Range") == server.tag:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1))  # type: ignore[union-attr]
            if start >= len(server.body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(server.body)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        else:
            self.send_response(200)
        if server.tag:
            self.send_header("ETag", server.tag)
        self.send_header("Content-Length", str(len(server.body) - start))
        self.end_headers()
        end = start + server.cuts.pop(0) if server.cuts else len(server.body)
        self.wfile.write(server.body[start:end])
        return None

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE_S", 0.0)
    with Server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def test_a_file_is_fetched_once_and_progress_is_told(server: Server, tmp_path: Path) -> None:
    target, told = tmp_path / "new" / "set.json", []
    for _ in range(2):
        fetch(f"{server.url}/set", target, sha256=SHA256, progress=lambda *now: told.append(now))
    assert target.read_bytes() == BODY
    assert told[-1] == ("set.json", len(BODY), len(BODY))
    assert len(server.asked) == 1
    assert [path.name for path in target.parent.iterdir()] == ["set.json"]


def test_a_connection_that_is_cut_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    server.cuts = [1000, 200_000, 0, 0]
    fetch(f"{server.url}/set", tmp_path / "set", sha256=SHA256)
    assert (tmp_path / "set").read_bytes() == BODY
    starts = [wanted for _, wanted in server.asked]
    assert starts == [None, "bytes=1000-", "bytes=201000-", "bytes=201000-", "bytes=201000-"]


def test_a_later_command_goes_on_where_an_earlier_one_gave_up(server: Server, tmp_path: Path) -> None:
    server.cuts = [1000, 0, 0, 0]
    with pytest.raises(DataError, match=r"cut at 1000 of 512000 bytes; 1000 bytes are kept in set\.part"):
        fetch(f"{server.url}/set", tmp_path / "set")
    assert not (tmp_path / "set").exists()
    server.asked.clear()
    fetch(f"{server.url}/set", tmp_path / "set", sha256=SHA256)
    assert server.asked == [("/set", "bytes=1000-")]


def test_the_rest_of_another_version_is_never_appended(server: Server, tmp_path: Path) -> None:
    server.cuts = [1000, 0, 0, 0]
    with pytest.raises(DataError):
        fetch(f"{server.url}/set", tmp_path / "set")
    server.body, server.tag = BODY[::-1], '"two"'
    fetch(f"{server.url}/set", tmp_path / "set")
    assert (tmp_path / "set").read_bytes() == BODY[::-1]


@pytest.mark.parametrize(("tag", "ranges"), [(None, True), ('W/"weak"', True), ('"one"', False)])
def test_without_a_tag_or_ranges_it_begins_again(server: Server, tmp_path: Path, tag: str | None, ranges: bool) -> None:
    server.tag, server.ranges, server.cuts = tag, ranges, [1000]
    fetch(f"{server.url}/set", tmp_path / "set", sha256=SHA256)
    assert (tmp_path / "set").read_bytes() == BODY


def test_everything_was_there_but_the_name(server: Server, tmp_path: Path) -> None:
    """Killed between the last byte and the renaming."""
    (tmp_path / "set.part").write_bytes(BODY)
    (tmp_path / "set.part.tag").write_text('"one"', encoding="utf-8")
    fetch(f"{server.url}/set", tmp_path / "set", sha256=SHA256)
    assert (tmp_path / "set").read_bytes() == BODY


def test_more_than_everything_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "set.part").write_bytes(BODY + b"x")
    (tmp_path / "set.part.tag").write_text('"one"', encoding="utf-8")
    fetch(f"{server.url}/set", tmp_path / "set", sha256=SHA256)
    assert (tmp_path / "set").read_bytes() == BODY


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"expected the SHA-256 {'0' * 64}, got {SHA256}"):
        fetch(f"{server.url}/set", tmp_path / "set", sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="/missing: the server answers 404"):
        fetch(f"{server.url}/missing", tmp_path / "set")
    assert len(server.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.busy = 2
    fetch(f"{server.url}/set", tmp_path / "set", sha256=SHA256)
    server.busy = 3
    with pytest.raises(DataError, match="answers 503"):
        fetch(f"{server.url}/set", tmp_path / "other")


def test_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE_S", 0.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DataError, match="no connection"):
        fetch(f"{address}/set", tmp_path / "set")


def test_other_addresses_and_places_are_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="begins with http"):
        fetch("file:///etc/passwd", tmp_path / "set")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write"):
        fetch(f"{server.url}/set", tmp_path / "file" / "set")


def test_a_set_that_cannot_be_fetched_says_what_to_do_by_hand(server: Server, tmp_path: Path) -> None:
    server.busy = 10
    with pytest.raises(DataError, match="answers 503") as caught:
        data.obtain(data.find("hotpotqa"), tmp_path, server.url)
    assert f"put these into {tmp_path}" in str(caught.value)
    assert "hotpot_dev_distractor_v1.json  from http://curtis.ml.cmu.edu/" in str(caught.value)
    assert "HOTPOTQA_DATA" in str(caught.value)


def test_a_set_is_obtained_from_a_mirror(server: Server, tmp_path: Path) -> None:
    answer = data.obtain(data.find("webshop"), tmp_path, server.url)
    assert f"set TRIALOGUE_WEBSHOP_DATA={tmp_path}" in answer
    assert sorted(path for path, _ in server.asked) == [
        "/items_human_ins.json",
        "/items_ins_v2_1000.json",
        "/items_shuffle_1000.json",
    ]


def test_the_command_shows_sizes_and_says_what_to_do_by_hand(server: Server, tmp_path: Path) -> None:
    got = trialogue("data", "fever", "--to", "there", "--mirror", server.url, cwd=tmp_path, no_proxy="127.0.0.1")
    assert (got.returncode, "paper_dev.jsonl: 512.0 kB of 512.0 kB" in got.stderr) == (0, True)
    assert (tmp_path / "there" / "paper_dev.jsonl").read_bytes() == BODY
    by_hand = trialogue("data", "webshop", "--to", "shop", cwd=tmp_path)
    assert by_hand.returncode == 1
    assert "items_ins_v2_1000.json" in by_hand.stderr
    assert "TRIALOGUE_WEBSHOP_DATA=shop" in by_hand.stderr


def test_the_list_says_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paper_dev.jsonl").write_bytes(b"x" * 1234)
    (tmp_path / "items_shuffle_1000.json").touch()
    monkeypatch.setenv("FEVER_DATA", str(tmp_path / "paper_dev.jsonl"))
    monkeypatch.setenv("TRIALOGUE_WEBSHOP_DATA", str(tmp_path))
    monkeypatch.setenv("HOTPOTQA_DATA", str(tmp_path / "nowhere"))
    assert data.find("fever").state() == f"{tmp_path} (1.2 kB)"
    assert data.find("webshop").state() == f"{tmp_path} lacks items_ins_v2_1000.json, items_human_ins.json"
    assert data.find("hotpotqa").state() == f"not in {tmp_path / 'nowhere'}"
    listed = trialogue("data", cwd=tmp_path)
    assert (listed.returncode, "TRIALOGUE_WEBSHOP_DATA" in listed.stdout) == (0, True)
    with pytest.raises(UnknownName, match="Did you mean 'fever'"):
        data.find("fevre")


SIZES = {0: "0 B", 999: "999 B", 46_320_117: "46.3 MB", 2 * 10**12: "2000.0 GB", None: "an unknown size"}


@pytest.mark.parametrize("count", SIZES)
def test_sizes_are_for_people(count: int | None) -> None:
    assert data.size(count) == SIZES[count]


def test_another_package_fetches_alfworlds_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told the folder; what it left half-done is not taken for the set."""
    program = tmp_path / "alfworld-download"
    program.write_text('#!/bin/sh\nmkdir -p "$ALFWORLD_DATA/json_2.1.1"\nexit ${FAIL:-0}\n', encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(data.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("FAIL", "3")
    games, folder = data.find("alfworld"), tmp_path / "games"
    with pytest.raises(DataError, match="failed with exit code 3"):
        data.obtain(games, folder)
    assert games.missing(folder) == ["json_2.1.1"]
    monkeypatch.delenv("FAIL")
    assert f"ALFWORLD_DATA={folder}" in data.obtain(games, folder)
    program.unlink()
    data.obtain(games, folder)


def test_a_program_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(DataError, match="'alfworld-download' is not installed"):
        data.obtain(data.find("alfworld"), tmp_path / "games")
