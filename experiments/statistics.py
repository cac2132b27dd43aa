"""The statistics of success: intervals, paired tests, and how many tasks it would take.

All p-values are two-sided. Intervals are of 95 per cent unless ``level`` says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

Interval = tuple[float, float]
RESAMPLES = 9_999


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate (Wilson 1927). ``n`` = 0 gives (0, 1): nothing is known."""
    if n == 0:
        return (0.0, 1.0)
    interval = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return (float(interval.low), float(interval.high))


def bootstrap(values: Sequence[float], level: float = 0.95, seed: int = 0) -> Interval:
    """Percentile bootstrap interval of the mean of ``values``, one value a task, tasks resampled."""
    if not values:
        return (math.nan, math.nan)
    n, rng = len(values), np.random.default_rng(seed)
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    # How often each distinct value is drawn is all that a mean depends on: a run of 100,000 tasks takes no longer.
    means = np.concatenate([rng.multinomial(n, counts / n, size=size) @ distinct for size in _batches(len(distinct))])
    low, high = np.quantile(means / n, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def sign_flip(differences: Sequence[float], seed: int = 0) -> float:
    """Permutation test that the mean of paired differences, one a task, is zero: signs flipped at random.

    For differences of -1, 0 and 1 it estimates the exact McNemar test; it also holds for means over several seeds.
    """
    data, rng = np.asarray(differences, dtype=float), np.random.default_rng(seed)
    observed = abs(data.sum()) - 1e-9
    distinct, counts = np.unique(np.abs(data), return_counts=True)
    extreme = 0
    for size in _batches(len(distinct)):
        kept = rng.binomial(counts, 0.5, size=(size, len(counts)))
        extreme += int((np.abs((2 * kept - counts) @ distinct) >= observed).sum())
    return (extreme + 1) / (RESAMPLES + 1)


def _batches(width: int, most: int = 1_000_000) -> Iterator[int]:
    """Parts of RESAMPLES whose rows of ``width`` numbers fit into memory."""
    size, left = max(1, most // max(1, width)), RESAMPLES
    while left > 0:
        yield min(size, left)
        left -= size


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of ``k`` attempts solves a task that ``c`` of ``n`` attempts solved.

    The unbiased estimate 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, section 2.1); None where ``k`` exceeds ``n``.
    """
    return None if k > n else 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of ``k`` attempts solve it: C(c, k) / C(n, k) (Yao et al. 2024, tau-bench, section 4)."""
    return None if k > n else math.comb(c, k) / math.comb(n, k)


def fisher(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Fisher's exact test of two success rates on different tasks (or where only the counts are known)."""
    table = np.array([[successes_a, n_a - successes_a], [successes_b, n_b - successes_b]])
    return float(stats.fisher_exact(table).pvalue)


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact McNemar test on the tasks that just one of two agents solved (McNemar 1947; binomial form)."""
    discordant = only_a + only_b
    return float(stats.binomtest(only_a, discordant, 0.5).pvalue) if discordant else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def tasks_needed(only_a: float, only_b: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Tasks needed to see a difference with McNemar's test (Connor 1987, formula for paired proportions).

    ``only_a`` and ``only_b`` are the shares of tasks that just one of the two solves. None when they are equal:
    no number of tasks would show a difference that is not there.
    """
    discordant, difference = only_a + only_b, abs(only_a - only_b)
    if difference == 0:
        return None
    z_alpha, z_power = stats.norm.ppf(1 - alpha / 2), stats.norm.ppf(power)
    root = z_alpha * math.sqrt(discordant) + z_power * math.sqrt(discordant - difference**2)
    return math.ceil((root / difference) ** 2)


@dataclass(frozen=True)
class Pair:
    """Two agents on the same tasks: ``difference`` is the success rate of a less that of b.

    Counts are of (task, seed) pairs. ``test`` names the test of ``p``: with one seed the exact McNemar test, with
    several a sign-flip permutation over tasks, since the seeds of one task are not independent.
    """

    n: int
    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float
    interval: Interval
    test: str
    p: float
    needed: int | None


def compare_pairs(tasks: Sequence[str], a: Sequence[bool], b: Sequence[bool]) -> Pair:
    """Compares the outcomes of a and b at the same (task, seed) positions; ``tasks`` names the task of each."""
    if not len(tasks) == len(a) == len(b):
        raise ValueError(f"expected outcomes of the same tasks, got {len(a)} and {len(b)} for {len(tasks)}")
    n = len(a)
    only_a = sum(x and not y for x, y in zip(a, b, strict=True))
    only_b = sum(y and not x for x, y in zip(a, b, strict=True))
    both = sum(x and y for x, y in zip(a, b, strict=True))
    by_task: dict[str, list[int]] = {}
    for task, x, y in zip(tasks, a, b, strict=True):
        by_task.setdefault(task, []).append(int(x) - int(y))
    differences = [sum(values) / len(values) for values in by_task.values()]
    single = len(by_task) == n
    return Pair(
        n=n,
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=n - both - only_a - only_b,
        difference=(only_a - only_b) / n if n else math.nan,
        interval=bootstrap(differences),
        test="exact McNemar" if single else "sign flips by task",
        p=mcnemar(only_a, only_b) if single else sign_flip(differences),
        needed=tasks_needed(only_a / n, only_b / n) if n else None,
    )
