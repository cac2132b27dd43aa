"""When an episode goes round in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.agents.stuck import is_stuck

PAIR = st.tuples(st.sampled_from("abc"), st.sampled_from("xy"))
LOOK = ("look", "a room")


@pytest.mark.parametrize(
    ("pairs", "stuck"),
    [
        ([], False),
        ([LOOK] * 2, False),
        ([LOOK] * 3, True),
        ([("look", "a room"), ("look", "a room"), ("look", "a dog came in")], False),
        ([("open", "1"), ("close", "2")] * 3, True),
        ([("open", "1"), ("close", "2")] * 3 + [LOOK], False),
        ([(str(n), "") for n in range(4)] * 3, True),
        ([(str(n), "") for n in range(5)] * 3, False),
    ],
)
def test_stuck(pairs: list[tuple[str, str]], stuck: bool) -> None:
    assert is_stuck(pairs) is stuck


@given(st.lists(PAIR, max_size=8), st.lists(PAIR, min_size=1, max_size=4), st.integers(2, 5))
def test_a_cycle_repeated_often_enough_is_stuck_whatever_came_before(
    before: list[tuple[str, str]], cycle: list[tuple[str, str]], repeats: int
) -> None:
    assert is_stuck(before + cycle * repeats, repeats=repeats)


@given(st.lists(PAIR, max_size=12), st.integers(1, 4), st.integers(2, 4))
def test_news_is_never_stuck(pairs: list[tuple[str, str]], cycle: int, repeats: int) -> None:
    assert not is_stuck([*pairs, ("a", "never seen before")], cycle=cycle, repeats=repeats)


@given(st.lists(PAIR, max_size=14), st.integers(1, 3), st.integers(2, 4))
def test_stricter_settings_find_no_more(pairs: list[tuple[str, str]], cycle: int, repeats: int) -> None:
    if is_stuck(pairs, cycle=cycle, repeats=repeats + 1):
        assert is_stuck(pairs, cycle=cycle + 1, repeats=repeats)


@pytest.mark.parametrize("settings", [{"cycle": 0}, {"repeats": 1}])
def test_settings_under_which_all_would_be_stuck_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected cycle >= 1 and repeats >= 2"):
        is_stuck([LOOK], **settings)
