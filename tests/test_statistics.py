"""Statistics against hand-checked values and against scipy on random tables."""

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialogue.experiments.compare import counts_verdict
from trialogue.experiments.statistics import (
    bootstrap,
    compare_pairs,
    fisher,
    holm,
    mcnemar,
    pass_at_k,
    pass_hat_k,
    sign_flip,
    tasks_needed,
    wilson,
)


def test_wilson_of_three_and_seven_of_ten() -> None:
    assert wilson(3, 10) == pytest.approx((0.1078, 0.6032), abs=5e-5)
    assert wilson(7, 10) == pytest.approx((0.3968, 0.8922), abs=5e-5)


def test_wilson_of_nothing_says_that_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_the_textbook_formula(case: tuple[int, int]) -> None:
    k, n = case
    z, p = stats.norm.ppf(0.975), k / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert wilson(k, n) == pytest.approx((middle - half, middle + half), abs=1e-9)


def test_ten_episodes_each_do_not_make_a_difference() -> None:
    assert fisher(3, 10, 7, 10) == pytest.approx(0.1789, abs=5e-5)
    assert counts_verdict("3/10", "7/10").endswith("may be luck")


def test_the_paper_s_71_against_45_of_134_is_real() -> None:
    assert counts_verdict("95/134", "60/134").endswith("a real difference")


def test_mcnemar_on_24_against_8() -> None:
    assert mcnemar(24, 8) == pytest.approx(0.00700, abs=5e-5)
    assert mcnemar(0, 0) == 1.0


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_two_sided_sign_test(b: int, c: int) -> None:
    expected = min(1.0, 2 * float(stats.binom.cdf(min(b, c), b + c, 0.5))) if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(expected, abs=1e-9)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(q >= p and q <= 1 for p, q in zip(ps, adjusted, strict=True))
    assert sorted(range(len(ps)), key=lambda i: (ps[i], i)) == sorted(
        range(len(ps)), key=lambda i: (adjusted[i], ps[i], i)
    )


def test_tasks_needed_by_hand() -> None:
    # Connor 1987: discordant share 0.3, difference 0.1.
    z = stats.norm.ppf(0.975) * math.sqrt(0.3) + stats.norm.ppf(0.8) * math.sqrt(0.3 - 0.01)
    assert tasks_needed(0.2, 0.1) == math.ceil((z / 0.1) ** 2) == 234
    assert tasks_needed(0.1, 0.1) is None


def test_trials_of_one_task_are_not_independent() -> None:
    # Four tasks with five trials each, two always won and two never: by task the interval is as wide as four tasks are.
    low, high = bootstrap([1, 1, 0, 0])
    assert (low, high) == (0.0, 1.0)
    tasks = [f"t{i}" for i in range(4) for _ in range(5)]
    a = [i < 2 for i in range(4) for _ in range(5)]
    pair = compare_pairs(tasks, a, [False] * 20)
    assert pair.test == "sign flips by task"
    assert pair.p > 0.3
    assert mcnemar(10, 0) < 0.01


def test_pairs_count_who_solved_what() -> None:
    pair = compare_pairs(["a", "b", "c", "d"], [True, True, False, False], [True, False, True, False])
    assert (pair.both, pair.only_a, pair.only_b, pair.neither) == (1, 1, 1, 1)
    assert pair.difference == 0
    assert pair.p == 1.0
    assert pair.needed is None


def test_pairs_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="same tasks"):
        compare_pairs(["a"], [True], [True, False])


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12))
def test_sign_flips_estimate_mcnemar(b: int, c: int) -> None:
    differences = [1.0] * b + [-1.0] * c + [0.0] * 5
    assert sign_flip(differences) == pytest.approx(mcnemar(b, c), abs=0.03)


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [
        (3, 1, 1, 1 / 3, 1 / 3),  # TW-02
        (3, 1, 2, 2 / 3, 0.0),
        (3, 1, 5, None, None),
        (5, 2, 3, 0.9, 0.0),  # STAT-06: the plug-in estimate would be 0.784
        (8, 5, 3, 0.98214, 0.17857),  # STAT-07
        (8, 5, 9, None, None),
        (4, 0, 2, 0.0, 0.0),
        (4, 4, 4, 1.0, 1.0),
    ],
)
def test_of_k_attempts_any_or_all(n: int, c: int, k: int, at: float | None, hat: float | None) -> None:
    assert pass_at_k(n, c, k) == (None if at is None else pytest.approx(at, abs=5e-6))
    assert pass_hat_k(n, c, k) == (None if hat is None else pytest.approx(hat, abs=5e-6))


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_any_and_all_are_the_shares_of_all_choices_of_k_attempts(case: tuple[int, int, int]) -> None:
    n, c, k = case
    chosen = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))
