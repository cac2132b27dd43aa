"""Tables for people: success, behaviour, types, trials, pairs and conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trialogue.experiments.compare import Comparison, compare, flatten, verdict
from trialogue.experiments.rates import Rate, by_trial, endings, finished, repeated, success
from trialogue.experiments.results import Outcome, Run
from trialogue.experiments.show import visible
from trialogue.experiments.statistics import bootstrap
from trialogue.experiments.tagging import Tagged, counts_of


def print_report(runs: Sequence[Run], console: Console) -> None:
    """Success, behaviour, types, trials, pairs and conditions."""
    console.print(success_table(runs))
    for run in runs:
        if missing := len(run.outcomes) - len(finished(run.outcomes)):
            console.print(f"{run.name}: {missing} of {len(run.outcomes)} planned have not finished", highlight=False)
    if any(not run.is_imported for run in runs):
        console.print(behaviour_table(runs))
    for run in runs:
        if run.retried:
            why = ", ".join(f"{kind} {times}" for kind, times in run.retried.items())
            console.print(f"{run.name}: model calls made again: {why}", highlight=False)
    if len({o.type for run in runs for o in run.outcomes}) > 1:
        console.print(type_table(runs))
    if any(len(o.wins) > 1 for run in runs for o in run.outcomes):
        console.print(trial_table(runs))
    if any(repeated(run.outcomes) for run in runs):
        console.print(repeated_table(runs))
    if (tags := tag_table(runs)).row_count:
        console.print(tags)
    for comparison in compare(runs):
        console.print(verdict(comparison), highlight=False)
        _print_disagreement(comparison, console)
    print_conditions(runs, console)


def success_table(runs: Sequence[Run]) -> Table:
    """Solved of finished, errors left out and errors as failures side by side; the mean score where it says more."""
    graded = any(o.score not in (0.0, 1.0) for run in runs for o in finished(run.outcomes))
    scores = ["score", "its 95% interval"] if graded else []
    first = ("planned", "solved", "of", "success", "95% interval")
    table = _table("Success", "run", *first, *scores, "errors", "with errors", "endings")
    for run in runs:
        rate = success(run.outcomes, errors_as_failures=False)
        strict = success(run.outcomes, errors_as_failures=True)
        ends = ", ".join(f"{name} {count}" for name, count in endings(run.outcomes).most_common())
        errors = str(strict.n - rate.n)
        table.add_row(
            *(run.name, str(len(run.outcomes)), str(rate.solved), str(rate.n), percent(rate), interval(rate)),
            *(_mean_score(run) if graded else ()),
            *(errors, percent(strict) if strict.n != rate.n else "same", ends),
        )
    return table


def _mean_score(run: Run) -> tuple[str, str]:
    """The mean score in per cent, with its bootstrap interval: a graded score is no proportion, as Wilson's needs."""
    scores = [o.score for o in finished(run.outcomes) if not o.is_error]
    if not scores:
        return "-", "-"
    low, high = bootstrap(scores)
    return f"{100 * sum(scores) / len(scores):.1f}", f"{100 * low:.0f} to {100 * high:.0f}"


def behaviour_table(runs: Sequence[Run]) -> Table:
    """Means per episode of what has finished; of imported results they are not known."""
    columns: list[tuple[str, Callable[[Outcome], float]]] = [
        ("steps", lambda o: o.steps),
        ("thoughts", lambda o: o.thoughts),
        ("invalid", lambda o: o.invalid - o.unreadable),
        ("unreadable", lambda o: o.unreadable),
        ("repairs", lambda o: o.repairs),
        ("calls", lambda o: o.calls),
        ("tokens in", lambda o: o.prompt_tokens),
        ("cached", lambda o: o.cached_tokens),
        ("out", lambda o: o.completion_tokens),
        ("seconds", lambda o: o.seconds),
    ]
    priced = any(o.cost is not None for run in runs for o in run.outcomes)
    table = _table("Per episode (mean)", "run", *(name for name, _ in columns), *(["cost"] if priced else []))
    for run in runs:
        done = [] if run.is_imported else finished(run.outcomes)
        cells = [_mean([value(o) for o in done]) for _, value in columns]
        if priced:
            costs = [o.cost for o in done if o.cost is not None]
            cells.append(f"{sum(costs) / len(costs):.4f}" if costs else "-")
        table.add_row(run.name, *cells)
    return table


def type_table(runs: Sequence[Run]) -> Table:
    types = sorted({o.type for run in runs for o in run.outcomes})
    table = _table("Solved by task type (errors left out)", "run", *types)
    for run in runs:
        rates = [success([o for o in run.outcomes if o.type == t], errors_as_failures=False) for t in types]
        table.add_row(run.name, *(f"{r.solved}/{r.n}" if r.n else "-" for r in rates))
    return table


def trial_table(runs: Sequence[Run]) -> Table:
    """What each trial added: only tasks still unsolved are played again, so the sum never falls."""
    counts = ("trial", "played", "with memory", "new wins", "failed", "solved", "of", "success", "95% interval")
    table = _table("Success by trial, up to and with it (errors left out)", "run", *counts)
    for run in runs:
        for c in by_trial(run.outcomes):
            memory = "-" if run.is_imported else c.with_memory
            told = (c.trial, c.played, memory, c.new_wins, c.failed, c.success.solved, c.success.n)
            table.add_row(run.name, *map(str, told), percent(c.success), interval(c.success))
        table.add_section()
    return table


def repeated_table(runs: Sequence[Run]) -> Table:
    """Of k attempts with different seeds, whether any (pass@k) and whether all (pass^k) solve a task: task means."""
    means = [(run, repeated(run.outcomes)) for run in runs]
    most = max(len(of_run) for _, of_run in means)
    shown = [k for k in range(1, most + 1) if k in (1, 2, 3, most) or k % 5 == 0]
    table = _table("Of k seeds", "run", *(f"pass@{k}" for k in shown), *(f"pass^{k}" for k in shown))
    for run, of_run in means:
        by_k = {mean.k: mean for mean in of_run}
        some = [f"{100 * by_k[k].any:.1f}%" if k in by_k else "-" for k in shown]
        every = [f"{100 * by_k[k].all:.1f}%" if k in by_k else "-" for k in shown]
        table.add_row(run.name, *some, *every)
    return table


def tag_table(runs: Sequence[Run]) -> Table:
    """Why episodes failed, told from their records; an episode may have several tags. See `trialogue tags`."""
    table = _table("Failure tags", "run", "tag", "episodes", "such as", "in step")
    for run in runs:
        for found in counts_of(run):
            table.add_row(run.name, found.kind, *map(str, (found.episodes, found.example, found.step or "-")))
        table.add_section()
    return table


def print_tags(episodes: Iterable[Tagged], console: Console) -> None:
    """One line for each tag of each episode."""
    table = _table("Failure tags", "episode", "run", "task", "ending", "tag", "in step", "evidence")
    for episode in episodes:
        for tag in episode.tags:
            named = (episode.episode, episode.run, episode.task, episode.ending, tag.kind, tag.step or "-")
            table.add_row(*(Text(visible(str(cell))) for cell in (*named, tag.evidence)))
    console.print(table)


def print_conditions(runs: Sequence[Run], console: Console) -> None:
    """What all the runs share, then what is each one's own."""
    flat = [dict(flatten(run.conditions)) for run in runs]
    common = {k: v for k, v in flat[0].items() if all(k in f and f[k] == v for f in flat)} if flat else {}
    if common:
        console.print("[bold]Conditions of all[/]", highlight=False)
        console.print("  " + ", ".join(f"{k}={_short(v)}" for k, v in common.items()), highlight=False, markup=False)
    for run, conditions in zip(runs, flat, strict=True):
        own = ", ".join(f"{k}={_short(v)}" for k, v in conditions.items() if k not in common)
        if own:
            console.print(f"[bold]Conditions of {run.name}[/]", highlight=False)
            console.print("  " + own, highlight=False, markup=False)


def percent(rate: Rate) -> str:
    return f"{100 * rate.value:.1f}%" if rate.n else "-"


def interval(rate: Rate) -> str:
    return f"{100 * rate.interval[0]:.0f} to {100 * rate.interval[1]:.0f}%" if rate.n else "-"


def _print_disagreement(comparison: Comparison, console: Console, most: int = 12) -> None:
    for run, outcomes in ((comparison.a, comparison.only_a), (comparison.b, comparison.only_b)):
        if outcomes:
            named = ", ".join(f"{o.task} (episode {o.episodes[0]})" for o in outcomes[:most])
            more = f" and {len(outcomes) - most} more" if len(outcomes) > most else ""
            console.print(f"  only {run.name}: {named}{more}", highlight=False, markup=False)
    if comparison.excluded:
        console.print(
            f"  left out of the pairs: {comparison.excluded} that one of them did not finish, or ended in an error"
        )


_WORDS = {"endings", "task", "ending", "tag", "evidence"}
"""Columns that hold no figures."""


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="left" if name in _WORDS else "right", overflow="fold")
    return table


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean = sum(values) / len(values)
    return f"{mean:.1f}" if mean < 1000 else f"{mean:,.0f}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
