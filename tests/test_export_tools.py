"""Exports for other tools, each read back with the tool itself; skipped, saying so, where that is not installed."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from test_cli import trialogue
from test_export_sft import PLAYER, chat, react
from test_runner import BASE, configured, play

from trialogue.errors import MissingExtra, UsageError
from trialogue.experiments.exports import Options, export
from trialogue.experiments.store import Store

AGENTS: dict[str, Any] = {**react(), "expert": {"agent": "expert"}}


async def played(path: Path, **changes: Any) -> Path:
    await play(configured(**{"model": PLAYER, "agents": AGENTS, **changes}), path)
    return path


def written(to: str, path: Path, name: str | None, out: Path | None, **options: Any) -> list[str]:
    return list(export(to, path, name, out, Options(**options)))


@pytest.mark.parametrize(
    ("to", "package"), [("parquet", "pyarrow"), ("inspect", "inspect_ai.log"), ("mlflow", "mlflow")]
)
async def test_a_missing_package_is_named_with_its_extra(
    tmp_path: Path, to: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await played(tmp_path / "x.sqlite")
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra, match=rf"trialogue\[{to}\]"):
        written(to, path, None, tmp_path / "out")


async def test_parquet_holds_what_the_store_holds(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    agents = {**AGENTS, "reflexion": {"agent": "reflexion", "settings": {"exemplars": 0}}}
    path = await played(tmp_path / "x.sqlite", agents=agents, trials=2, model="scripted:toy:walk")
    files = written("parquet", path, None, tmp_path / "out")
    assert files == [str(tmp_path / "out" / f"{n}.parquet") for n in ("episodes", "turns", "steps", "replies")]
    episodes, turns, steps, replies = (parquet.read_table(file).to_pylist() for file in files)
    with Store.read(path) as store:
        rows = sorted(store.episodes(), key=lambda row: (row["run"], row["id"]))
        assert [row["id"] for row in episodes] == [row["id"] for row in rows]
        for row, one in zip(rows, episodes, strict=True):
            told = {key: row[key] for key in one if key not in ("run", "exemplars", "notes", "lesson", "remembered")}
            assert {key: one[key] for key in told} == told
            assert one["run"] == row["run_name"]
            assert one["lesson"] == (None if row["lesson"] is None else json.loads(row["lesson"]))
            assert one["notes"] == json.loads(row["notes"])
            assert isinstance(one["remembered"], bool)
        assert any(one["lesson"] for one in episodes)
        listed = sorted((one["episode"], one["step"]) for one in steps)
        assert listed == sorted((row["id"], step.step) for row in rows for step in store.steps(row["id"]))
        for one in steps[:50]:
            [step] = [step for step in store.steps(one["episode"]) if step.step == one["step"]]
            assert {key: getattr(step, key) for key in one if key != "episode"} == {
                key: one[key] for key in one if key != "episode"
            }
        for one in turns[:50]:
            row = store.turns(one["episode"])[one["turn"]]
            assert (one["kind"], one["action"], one["thoughts"]) == (
                row["kind"],
                row["action"],
                json.loads(row["thoughts"]),
            )
        assert len(turns) == sum(row["turns"] for row in rows)
        for one in replies[:50]:
            stored_hash, reply = store.replies(one["episode"])[one["call"]]
            assert (one["request_hash"], one["text"], one["cost"]) == (stored_hash, reply.text, reply.cost)
            assert one["prompt"] == store.prompts(one["episode"])[one["call"]]
        assert len(replies) == sum(row["calls"] or 0 for row in rows)
    schema = {field.name: str(field.type) for field in parquet.read_schema(files[2])}
    assert (schema["won"], schema["score"], schema["step"]) == ("bool", "double", "int64")
    assert parquet.read_schema(files[0]).pandas_metadata is None


async def test_parquet_of_one_run_and_of_more_rows_than_one_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from trialogue.experiments.exports import parquet as module

    monkeypatch.setattr(module, "ROWS", 3)
    path = await played(tmp_path / "x.sqlite")
    files = written("parquet", path, "expert", tmp_path / "out")
    table = parquet.read_table(files[0])
    assert (set(table["run"].to_pylist()), table.num_rows) == ({"expert/corridor"}, 10)
    assert parquet.ParquetFile(files[0]).num_row_groups == 4
    assert parquet.read_table(files[3]).num_rows == 0
    with pytest.raises(UsageError, match="--out FOLDER"):
        written("parquet", path, None, None)


@pytest.mark.slow
async def test_inspect_reads_its_log_back(tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log")
    tasks = {"corridor": {"env": "toy:Corridor", "split": "test", "settings": {"crash_at": 3, "crash_in": "test/8"}}}
    path = await played(tmp_path / "x.sqlite", seeds=[0, 1], tasks=tasks)
    files = written("inspect", path, None, tmp_path / "out")
    assert [Path(file).name for file in files] == ["react_corridor.eval", "expert_corridor.eval"]
    read = log.read_eval_log(files[0])
    assert (read.status, read.eval.solver, read.eval.model, read.eval.task) == (
        "success",
        "react",
        "scripted/sft_models:player",
        "corridor",
    )
    assert (read.results.total_samples, read.results.completed_samples) == (20, 18)
    won = {metric.name: metric.value for score in read.results.scores for metric in score.metrics.values()}
    assert won["accuracy"] == 1.0
    assert won["interval_low"] <= won["accuracy"] <= won["interval_high"]
    with Store.read(path) as store:
        rows = [row for row in store.episodes() if row["agent"] == "react"]
    assert sorted((str(s.id), s.epoch) for s in read.samples) == sorted((row["task"], 1 + row["seed"]) for row in rows)
    by = {(sample.id, sample.epoch): sample for sample in read.samples}
    sample = by["test/2", 1]
    assert [(m.role, m.text) for m in sample.messages][1:] == [
        ("assistant", "think: The last room is to the right."),
        ("assistant", "go right"),
        ("user", "You are in room 1."),
        ("assistant", "go right"),
        ("user", "You are in room 2."),
    ]
    assert (sample.scores["won"].value, sample.scores["score"].value) == ("C", 1.0)
    assert (sample.metadata["ending"], sample.metadata["steps"]) == ("solved", 2)
    crashed = by["test/8", 1]
    assert "the engine fell over" in crashed.error.message
    assert not crashed.scores
    assert read.eval.metadata["limits.steps"] == 20


@pytest.mark.slow
async def test_inspect_is_told_chats_as_they_were_sent_with_calls_and_usage(tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log")
    agents = {"tools": {"agent": "native_tools", "settings": {"exemplars": 0}}}
    model = chat("sft_models:calls", can_call_tools=True)
    path = await played(tmp_path / "x.sqlite", agents=agents, model=model, seeds=[0])
    [file] = written("inspect", path, None, tmp_path / "out")
    [sample] = [sample for sample in log.read_eval_log(file).samples if sample.id == "test/2"]
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]
    call = sample.messages[2].tool_calls[0]
    assert (call.function, call.arguments, sample.messages[3].tool_call_id) == ("go", {"direction": "right"}, call.id)
    path = await played(tmp_path / "y.sqlite", model="scripted:toy:walk")
    [file] = written("inspect", path, "react", tmp_path / "out")
    read = log.read_eval_log(file)
    with Store.read(path) as store:
        tokens = sum(row["prompt_tokens"] or 0 for row in store.episodes() if row["agent"] == "react")
    assert read.stats.model_usage["scripted/toy:walk"].input_tokens == tokens
    assert {tuple(sample.metadata["tags"]) for sample in read.samples} == {(), ("repetition",)}


@pytest.mark.slow
async def test_mlflow_has_params_metrics_and_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    path = await played(tmp_path / "corridors.sqlite", trials=2, model="scripted:toy:walk")
    lines = written("mlflow", path, None, None, uri=uri)
    assert [line.partition(":")[0] for line in lines] == ["react/corridor", "expert/corridor"]
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("corridors")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    react_run = runs["react/corridor"]
    metrics = react_run.data.metrics
    assert (metrics["success_rate"], metrics["tasks_finished"], metrics["tag.repetition"]) == (0.5, 10.0, 10.0)
    assert metrics["success_low"] < 0.5 < metrics["success_high"]
    assert runs["expert/corridor"].data.metrics["success_rate"] == 1.0
    params = react_run.data.params
    assert (params["limits.steps"], params["agent.name"], params["model.name"]) == ("20", "react", "scripted:toy:walk")
    history = client.get_metric_history(react_run.info.run_id, "success_by_trial")
    assert sorted((point.step, point.value) for point in history) == [(0, 0.5), (1, 0.5)]
    assert react_run.info.status == "FINISHED"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    report = mlflow.artifacts.load_text(f"{react_run.info.artifact_uri}/report.txt")
    assert "Failure tags" in report
    assert [line.partition(":")[0] for line in written("mlflow", path, "expert", None)] == ["expert/corridor"]
    assert len(client.search_runs([experiment.experiment_id])) == 3
    with pytest.raises(UsageError, match="MLflow refused"):
        written("mlflow", path, None, None, uri="nonsense://x")


@pytest.mark.slow
def test_the_commands(tmp_path: Path) -> None:
    for package in ("pyarrow", "inspect_ai", "mlflow"):
        pytest.importorskip(package)
    (tmp_path / "x.yaml").write_text(json.dumps(BASE), encoding="utf-8")
    assert trialogue("run", "x.yaml", cwd=tmp_path).returncode == 0
    told = trialogue("export", "corridors", "--to", "parquet", "--out", "data", cwd=tmp_path)
    assert told.stdout.splitlines() == [f"data/{n}.parquet" for n in ("episodes", "turns", "steps", "replies")]
    told = trialogue("export", "corridors:react", "--to", "inspect", "--out", "logs", cwd=tmp_path)
    assert told.stdout == "logs/react_corridor.eval\n"
    uri = f"sqlite:///{tmp_path / 'm.db'}"
    told = trialogue("export", "corridors:react", "--to", "mlflow", "--uri", uri, cwd=tmp_path)
    assert "react/corridor: MLflow run " in told.stdout, told.stderr
