"""Properties of the reader that hold for any text."""

from __future__ import annotations

import json

import pytest
from fuzz_reader import ARGUMENTS, LANGUAGES, NAMES, TRAPS, Case, fault, main, seconds_to_read, too_slow
from hypothesis import given, settings
from hypothesis import strategies as st

from trialogue.agents.models.contract import ToolCall
from trialogue.agents.reading import Language, Reading, read_reply

PUT = Language(
    ("look", "go to {receptacle}", "take {object} from {receptacle}", "put {object} in/on {receptacle}"),
    ("look", "go to desk 1", "go to desk 10", "take mug 1 from desk 1", "put mug 1 in/on desk 1"),
)
QA = Language(("search[{entity}]", "finish[{answer}]"))
FRAGMENTS = st.sampled_from(
    ["Thought:", "Action:", "Action 2: ", "Action Input:", "Observation:", "Final Answer:", "think:", "> ", "OK.", "\n",
     "```", "json", "**", "<think>", "</think>", '{"action": "look"', "}", '{"name": "go to", "arguments": ', "[", "]",
     "{", '"', "go to desk 1", "take the mug1 from desk 1", "search[x]", " because ", ". ", "思考：", "行动：", "\r"]
)  # fmt: skip
REPLIES = st.one_of(
    st.text(max_size=200), st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=25).map("".join)
)
TRAPPED = st.sampled_from(["{}", *TRAPS])
CALLS = st.lists(
    st.builds(
        ToolCall,
        st.just("1"),
        st.sampled_from([*NAMES, "go_to", "search"]) | st.text(max_size=10),
        st.sampled_from(ARGUMENTS) | st.text(max_size=30) | st.dictionaries(st.text(), st.text()).map(json.dumps),
    ),
    min_size=1,
    max_size=3,
)
WORDS = st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=8)
THOUGHTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(
    REPLIES, st.sampled_from(LANGUAGES), st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["{}", *TRAPS])
)
def test_any_text_is_read(
    reply: str, language: Language, repairs: bool, cut: bool, thought_due: bool, trap: str
) -> None:
    case = Case(trap.replace("{}", reply), language, repairs, cut, thought_due)
    assert fault(case, case.read()) == ""


@settings(max_examples=200, deadline=None)
@given(REPLIES, CALLS, st.sampled_from(LANGUAGES), st.booleans(), st.booleans(), TRAPPED)
def test_any_calls_are_read(
    reply: str, calls: list[ToolCall], language: Language, repairs: bool, cut: bool, trap: str
) -> None:
    case = Case(trap.replace("{}", reply), language, repairs, cut, calls=tuple(calls))
    reading = case.read()
    assert fault(case, reading) == ""
    dropped = [liberty for liberty in reading.liberties if liberty.kind == "extra_action"]
    assert len(dropped) >= len(calls) - 1


def test_the_fuzzer_finds_nothing_in_two_thousand_replies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "2000", "--seed", "11"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["count"] == sum(told["kinds"].values()) == 2000
    assert set(told["kinds"]) == {"action", "thought", "unreadable", "truncated"}


def test_the_fuzzer_says_what_it_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("fuzz_reader.read_reply", lambda *_, **__: Reading("action", action="dance\n"))
    assert main(["--count", "10"]) == 1
    assert "expected thoughts, action and echo on one line" in capsys.readouterr().out


@pytest.mark.parametrize(
    "unit",
    ["[", '{"action": ', "Action: ", "Action:\n", "> look\n", "a\n", "\n[", "\n{", "`", "]}", "思考：。",
     "<think", " ", "a in ", "for example:\n", "the ", "mug1 ", "Final Answer: ", "think[", "OK.\n", "```\n",
     ". Action: ", "<think></think>", "```\x85", "from a "],
)  # fmt: skip
@pytest.mark.parametrize(
    "before",
    ["", "Action: ", "put ", "convert a ", 'json\n{"action": "', '{"action":"search","action_input":', "search["],
)
def test_10_000_characters_are_read_within_50_ms(before: str, unit: str) -> None:
    for language in (PUT, QA, *LANGUAGES[-2:]):
        case = Case(before + unit * (10_000 // len(unit)), language)
        seconds, reading = seconds_to_read(case)
        assert not too_slow(case, seconds)
        assert fault(case, reading) == ""


@pytest.mark.parametrize("unit", ["[", '{"action": ', "Action: ", "think: ", "Action: think: "])
def test_a_very_long_reply_is_read(unit: str) -> None:
    case = Case(unit * 20_000, QA)
    assert fault(case, case.read()) == ""


@settings(deadline=None)
@given(st.text(max_size=60), st.sampled_from(["think", "thinking", "reasoning"]), st.booleans())
def test_nothing_inside_reasoning_is_an_action(inside: str, tag: str, closed: bool) -> None:
    reply = f"<{tag}>Action: look\n{inside}" + (f"</{tag}>" if closed else "")
    reading = read_reply(reply, language=Language(("look",), ("look",)))
    if "<" not in inside and "think" not in inside.lower():
        assert reading.action is None


@settings(deadline=None)
@given(THOUGHTS, st.sampled_from(PUT.admissible or ()), st.booleans())
def test_what_is_rendered_is_read_again(thought: str, action: str, marked: bool) -> None:
    mark = "> " if marked else ""
    alone = read_reply(f"{mark}{action}", language=PUT)
    assert (alone.kind, alone.action, alone.thoughts) == ("action", action, ())
    thinking = read_reply(f"{mark}think: {thought}", language=PUT)
    assert (thinking.kind, thinking.thoughts) == ("thought", (thought,))
    both = read_reply(f"{mark}think: {thought}\n{mark}{action}", language=PUT)
    assert (both.action, both.thoughts) == (action, (thought,))


@settings(deadline=None)
@given(st.sampled_from(PUT.admissible or ()), st.data())
def test_a_repair_never_changes_verb_or_objects(action: str, data: st.DataObject) -> None:
    """However an admissible command is dressed up, it is read as itself, with something noted."""
    dressed = action
    for dress in data.draw(st.lists(st.sampled_from(DRESSES), min_size=1, max_size=3, unique=True)):
        dressed = dress(dressed)
    reading = read_reply(dressed, language=PUT)
    assert reading.action == action
    assert bool(reading.liberties) == (dressed != action)
    assert read_reply(dressed, language=PUT, repairs=False).action in (None, dressed)


@settings(deadline=None)
@given(THOUGHTS)
def test_an_unknown_command_is_never_turned_into_another(words: str) -> None:
    reading = read_reply(f"Action: {words}", language=PUT)
    if words not in ("look",):
        assert reading.action == words


DRESSES = [
    str.title,
    lambda text: f"`{text}`",
    lambda text: f'"{text}"',
    lambda text: f"**{text}**",
    lambda text: text.replace(" 1", "1"),
    lambda text: f"{text}.",
    lambda text: text.replace(" ", "  "),
]
