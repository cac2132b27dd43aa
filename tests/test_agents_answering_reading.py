"""Reading answers, and counting votes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialogue.agents.answering.reading import Answered, read_answer
from trialogue.agents.answering.voting import normalised
from trialogue.agents.reading import Language

LANGUAGE = Language(("search[{entity}]", "finish[{answer}]"))


def read(text: str, **how: str | bool) -> Answered:
    return read_answer(text, language=LANGUAGE, question="Question:", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Two plus three boats. Therefore, the answer is 5.", "5"),  # PARSE-30
        ("Thought: Two and three.\nAnswer: 5", "5"),
        ("Thought: Two and three.\nFinal Answer: 5", "5"),
        ("Two and three.\n**Answer:** **5**", "5"),
        ("Thought: Two and three.\nAnswer:\n\n5\n", "5"),
        ("Thought: Two and three.\nAction 1: finish[5]", "5"),
        ("Two and three.\nFinish[5]", "5"),
        ("Answer: finish[5]", "5"),
        ('Two and three.\n{"action": "finish", "action_input": "5"}', "5"),
        ("Answer: The answer is Oslo.", "Oslo"),
        ("The answer is Oslo. So the answer is Oslo.", "Oslo"),  # SC-04
        ("Answer: Oslo\nNo, that is the capital.\nAnswer: Bergen", "Bergen"),
        ("The answer is Oslo. Wait.\nAnswer: Bergen", "Bergen"),
        ("Answer: Oslo\nOr rather, the answer is Bergen.", "Bergen"),
        ("finish[Oslo]\nfinish[Bergen]", "Bergen"),
        ("The answer is Bergen. It is a town in the west.", "Bergen"),
        ("The answer is St. Louis.", "St. Louis"),
        ("The answer is 16.5.", "16.5"),
        ("Answer: “Bergen”", "Bergen"),
        ("Answer: Washington, D.C.", "Washington, D.C."),
        ("<think>The answer is Oslo.</think>Answer: Bergen", "Bergen"),
        ("Thought: x\nAnswer: 5\n\nQuestion: How many cars?\nThought: y\nAnswer: 7", "5"),
        ("思考：在挪威。\n答案：卑尔根", "卑尔根"),
        ("Answer: Bergen\nAnswer:", "Bergen"),
    ],
)
def test_the_last_answer_that_a_reply_names_is_read(reply: str, answer: str) -> None:
    answered = read(reply)
    assert (answered.answer, answered.kind) == (answer, "action")


@pytest.mark.parametrize(
    "reply",
    ["", "   ", "I do not know.", "Answer:", "Action: Finish[]", "<think>The answer is 5.</think>", "search[boats]",
     "To answer the question I need the boats.", "Question: How many?\nAnswer: 7", "I would not finish[Oslo] yet."],
)  # fmt: skip
def test_a_reply_that_names_no_answer_is_unreadable(reply: str) -> None:
    answered = read(reply)
    assert (answered.answer, answered.kind) == (None, "unreadable")


def test_reasoning_is_what_led_to_the_answer() -> None:
    assert read("Thought: Two boats,\nand three.\nAnswer: 5").reasoning == "Two boats, and three."
    assert read(" Two boats.\nAnswer: 5", cue="Thought:").reasoning == "Two boats."
    assert read("Two boats. So the answer is 5.").reasoning == "Two boats. So the answer is 5."
    assert read("I do not know.").reasoning == "I do not know."
    assert read(" 5", cue="Answer:") == Answered("5")


def test_what_is_altered_is_told() -> None:
    def kinds(reply: str, **how: bool) -> list[str]:
        return [liberty.kind for liberty in read(reply, **how).liberties]

    assert kinds("Thought: x\nAnswer: 5") == []
    assert kinds("So the answer is 5.") == kinds("Answer: **5**") == kinds("finish[5]") == ["answer_taken"]
    assert kinds("<think>x</think>Answer: 5") == ["reasoning_removed"]
    assert kinds("Answer: 5\nQuestion: more?") == ["invented_question"]
    assert kinds("Bergen", bare=True) == ["answer_unlabelled"]


def test_a_short_line_is_an_answer_only_where_nothing_else_was_asked_for() -> None:
    assert read("Bergen", bare=True).answer == "Bergen"
    assert read("Bergen").answer is None
    assert read("One.\nTwo.", bare=True).answer is None
    assert read("Thought: I do not know.", bare=True).answer is None
    assert read("**", bare=True).answer is None
    assert read(" ".join("a" * 13), bare=True).answer is None


@pytest.mark.parametrize("reply", ["Thought: So.\nAnswer: Ber", "So the answer is Ber", "Ber"])
def test_an_answer_that_was_cut_off_is_none(reply: str) -> None:
    answered = read(reply, finish_reason="length", bare=True)
    assert (answered.answer, answered.kind) == (None, "truncated")


def test_an_answer_before_the_cut_is_one() -> None:
    assert read("Answer: Bergen\nBecause it", finish_reason="length").answer == "Bergen"
    assert read("Answer: Oslo\nOr: the answer is Ber", finish_reason="length").answer == "Oslo"
    assert read("finish[Bergen]", finish_reason="length").answer == "Bergen"


PARTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["Answer:", "The answer is ", "finish[", "]", "Thought:", "\n", " ", "Oslo", ". ", "Question:", "<think>",
             "</think>", '{"action": "finish", "action_input": ', "}", "**", "“", "答案：", "\ud800"]
        ),
        st.text(max_size=8),
    ),
    max_size=14,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(PARTS, st.sampled_from(["stop", "length", "other"]), st.sampled_from(["", "Thought:", "Answer:"]), st.booleans())
def test_any_text_is_read_and_any_answer_is_one_line(text: str, reason: str, cue: str, bare: bool) -> None:
    answered = read(text, finish_reason=reason, cue=cue, bare=bare)
    assert (answered.answer is None) == (answered.kind != "action")
    if answered.answer is not None:
        assert answered.answer == answered.answer.strip() != ""
        assert "\n" not in answered.answer
        answered.answer.encode()


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20))
def test_an_answer_written_as_asked_for_is_read_as_it_stands(answer: str) -> None:
    assert read(f"Thought: Hm.\nAnswer: {answer}") == Answered(answer, "Hm.")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Oslo", " oslo. "), ("The Hague", "hague"), ("(Bergen)", "Bergen!"), ("1,204", "1204"), ("Rock n'", "rock n")],
)  # fmt: skip
def test_the_same_vote(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"), [("5", "-5"), ("1.5", "15"), (".5", "5"), ("A", "The"), ("?", "!"), ("C++", "C#")]
)
def test_another_vote(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)
