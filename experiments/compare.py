"""Which agent is better, with everything the numbers depend on: paired comparisons, and all of it as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from trialogue.errors import UsageError
from trialogue.experiments.rates import by_trial, endings, finished, repeated, shared, success
from trialogue.experiments.results import Outcome, Run
from trialogue.experiments.statistics import Pair, compare_pairs, fisher, holm, wilson


@dataclass(frozen=True)
class Comparison:
    """``a`` against ``b`` on the tasks that both finished; ``p_holm`` is adjusted over all comparisons printed.

    Both are taken after ``trials`` trials, the fewer of theirs: more attempts alone make nobody better.
    """

    a: Run
    b: Run
    trials: int
    pair: Pair
    p_holm: float
    only_a: tuple[Outcome, ...]
    only_b: tuple[Outcome, ...]
    excluded: int
    differing: Mapping[str, tuple[Any, Any]]


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Every two runs that share tasks, paired; the better one first."""
    candidates = [(a, b, shared(a, b)) for a, b in combinations(runs, 2)]
    found = [_paired(a, b, pairs) for a, b, pairs in candidates if pairs]
    adjusted = holm([comparison.pair.p for comparison in found])
    return [replace(comparison, p_holm=p) for comparison, p in zip(found, adjusted, strict=True)]


def _paired(a: Run, b: Run, pairs: list[tuple[Outcome, Outcome]]) -> Comparison:
    trials = min(len(outcome.wins) for pair in pairs for outcome in pair)
    wins = [(x.won_within(trials), y.won_within(trials)) for x, y in pairs]
    if sum(y for _, y in wins) > sum(x for x, _ in wins):
        return _paired(b, a, [(y, x) for x, y in pairs])
    pair = compare_pairs([x.task for x, _ in pairs], [x for x, _ in wins], [y for _, y in wins])
    return Comparison(
        a=a,
        b=b,
        trials=trials,
        pair=pair,
        p_holm=pair.p,
        only_a=tuple(x for (x, _), (x_won, y_won) in zip(pairs, wins, strict=True) if x_won and not y_won),
        only_b=tuple(y for (_, y), (x_won, y_won) in zip(pairs, wins, strict=True) if y_won and not x_won),
        excluded=max(len(a.outcomes), len(b.outcomes)) - len(pairs),
        differing=differing_conditions(a, b),
    )


def differing_conditions(a: Run, b: Run) -> dict[str, tuple[Any, Any]]:
    """Conditions in which two runs differ, by dotted name: whatever the difference of success may be due to."""
    left, right = dict(flatten(a.conditions)), dict(flatten(b.conditions))
    return {k: (left.get(k), right.get(k)) for k in sorted({*left, *right}) if left.get(k) != right.get(k)}


def verdict(comparison: Comparison) -> str:
    """The answer in one line."""
    pair, low_high = comparison.pair, comparison.pair.interval
    names = f"{comparison.a.name} against {comparison.b.name}{_after(comparison)}"
    if pair.only_a == pair.only_b == 0:
        # A bootstrap of nothing but ties would give the interval [0, 0], as if no doubt were left.
        return f"{names}: the same {pair.n} outcomes, no difference seen"
    real = comparison.p_holm < 0.05
    head = f"{names}: {100 * pair.difference:+.0f} points"
    interval = f"[{100 * low_high[0]:+.0f}, {100 * low_high[1]:+.0f}]"
    test = f"{pair.test} p = {format_p(pair.p)}"
    if comparison.p_holm != pair.p:
        test += f" (Holm {format_p(comparison.p_holm)})"
    tail = "a real difference" if real else f"may be luck{_needed(pair)}"
    counts = f"{pair.only_a} against {pair.only_b} of {pair.n} solved by only one"
    return f"{head} {interval}, {counts}, {test}: {tail}"


def _after(comparison: Comparison) -> str:
    """How many trials each was given, where one of them had more."""
    depths = {len(outcome.wins) for run in (comparison.a, comparison.b) for outcome in run.outcomes}
    trials = f"{comparison.trials} trial{'s' if comparison.trials > 1 else ''}"
    return f" after {trials} each" if len(depths) > 1 else ""


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


def as_json(runs: Sequence[Run]) -> str:
    """The same facts for programs."""
    rates = [
        {
            "run": run.name,
            "planned": len(run.outcomes),
            "finished": len(finished(run.outcomes)),
            "missing": len(run.outcomes) - len(finished(run.outcomes)),
            "success": asdict(success(run.outcomes, errors_as_failures=False)),
            "success_with_errors": asdict(success(run.outcomes, errors_as_failures=True)),
            "endings": dict(endings(run.outcomes)),
            "retried": run.retried,
            "repeated": [asdict(mean) for mean in repeated(run.outcomes)],
            "trials": [asdict(count) for count in by_trial(run.outcomes)],
            "conditions": run.conditions,
        }
        for run in runs
    ]
    pairs = [
        {
            "a": c.a.name,
            "b": c.b.name,
            "trials": c.trials,
            **asdict(c.pair),
            "p_holm": c.p_holm,
            "tasks_only_a": [o.task for o in c.only_a],
            "tasks_only_b": [o.task for o in c.only_b],
            "differing": c.differing,
        }
        for c in compare(runs)
    ]
    return json.dumps({"runs": rates, "pairs": pairs}, ensure_ascii=False, indent=2, sort_keys=True)


def format_p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"


def flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Conditions by dotted name; what is empty or not set is left out."""
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from flatten(item, f"{prefix}{key}.")
        elif item not in (None, {}, [], ""):
            yield prefix + key, item
