"""Scores of answers: the official figures, where they are departed from, and what other harnesses got wrong."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.envs.wiki.scoring import (
    LABELS,
    METRICS,
    exact_match,
    f1,
    fever_label,
    fever_match,
    fever_report,
    official,
)
from trialogue.errors import UnknownName, UsageError

TEXT = st.text(max_size=60)
WORDY = st.text(st.sampled_from("aAnthe yos.-,!13 é–"), max_size=30)


@pytest.mark.parametrize(
    ("prediction", "gold", "right"),
    [("C", "A", False), ("A", "A", True), ("a", "A", True), ("An", "A", False)],
)
def test_an_answer_that_is_an_article_matches_only_itself(prediction: str, gold: str, right: bool) -> None:  # QA-01
    assert exact_match(prediction, gold) is right
    assert f1(prediction, gold) == float(right)


@pytest.mark.parametrize(
    ("prediction", "gold", "right"),
    [
        ("", "The The", False),
        ("the", "The The", False),
        ("The The", "The The", True),
        ("", "!!!", False),
        ("???", "!!!", False),
        ("!!!", "!!!", True),
    ],
)
def test_an_answer_of_which_nothing_is_left_matches_only_itself(prediction: str, gold: str, right: bool) -> None:
    # QA-02
    assert exact_match(prediction, gold) is right


@pytest.mark.parametrize(("prediction", "gold"), [("13-3", "13–3"), ("José", "Jose")])
def test_other_dashes_and_accents_count_unless_folded(prediction: str, gold: str) -> None:  # QA-03
    assert not exact_match(prediction, gold)
    assert exact_match(prediction, gold, "unicode_folded")


@pytest.mark.parametrize(
    ("prediction", "gold", "strict"),
    [
        ("1.0", "10", False),
        ("3.14", "314", False),
        ("(3.14)", "3.14", True),
        ("3,677 seated", "3677 seated", True),
        ("-5", "5", False),
        ("13-3", "133", True),
        ("It was 10.", "it was 10", True),
    ],
)
def test_numbers_keep_their_point_and_sign_where_the_metric_says_so(prediction: str, gold: str, strict: bool) -> None:
    # QA-04
    assert exact_match(prediction, gold)
    assert exact_match(prediction, gold, "number_aware") is strict


@pytest.mark.parametrize(
    ("prediction", "gold", "score"),
    [
        ("Chief of Protocol", "Chief of Protocol", 1.0),
        ("the chief of protocol", "Chief of Protocol", 1.0),
        ("Chief of Staff", "Chief of Protocol", 2 / 3),
        ("protocol chief of", "Chief of Protocol", 1.0),
        ("Protocol", "Chief of Protocol", 0.5),
        ("yes it is", "yes", 0.0),
        ("no", "yes", 0.0),
        ("yes", "yes, in 1990", 0.0),
        ("nothing alike", "Chief of Protocol", 0.0),
        ("", "Chief of Protocol", 0.0),
    ],
)
def test_f1_is_the_official_one(prediction: str, gold: str, score: float) -> None:
    assert f1(prediction, gold) == pytest.approx(score)


def by_the_script(text: str) -> str:
    """The evaluation script's four steps, in its order, written down once more."""
    kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


@given(WORDY, WORDY)
def test_exact_match_agrees_with_the_script_wherever_something_is_left(prediction: str, gold: str) -> None:
    if by_the_script(gold):
        assert exact_match(prediction, gold) is (by_the_script(prediction) == by_the_script(gold))


@given(TEXT, st.sampled_from(sorted(METRICS)))
def test_every_text_matches_itself_and_nothing_matches_nothing(text: str, metric: str) -> None:
    assert exact_match(text, text, metric) is bool(text.strip())
    assert not exact_match("", text, metric)


@given(WORDY, WORDY, st.sampled_from(sorted(METRICS)))
def test_f1_is_a_share_and_one_where_the_match_is_exact(prediction: str, gold: str, metric: str) -> None:
    score = f1(prediction, gold, metric)
    assert 0.0 <= score <= 1.0
    if exact_match(prediction, gold, metric):
        assert score == 1.0


@given(TEXT)
def test_normalising_twice_changes_nothing(text: str) -> None:
    for normalise in METRICS.values():
        assert " ".join(normalise(text).split()) == normalise(text)
    assert official(official(text)) == official(text)


def test_an_unknown_metric_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'number_aware'"):
        exact_match("1", "1", "number_awar")


@pytest.mark.parametrize(
    ("spelling", "label"),
    [
        ("not enough info", "NOT ENOUGH INFO"),
        ("NOT_ENOUGH_INFO", "NOT ENOUGH INFO"),
        ("NotEnoughInfo", "NOT ENOUGH INFO"),
        ("Not enough information.", "NOT ENOUGH INFO"),
        ("REFUTES", "REFUTES"),
        ("refuted", "REFUTES"),
        (" Supports. ", "SUPPORTS"),
        ("not supported", None),
        ("SUPPORTS or REFUTES", None),
        ("", None),
        ("поддерживает", None),
    ],
)
def test_labels_are_read_in_their_usual_spellings(spelling: str, label: str | None) -> None:  # QA-06
    assert fever_label(spelling) == label
    assert [fever_match(spelling, gold) for gold in LABELS] == [gold == label for gold in LABELS]


@given(TEXT)
def test_any_text_is_a_label_or_none(text: str) -> None:
    assert fever_label(text) in (*LABELS, None)


def test_a_gold_label_must_be_one() -> None:
    with pytest.raises(UsageError, match="a gold label is one of"):
        fever_match("SUPPORTS", "MAYBE")


def test_claims_without_an_answer_stay_in_the_count() -> None:  # QA-07
    gold = {"c1": "SUPPORTS", "c2": "REFUTES", "c3": "NOT ENOUGH INFO", "c4": "REFUTES"}
    report = fever_report({"c1": "SUPPORTS", "c2": "REFUTES", "c4": "SUPPORTS"}, gold)
    assert (report.n, report.correct, report.accuracy, report.unanswered) == (4, 2, 0.5, 1)
    with pytest.raises(UsageError, match="none for: c9"):
        fever_report({"c9": "SUPPORTS"}, gold)
    with pytest.raises(UsageError, match="no claims"):
        fever_report({}, {})
