"""Runs for MLflow: one MLflow run a run, in an experiment named after the store.

Parameters are the conditions; metrics are the success rate with its interval, scores, behaviour and cost, the success
by trial with the trial as step, and how many episodes have each failure tag; the report is an artifact.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from trialogue.errors import MissingExtra, UsageError
from trialogue.experiments.compare import flatten
from trialogue.experiments.rates import by_trial, finished, success
from trialogue.experiments.report import print_report
from trialogue.experiments.results import Run, read_run
from trialogue.experiments.store import Store
from trialogue.experiments.tagging import counts_of

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

LONGEST = 6000
"""Characters of a parameter's value that MLflow takes."""
MOST = 100
"""Parameters that MLflow takes at once."""


def export_mlflow(path: Path, runs: Collection[int], uri: str = "") -> Iterator[str]:
    """Logs each of ``runs`` of the store at ``path`` to the tracking server or store ``uri`` ("": as MLflow is set up).

    Yields a line for each; every export logs new MLflow runs. Raises MissingExtra without mlflow, UsageError when
    MLflow refuses.
    """
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingExtra("export to MLflow", "mlflow", "mlflow") from None
    with Store.read(path) as store:
        chosen = [read_run(store, row) for row in store.runs(forks=True) if row["id"] in runs]
    try:
        client = MlflowClient(tracking_uri=uri or None)
        found = client.get_experiment_by_name(path.stem)
        experiment = client.create_experiment(path.stem) if found is None else found.experiment_id
        for run in chosen:
            yield f"{run.name}: MLflow run {_log(client, experiment, run)} in the experiment {path.stem!r}"
    except MlflowException as error:
        raise UsageError(f"MLflow refused: {error}") from error


def _log(client: MlflowClient, experiment: str, run: Run) -> str:
    made: str = client.create_run(
        experiment, run_name=run.name, tags={"agent": run.agent, "tasks": run.tasks}
    ).info.run_id
    params = list(_params(run))
    for start in range(0, len(params), MOST):
        client.log_batch(made, params=params[start : start + MOST])
    client.log_batch(made, metrics=_metrics(run))
    client.log_text(made, _report([run]), "report.txt")
    complete = len(finished(run.outcomes)) == len(run.outcomes)
    client.set_terminated(made, "FINISHED" if complete else "KILLED")
    return made


def _params(run: Run) -> Iterator[Any]:
    from mlflow.entities import Param

    for key, value in flatten(run.conditions):
        yield Param(re.sub(r"[^\w. :/-]", "_", key), str(value)[:LONGEST])


def _metrics(run: Run) -> list[Metric]:
    from mlflow.entities import Metric

    now = int(1000 * time.time())
    told = [Metric(name, value, now, 0) for name, value in _totals(run).items()]
    trials = by_trial(run.outcomes)
    told += [Metric("success_by_trial", trial.success.value, now, trial.trial) for trial in trials if trial.success.n]
    told += [Metric(f"tag.{found.kind}", float(found.episodes), now, 0) for found in counts_of(run)]
    return told


def _totals(run: Run) -> dict[str, float]:
    """Of all that has finished: rates, sums of tokens, money and time, and means of behaviour."""
    done = finished(run.outcomes)
    rate, strict = (success(run.outcomes, errors_as_failures=strictly) for strictly in (False, True))
    told: dict[str, float] = {"tasks_planned": len(run.outcomes), "tasks_finished": len(done)}
    if rate.n:
        low, high = rate.interval
        told |= {"success_rate": rate.value, "success_low": low, "success_high": high}
    if strict.n:
        told |= {"success_rate_with_errors": strict.value, "errors": strict.n - rate.n}
    scores = [outcome.score for outcome in done if not outcome.is_error]
    if scores:
        told["score"] = sum(scores) / len(scores)
    if done and not run.is_imported:
        for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "seconds", "calls"):
            told[name] = float(sum(getattr(outcome, name) for outcome in done))
        for name in ("steps", "thoughts", "invalid", "unreadable", "repairs"):
            told[f"mean_{name}"] = sum(getattr(outcome, name) for outcome in done) / len(done)
        costs = [outcome.cost for outcome in done if outcome.cost is not None]
        told |= {"cost": sum(costs)} if costs else {}
    return told


def _report(runs: Sequence[Run]) -> str:
    text = io.StringIO()
    print_report(runs, Console(file=text, width=160))
    return text.getvalue()
