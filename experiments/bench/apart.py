"""Measures in a process of its own, whose peak memory is then that of the one thing it did."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Cost:
    """``seconds`` of wall clock and of ``cpu`` (all threads), and the ``peak`` of resident memory in MB.

    The peak is the process's, so that it holds the interpreter and what was imported.
    """

    seconds: float
    cpu: float
    peak: float


def cost_of(function: Callable[..., object], *arguments: str | int) -> Cost:
    """What one call of a function at the top of a module costs, in a fresh interpreter, imports of the module aside.

    What a call imports only then is counted with it. Raises CalledProcessError when the call fails.
    """
    asked = json.dumps([function.__module__, function.__name__, list(arguments)])
    code = f"from {__name__} import main; main()"
    done = subprocess.run([sys.executable, "-c", code, asked], check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """The other process: what is asked as JSON in its arguments, the cost as the last line of its output."""
    module, name, arguments = json.loads(sys.argv[1])
    function: Callable[..., Any] = getattr(import_module(module), name)
    began, cpu = time.perf_counter(), time.process_time()
    function(*arguments)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    # Kilobytes on Linux, bytes on macOS.
    unit = 1e6 if sys.platform == "darwin" else 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak}))
