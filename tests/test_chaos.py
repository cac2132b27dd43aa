"""Killed again and again, or with a server that fails in every way, a run's records are those of an undisturbed one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from trialogue.experiments.config import parse_config
from trialogue.experiments.exports.jsonl import export_jsonl
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.store import Store

KILLS = 100
EPISODES = 200
HERE = os.path.dirname(__file__)


def config(**changes: Any) -> dict[str, Any]:
    return {
        "name": "chaos",
        "agents": {"react": {"agent": "react", "settings": {"exemplars": 0}}},
        "tasks": {"corridor": {"env": "toy:Corridor", "split": "test", "settings": {"count": EPISODES}}},
        "limits": {"steps": 12},
        "stuck": None,
        "concurrency": 8,
        **changes,
    }


def exported(path: Path) -> list[dict[str, Any]]:
    with Store.read(path) as store:
        return [json.loads(line) for line in export_jsonl(store, times=False)]


@pytest.mark.slow
def test_a_hundred_kills_change_nothing_and_no_stored_reply_is_asked_for_again(tmp_path: Path) -> None:
    """``kill -9`` at random moments of 200 episodes, eight at once."""
    file, path, log = tmp_path / "chaos.yaml", tmp_path / "killed.sqlite", tmp_path / "asked.log"
    file.write_text(yaml.safe_dump(config(model="scripted:runner_models:logged_walk")))
    environment = {**os.environ, "ASKED": str(log), "PYTHONPATH": HERE}
    command = [sys.executable, "-m", "trialogue.experiments.cli", "run", str(file), "--store", str(path)]
    rng, stored, kills = random.Random(0), Counter[str](), 0
    log.touch()
    while kills < KILLS:
        asked_before = len(log.read_text().splitlines())
        run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        _wait_for(lambda: run.poll() is not None or len(log.read_text().splitlines()) > asked_before)  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.25))
        run.send_signal(signal.SIGKILL)
        output, _ = run.communicate()
        assert run.returncode == -signal.SIGKILL, f"it had ended after {kills} kills: {output.decode()[-2000:]}"
        kills += 1
        new = Counter(log.read_text().splitlines()[asked_before:])
        assert not new & stored, "a reply that was stored was asked for again"
        stored = _stored(path)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    undisturbed = tmp_path / "undisturbed.sqlite"
    calm = [*command[:-1], str(undisturbed)]
    subprocess.run(calm, env={**environment, "ASKED": os.devnull}, check=True, stdout=subprocess.DEVNULL)
    assert exported(path) == exported(undisturbed)
    assert len(exported(path)) == EPISODES


def _wait_for(happened: Any) -> None:
    for _ in range(1200):
        if happened():
            return
        time.sleep(0.05)
    pytest.fail("nothing happened for a minute")


def _stored(path: Path) -> Counter[str]:
    with closing(sqlite3.connect(path)) as db:
        return Counter(row[0] for row in db.execute("SELECT request_hash FROM reply"))


class FaultyServer:
    """Answers chat requests; ``faults`` is the share of calls that it answers with an error instead."""

    KINDS = ("429", "500", "reset", "slow", "malformed", "empty")

    def __init__(self, faults: float) -> None:
        self.calls = self.failed = 0
        self._faults = faults
        self._rng = random.Random(0)
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.answer(self, body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, http: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with self._lock:
            self.calls += 1
            fault = self._rng.choice(self.KINDS) if self._rng.random() < self._faults else ""
            self.failed += bool(fault)
        good = json.dumps(_completion(_reply(body["messages"]))).encode()
        match fault:
            case "reset":
                http.close_connection = True
                http.connection.close()
                return
            case "429":
                _send(http, 429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0.05"})
            case "500":
                _send(http, 500, b"<html>bad gateway</html>", {})
            case "malformed":
                _send(http, 200, good[: len(good) // 2], {})
            case "empty":
                _send(http, 200, b'{"choices": []}', {})
            case "slow":
                time.sleep(0.4)
                _send(http, 200, good, {})
            case _:
                _send(http, 200, good, {})


def _send(http: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    try:
        http.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            http.send_header(name, value)
        http.end_headers()
        http.wfile.write(body)
    except OSError:
        http.close_connection = True  # the client gave up waiting


def _reply(messages: list[dict[str, str]]) -> str:
    """Depends on the prompt alone: a thought first, then to the right, now and then something unreadable."""
    told = "\n".join(message["content"] for message in messages)
    goal = re.findall(r"reach room (\d+)", told)[-1]
    if len(messages) == 2:
        return f"think: Room {goal} is to the right."
    digest = hashlib.sha256(told.encode()).digest()[0]
    return "I am not sure what to do about it, honestly." if digest < 10 else "go right"


def _completion(text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": len(text.split())}
    return {"model": "fake", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}


async def test_a_server_that_fails_in_every_way_changes_nothing_but_the_count_of_retries(tmp_path: Path) -> None:
    rows: dict[float, list[dict[str, Any]]] = {}
    retries: dict[float, int] = {}
    for faults in (0.0, 0.2):
        server = FaultyServer(faults)
        settings = {"base_url": server.url, "timeout_s": 0.3, "max_retries": 12, "max_wait_s": 0.2}
        model = {"name": "openai:fake", "settings": settings}
        tasks = {"corridor": {"env": "toy:Corridor", "split": "test", "settings": {"count": 40}}}
        chosen = parse_config(config(model=model, tasks=tasks, limits={"steps": 6}))
        path = tmp_path / f"{faults}.sqlite"
        with open_store(chosen, path) as store:
            await run_experiment(chosen, store)
        server.close()
        rows[faults] = exported(path)
        with closing(sqlite3.connect(path)) as db:
            retries[faults] = db.execute("SELECT sum(retries) FROM reply").fetchone()[0]
        assert not faults or server.failed > 0.1 * server.calls
    assert {row["ending"] for row in rows[0.0]} == {"solved", "step_limit"}
    assert rows[0.2] == rows[0.0]
    assert retries[0.2] > retries[0.0] + 20
