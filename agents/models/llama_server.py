"""llama.cpp's HTTP server in a process of its own, on a loopback address with a random key."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import subprocess
import sys
import weakref
from dataclasses import dataclass
from pathlib import Path

from trialogue.agents.models import llama_process
from trialogue.agents.models.settings import LocalSettings
from trialogue.errors import DataError, MissingExtra


def require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("a local model", "xllamacpp", "local")


def threads_of(settings: LocalSettings) -> int:
    """Computing threads: as set, else the cores that this process may use but one.

    llama.cpp's threads wait for each other by spinning: one thread that shares its core with other work (the
    environments of a run) holds up all, and tokens then take up to ten times as long as with one thread less.
    """
    return settings.threads or max(1, len(_affinity()) - 1)


@dataclass(frozen=True)
class Address:
    url: str
    key: str


class LlamaServer:
    """A running server. ``close`` ends it at once and frees its memory; requests on their way fail.

    A process of its own, because llama.cpp's destructor holds the interpreter until every request has ended, and now
    and then for ever. The process ends with this one, however this one ends: its standard input ends then.
    Raises MissingExtra, DataError.
    """

    def __init__(self, weights: Path, adapter: Path | None, alias: str, settings: LocalSettings) -> None:
        require_xllamacpp()
        key = secrets.token_hex(16)
        told = {
            **settings.model_dump(mode="json"),
            "weights": str(weights),
            "adapter": None if adapter is None else str(adapter),
            "alias": alias,
            "key": key,
            "threads": threads_of(settings),
        }
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-P", llama_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the run, which may still want replies while it stops
        )
        self._finalize = weakref.finalize(self, _end, self._process)
        self.address = Address(self._start(told, weights, adapter), key)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._finalize()

    def _start(self, told: dict[str, object], weights: Path, adapter: Path | None) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended before it read: it has given no answer either
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"its process ended with code {self._process.wait()}"}
        if "error" in answer:
            self.close()
            files = f"{weights} with the adapter {adapter}" if adapter else str(weights)
            raise DataError(
                f"llama.cpp could not load {files} ({answer['error']}). Is the file complete, is its architecture "
                "known to the installed xllamacpp, and is there memory for context x parallel tokens?"
            )
        return str(answer["url"])


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()  # it holds nothing that is worth saving
    process.communicate()  # closes the pipes and waits


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
