"""Pure parts: grammars, merging of chunks, cutting at stops, classification of failures."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.agents.models import Constraint
from trialogue.agents.models.constraints import check_constraint, gbnf, permits, regular_expression, unwrap
from trialogue.agents.models.failures import failure_of_status, retry_after
from trialogue.agents.models.refusals import cut_at_stop
from trialogue.agents.models.wire import Malformed, merge_chunks, read_reply
from trialogue.errors import UsageError

LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=12).filter(
    lambda line: bool(line.strip())
)


def test_shared_beginnings_are_written_once() -> None:
    constraint = Constraint(("go to desk 1", "go to desk 10", "go to bed 1", "look"), "think: ")
    assert gbnf(constraint) == (
        'root ::= " "? ("go to " ("bed 1" | "desk 1" ("0")?) | "look" | "think: " [^\\n]+) "\\n"'
    )


def test_quotes_and_backslashes_are_escaped() -> None:
    assert gbnf(Constraint(('say "a\\b" é\t',))) == 'root ::= " "? ("say \\"a\\\\b\\" é\\U00000009") "\\n"'


def language(grammar: str) -> set[str]:
    """All texts of a grammar in our subset (literals, groups, optional groups), by following it literally."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[()|?]', grammar.removeprefix("root ::= "), re.DOTALL)

    def alternatives() -> set[str]:
        found = sequence()
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            found |= sequence()
        return found

    def sequence() -> set[str]:
        found = {""}
        while tokens and tokens[0] not in "|)":
            token = tokens.pop(0)
            part = alternatives() if token == "(" else {literal(token)}
            if token == "(":
                tokens.pop(0)
            if tokens and tokens[0] == "?":
                tokens.pop(0)
                part = part | {""}
            found = {head + tail for head in found for tail in part}
        return found

    def literal(token: str) -> str:
        plain = re.sub(r"\\U([0-9a-f]{8})", lambda match: chr(int(match[1], 16)), token[1:-1])
        return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), plain)

    return alternatives()


@given(st.lists(LINES.filter(lambda line: line.isprintable()), min_size=1, max_size=8, unique=True))
def test_a_grammar_says_the_choices_and_nothing_else(choices: list[str]) -> None:
    said = language(gbnf(Constraint(tuple(choices))))
    assert said == {space + choice + "\n" for choice in choices for space in ("", " ")}


@given(st.lists(LINES, min_size=1, max_size=8), LINES, LINES)
def test_the_regular_expression_matches_what_is_permitted(choices: list[str], prefix: str, rest: str) -> None:
    pattern = re.compile(regular_expression(Constraint(tuple(choices), prefix)))
    assert all(pattern.fullmatch(choice) for choice in [*choices, prefix + rest])
    assert pattern.fullmatch("\n") is None


def test_what_a_constraint_permits() -> None:
    constraint = Constraint(("look",), "think: ")
    assert [permits(constraint, text) for text in ("look", "think: x", "think:", "looks", "think: a\nb")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert not permits(Constraint(("look",)), "think: x")


@pytest.mark.parametrize("constraint", [Constraint(()), Constraint(("a\nb",)), Constraint((" ",)), Constraint((), "")])
def test_impossible_constraints_are_refused(constraint: Constraint) -> None:
    with pytest.raises(UsageError, match="constraint"):
        check_constraint(constraint)


@given(st.text(max_size=40) | st.sampled_from(['{"line": 1}', '{"line": {"rest": 2}}', "[]", "null", '{"line": {}}']))
def test_unwrapping_never_fails(text: str) -> None:
    assert unwrap(Constraint(("look",), "think: "), text) is None or '"line"' in text


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=3), max_size=3))
def test_cutting_leaves_no_stop_and_only_takes_from_the_end(text: str, stop: list[str]) -> None:
    cut = cut_at_stop(text, stop)
    assert text.lstrip().startswith(cut)
    assert not [mark for mark in stop if mark in cut]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "text", "usage", "timings"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_reply_or_malformed(body: object) -> None:
    try:
        reply = read_reply(body)
    except Malformed:
        return
    assert isinstance(reply.text, str)
    assert min(reply.usage.prompt, reply.usage.completion, reply.usage.cached) >= 0


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    reply = read_reply({"choices": [{"text": "a\ud83d b \ud83d\ude00"}]})
    assert reply.text == "a\ufffd b \U0001f600"


@given(st.lists(st.text(max_size=4), max_size=6))
def test_merged_chunks_hold_all_text(parts: list[str]) -> None:
    chunks = [{"choices": [{"delta": {"content": part}}]} for part in parts]
    end = {"choices": [{"delta": None, "finish_reason": "length"}], "usage": {"completion_tokens": 3}}
    reply = read_reply(merge_chunks([*chunks, end, {"choices": None}]))
    assert (reply.text, reply.finish_reason, reply.usage.completion) == ("".join(parts), "length", 3)
    with pytest.raises(Malformed, match="broke off"):
        merge_chunks(chunks)


@given(st.integers(400, 599), st.text(max_size=80))
def test_every_failure_has_a_kind_and_says_its_status(status: int, body: str) -> None:
    failure = failure_of_status(status, body, "http://h/v1/completions", {})
    assert str(status) in failure.message
    assert failure.error().kind == failure.kind
    assert failure.retry == (failure.kind in ("rate_limit", "server"))


def test_pauses_in_every_form() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=30), usegmt=True)
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 25 < (retry_after({"retry-after": soon}) or 0) <= 30
    assert [retry_after({"retry-after": text}) for text in ("1.5", past, "soon", "nan", "-1")] == [
        1.5,
        0.0,
        None,
        None,
        None,
    ]
    assert retry_after({}) is None
