"""Tables that say which agent is better, with everything the numbers depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from rich.console import Console
from rich.table import Table

from trialogue.errors import UsageError
from trialogue.experiments.results import Outcome, Rate, Run, endings, finished, shared, success
from trialogue.experiments.statistics import Pair, bootstrap, compare_pairs, fisher, holm, wilson


@dataclass(frozen=True)
class Comparison:
    """``a`` against ``b`` on the tasks that both finished; ``p_holm`` is adjusted over all comparisons printed."""

    a: Run
    b: Run
    pair: Pair
    p_holm: float
    only_a: tuple[Outcome, ...]
    only_b: tuple[Outcome, ...]
    excluded: int
    differing: Mapping[str, tuple[Any, Any]]


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Every two runs that share tasks, paired; the better one first."""
    candidates = [(a, b, shared(a, b)) for a, b in combinations(runs, 2)]
    found = [(a, b, pairs) for a, b, pairs in candidates if pairs]
    ordered = [_better_first(a, b, pairs) for a, b, pairs in found]
    results = [
        compare_pairs([x.task for x, _ in ps], [x.won for x, _ in ps], [y.won for _, y in ps]) for *_, ps in ordered
    ]
    adjusted = holm([pair.p for pair in results])
    return [
        Comparison(
            a=a,
            b=b,
            pair=pair,
            p_holm=p,
            only_a=tuple(x for x, y in pairs if x.won and not y.won),
            only_b=tuple(y for x, y in pairs if y.won and not x.won),
            excluded=max(len(a.outcomes), len(b.outcomes)) - len(pairs),
            differing=differing_conditions(a, b),
        )
        for (a, b, pairs), pair, p in zip(ordered, results, adjusted, strict=True)
    ]


def differing_conditions(a: Run, b: Run) -> dict[str, tuple[Any, Any]]:
    """Conditions in which two runs differ, by dotted name: whatever the difference of success may be due to."""
    left, right = dict(_flatten(a.conditions)), dict(_flatten(b.conditions))
    return {k: (left.get(k), right.get(k)) for k in sorted({*left, *right}) if left.get(k) != right.get(k)}


def verdict(comparison: Comparison) -> str:
    """The answer in one line."""
    pair, low_high = comparison.pair, comparison.pair.interval
    if pair.only_a == pair.only_b == 0:
        # A bootstrap of nothing but ties would give the interval [0, 0], as if no doubt were left.
        return f"{comparison.a.name} against {comparison.b.name}: the same {pair.n} outcomes, no difference seen"
    real = comparison.p_holm < 0.05
    head = f"{comparison.a.name} against {comparison.b.name}: {100 * pair.difference:+.0f} points"
    interval = f"[{100 * low_high[0]:+.0f}, {100 * low_high[1]:+.0f}]"
    test = f"{pair.test} p = {format_p(pair.p)}"
    if comparison.p_holm != pair.p:
        test += f" (Holm {format_p(comparison.p_holm)})"
    tail = "a real difference" if real else f"may be luck{_needed(pair)}"
    counts = f"{pair.only_a} against {pair.only_b} of {pair.n} solved by only one"
    return f"{head} {interval}, {counts}, {test}: {tail}"


def counts_verdict(a: str, b: str) -> str:
    """The answer for two counts of different tasks, or of tasks that nobody can pair any more."""
    (solved_a, n_a), (solved_b, n_b) = _counts(a), _counts(b)
    rates = [f"{s}/{n} = {100 * s / n:.1f}% [{_bounds(wilson(s, n))}]" for s, n in ((solved_a, n_a), (solved_b, n_b))]
    p = fisher(solved_a, n_a, solved_b, n_b)
    difference = 100 * (solved_a / n_a - solved_b / n_b)
    verdict = "a real difference" if p < 0.05 else "may be luck"
    return f"{rates[0]} against {rates[1]}: {difference:+.1f} points, Fisher exact p = {format_p(p)}: {verdict}"


def _counts(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 0 <= int(match[1]) <= int(match[2]) or int(match[2]) == 0:
        raise UsageError(f"expected SOLVED/TASKS, such as 95/134, got {text!r}")
    return int(match[1]), int(match[2])


def _bounds(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.0f} to {100 * interval[1]:.0f}"


def _needed(pair: Pair) -> str:
    if pair.needed is None:
        return ""
    return f"; about {pair.needed} tasks would show a difference of this size with 80% power"


def print_report(runs: Sequence[Run], console: Console) -> None:
    """Success, behaviour, types, trials, pairs and conditions."""
    console.print(success_table(runs))
    console.print(behaviour_table(runs))
    if len({o.type for run in runs for o in run.outcomes}) > 1:
        console.print(type_table(runs))
    if any(len(o.wins) > 1 for run in runs for o in run.outcomes):
        console.print(trial_table(runs))
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
    """Means per episode of what has finished."""
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
        done = finished(run.outcomes)
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
    trials = max(len(o.wins) for run in runs for o in run.outcomes)
    table = _table("Solved up to and with each trial", "run", *(f"trial {t}" for t in range(trials)))
    for run in runs:
        depth = max((len(o.wins) for o in run.outcomes), default=0)
        rates = [success(run.outcomes, errors_as_failures=False, trial=t) for t in range(depth)]
        table.add_row(run.name, *(f"{r.solved}/{r.n}" for r in rates), *([""] * (trials - depth)))
    return table


def print_conditions(runs: Sequence[Run], console: Console) -> None:
    """What all the runs share, then what is each one's own."""
    flat = [dict(_flatten(run.conditions)) for run in runs]
    common = {k: v for k, v in flat[0].items() if all(k in f and f[k] == v for f in flat)} if flat else {}
    if common:
        console.print("[bold]Conditions of all[/]", highlight=False)
        console.print("  " + ", ".join(f"{k}={_short(v)}" for k, v in common.items()), highlight=False, markup=False)
    for run, conditions in zip(runs, flat, strict=True):
        own = ", ".join(f"{k}={_short(v)}" for k, v in conditions.items() if k not in common)
        if own:
            console.print(f"[bold]Conditions of {run.name}[/]", highlight=False)
            console.print("  " + own, highlight=False, markup=False)


def as_json(runs: Sequence[Run]) -> str:
    """The same facts for programs."""
    rates = [
        {
            "run": run.name,
            "planned": len(run.outcomes),
            "finished": len(finished(run.outcomes)),
            "success": asdict(success(run.outcomes, errors_as_failures=False)),
            "success_with_errors": asdict(success(run.outcomes, errors_as_failures=True)),
            "endings": dict(endings(run.outcomes)),
            "conditions": run.conditions,
        }
        for run in runs
    ]
    pairs = [
        {
            "a": c.a.name,
            "b": c.b.name,
            **asdict(c.pair),
            "p_holm": c.p_holm,
            "tasks_only_a": [o.task for o in c.only_a],
            "tasks_only_b": [o.task for o in c.only_b],
            "differing": c.differing,
        }
        for c in compare(runs)
    ]
    return json.dumps({"runs": rates, "pairs": pairs}, ensure_ascii=False, indent=2, sort_keys=True)


def percent(rate: Rate) -> str:
    return f"{100 * rate.value:.1f}%" if rate.n else "-"


def interval(rate: Rate) -> str:
    return f"{100 * rate.interval[0]:.0f} to {100 * rate.interval[1]:.0f}%" if rate.n else "-"


def format_p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"


def _better_first(
    a: Run, b: Run, pairs: list[tuple[Outcome, Outcome]]
) -> tuple[Run, Run, list[tuple[Outcome, Outcome]]]:
    if sum(y.won for _, y in pairs) > sum(x.won for x, _ in pairs):
        return b, a, [(y, x) for x, y in pairs]
    return a, b, pairs


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


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="left" if name == "endings" else "right", overflow="fold")
    return table


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean = sum(values) / len(values)
    return f"{mean:.1f}" if mean < 1000 else f"{mean:,.0f}"


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _flatten(item, f"{prefix}{key}.")
        elif item not in (None, {}, [], ""):
            yield prefix + key, item


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
