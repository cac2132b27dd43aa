"""A store in other forms, for other tools: JSON Lines, training data, Parquet, an Inspect log, MLflow runs.

A run is written to MLflow after the fact, from its store: there is nothing to set in an experiment's configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialogue.errors import UnknownName, UsageError
from trialogue.experiments.results import chosen_runs
from trialogue.experiments.store import Store


@dataclass(frozen=True)
class Options:
    """What a form can be asked for; see :func:`trialogue.experiments.cli.export`."""

    times: bool = True
    all: bool = False
    thoughts: Literal["keep", "drop"] = "keep"
    prompt: Literal["sent", "task"] = "sent"
    uri: str = ""


@dataclass(frozen=True)
class Job:
    """What is exported: the run ``name`` (an agent, or AGENT/TASKS; None: all of the plan) to ``out``."""

    store: Store
    name: str | None
    out: Path | None
    options: Options

    def runs(self) -> list[int]:
        """The numbers of the chosen runs. Raises UnknownName."""
        return [int(row["id"]) for row in chosen_runs(self.store, self.name)]

    def required_out(self, what: str) -> Path:
        if self.out is None:
            raise UsageError(f"say where the export goes: --out {what}")
        return self.out


def keep_or_drop(thoughts: str) -> Literal["keep", "drop"]:
    """``thoughts`` if it is one of the two. Raises UnknownName."""
    if thoughts == "keep":
        return "keep"
    if thoughts == "drop":
        return "drop"
    raise UnknownName("choice for --thoughts", thoughts, ("keep", "drop"))


def sent_or_task(prompt: str) -> Literal["sent", "task"]:
    """``prompt`` if it is one of the two. Raises UnknownName."""
    if prompt == "sent":
        return "sent"
    if prompt == "task":
        return "task"
    raise UnknownName("choice for --prompt", prompt, ("sent", "task"))


def export(to: str, path: Path, name: str | None, out: Path | None, options: Options) -> Iterator[str]:
    """Writes the store at ``path`` in the form ``to``. Yields the lines to be printed: the data, or what was written.

    Raises UnknownName for a form or a run, UsageError where ``out`` is missing, MissingExtra.
    """
    if to not in _FORMS:
        raise UnknownName("form of export", to, _FORMS)
    with Store.read(path) as store:
        yield from _FORMS[to](Job(store, name, out, options))


def _jsonl(job: Job) -> Iterator[str]:
    from trialogue.experiments.exports.jsonl import export_jsonl

    runs = None if job.name is None else job.runs()
    return _written(export_jsonl(job.store, times=job.options.times, runs=runs), job.out)


def _sft(job: Job) -> Iterator[str]:
    from trialogue.experiments.exports.sft import export_sft

    options = job.options
    lines = export_sft(job.store, job.runs(), unsolved=options.all, thoughts=options.thoughts, prompt=options.prompt)
    return _written(lines, job.out)


def _parquet(job: Job) -> Iterator[str]:
    from trialogue.experiments.exports.parquet import export_parquet

    return map(str, export_parquet(job.store, job.runs(), job.required_out("FOLDER")))


def _inspect(job: Job) -> Iterator[str]:
    from trialogue.experiments.exports.inspect_log import export_inspect

    return map(str, export_inspect(job.store, job.runs(), job.required_out("FOLDER")))


def _mlflow(job: Job) -> Iterator[str]:
    from trialogue.experiments.exports.mlflow_runs import export_mlflow

    return export_mlflow(job.store.path, job.runs(), job.options.uri)


_FORMS: dict[str, Callable[[Job], Iterator[str]]] = {
    "jsonl": _jsonl,
    "sft": _sft,
    "parquet": _parquet,
    "inspect": _inspect,
    "mlflow": _mlflow,
}


def _written(lines: Iterator[str], out: Path | None) -> Iterator[str]:
    """``lines``, or, where they are written to a file, its name and how many they were."""
    if out is None:
        yield from lines
        return
    count = 0
    try:
        with out.open("w", encoding="utf-8") as file:
            for count, line in enumerate(lines, start=1):  # noqa: B007 (told below)
                file.write(line + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
    yield f"{out}: {count} lines"
