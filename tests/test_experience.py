"""What an agent remembers of its own commands, and observations cut short."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialogue.agents.experience import Experience, Known, shortened

ANNOUNCED = "({count} more)"


def lived(*pairs: tuple[str, str]) -> Experience:
    experience = Experience()
    experience.heard("A room.")
    for action, answer in pairs:
        experience.did(action)
        experience.heard(answer)
    return experience


def test_nothing_is_heard_before_the_first_observation() -> None:
    experience = Experience()
    assert experience.heard_nothing
    assert experience.heard("A room.") is None
    assert not experience.heard_nothing


def test_the_latest_time_that_the_same_was_done_is_told() -> None:
    experience = lived(("look", "Dark.\nAnd cold."), ("open door", "It is open."), ("look", "Light."))
    experience.did("look")
    assert experience.heard("Bright.") == Known(3, "Light.")
    experience.did("open door")
    assert experience.heard("It is open.") == Known(2, "It is open.")
    experience.did("Open door")
    assert experience.heard("Nothing happens.") is None


def test_an_answer_is_told_again_on_one_line_and_not_at_any_length() -> None:
    experience = lived(("look", "a\n b" + "c" * 500))
    experience.did("look")
    known = experience.heard("x")
    assert known is not None
    assert known.answer == "a b" + "c" * 196 + "…"


def test_an_observation_without_a_command_is_no_answer() -> None:
    experience = lived(("look", "Dark."))
    assert experience.heard("The wind howls.") is None
    assert not experience.would_repeat("look")


@pytest.mark.parametrize(
    ("pairs", "repeating", "would"),
    [
        ([], False, False),
        ([("look", "Dark.")], False, False),
        ([("look", "Dark.")] * 2, False, True),
        ([("look", "Dark.")] * 3, True, True),
        ([("look", "Dark."), ("look", "Dim.")], False, False),
        ([("look", "Dark."), ("look", "Dim."), ("look", "Dim.")], False, True),
        ([("wait", "Dark."), ("wait", "Dark.")], False, False),
        ([("look", "Dark."), ("wait", "Dark.")] * 3, True, False),
        ([("look", "Dark."), ("wait", "Dark.")] * 2 + [("look", "Dark.")], False, False),
    ],
)
def test_circles(pairs: list[tuple[str, str]], repeating: bool, would: bool) -> None:
    experience = lived(*pairs)
    assert experience.is_repeating() == repeating
    assert experience.would_repeat("look") == would
    assert not experience.would_repeat(None)


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("Short.", 20, "Short."),
        ("x" * 20, 20, "x" * 20),
        ("One sentence. Another sentence.", 20, "One sentence.\n(18 more)"),
        ("One line here\nAnother line here", 20, "One line here\n(18 more)"),
        ("Exactly twenty char. And more.", 20, "Exactly twenty char.\n(10 more)"),
        ("Hi. There is a very long list of things", 20, "Hi. There is a very\n(20 more)"),
        ("A list of many-many things", 20, "A list of many-many\n(7 more)"),
        ("x" * 50, 20, "x" * 20 + "\n(30 more)"),
        ("\n" + "x" * 50, 20, "\n" + "x" * 19 + "\n(31 more)"),
        ("3.5 and 4.5 and 5.5 and 6.5", 20, "3.5 and 4.5 and 5.5\n(8 more)"),
        ("杯子在桌子上。杯子在桌子上。杯子在桌子上。", 20, "杯子在桌子上。杯子在桌子上。\n(7 more)"),
    ],
)
def test_where_a_text_is_cut(text: str, most: int, cut: str) -> None:
    assert shortened(text, most, ANNOUNCED) == cut


@given(st.text(st.sampled_from("ab .!?\n\t杯")) | st.text(), st.integers(20, 60))
@example(" " * 100, 20)
@example(". " * 50, 20)
def test_what_is_left_out_is_counted_exactly(text: str, most: int) -> None:
    made = shortened(text, most, ANNOUNCED)
    if len(text) <= most:
        assert made == text
        return
    kept, _, count = made.rpartition("\n")
    assert text.startswith(kept)
    assert len(kept) <= most
    found = re.fullmatch(r"\((\d+) more\)", count)
    assert found is not None
    assert int(found[1]) == len(text) - len(kept)
    assert shortened(text, None, ANNOUNCED) == text
