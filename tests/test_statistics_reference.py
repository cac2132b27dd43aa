"""The statistics against other people's: statsmodels on random tables, and the definition where there is no other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialogue.experiments.statistics import (
    RESAMPLES,
    bootstrap,
    holm,
    mcnemar,
    sign_flip,
    tasks_needed,
    wilson,
)

proportion = pytest.importorskip("statsmodels.stats.proportion", reason="statsmodels is not installed")
contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
multitest = pytest.importorskip("statsmodels.stats.multitest")

COUNTS = st.integers(0, 60)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson(n: int, share: float) -> None:
    successes = round(share * n)
    assert wilson(successes, n) == pytest.approx(proportion.proportion_confint(successes, n, method="wilson"), abs=1e-9)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_mcnemar(both: int, only_a: int, only_b: int, neither: int) -> None:
    if only_a + only_b:
        theirs = contingency.mcnemar([[both, only_a], [only_b, neither]], exact=True).pvalue
        assert mcnemar(only_a, only_b) == pytest.approx(min(1.0, theirs), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]), abs=1e-9)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), min_size=30, max_size=80), st.integers(0, 5))
def test_bootstrap_is_the_percentile_bootstrap(values: list[float], seed: int) -> None:
    if len(set(values)) == 1:
        assert bootstrap(values) == (values[0], values[0])
        return
    theirs = stats.bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=seed)
    spread = np.std(values) / len(values) ** 0.5
    expected = (theirs.confidence_interval.low, theirs.confidence_interval.high)
    assert bootstrap(values, seed=seed) == pytest.approx(expected, abs=0.3 * spread)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 25), st.integers(0, 25), st.integers(0, 40))
def test_sign_flips_of_single_seeds_estimate_mcnemar(only_a: int, only_b: int, same: int) -> None:
    p = sign_flip([1.0] * only_a + [-1.0] * only_b + [0.0] * same)
    assert p == pytest.approx(mcnemar(only_a, only_b), abs=0.02)


@pytest.mark.parametrize(("only_a", "only_b"), [(0.3, 0.1), (0.25, 0.15), (0.12, 0.02)])
def test_as_many_tasks_as_are_said_show_the_difference_four_times_in_five(only_a: float, only_b: float) -> None:
    n = tasks_needed(only_a, only_b)
    assert n is not None
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n, [only_a, only_b, 1 - only_a - only_b], size=2000)
    # McNemar's test without continuity correction, which the formula is of; the exact one asks for a few tasks more.
    statistic = (drawn[:, 0] - drawn[:, 1]) ** 2 / np.maximum(1, drawn[:, 0] + drawn[:, 1])
    assert np.mean(stats.chi2.sf(statistic, 1) < 0.05) == pytest.approx(0.8, abs=0.04)


def test_a_hundred_thousand_tasks_are_no_harder_than_a_hundred() -> None:
    low, high = bootstrap([1.0, 0.0] * 50_000)
    assert (low, high) == pytest.approx((0.497, 0.503), abs=0.001)
    assert sign_flip([1.0, -1.0] * 50_000) > 0.9
