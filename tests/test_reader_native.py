"""Native tool calls, read as commands."""

from __future__ import annotations

import json

import pytest

from trialogue.agents.contract import Liberty
from trialogue.agents.models.contract import ToolCall
from trialogue.agents.reading import Language, Reading, read_calls

HOUSE = Language(
    ("look", "go to {receptacle}", "take {object} from {receptacle}", "put {object} in/on {receptacle}"),
    ("look", "go to desk 1", "take mug 1 from desk 1", "put mug 1 in/on desk 1"),
)
QA = Language(("search[{entity}]", "lookup[{keyword}]", "finish[{answer}]"))
BUY = Language(("buy {target}",))


def read(
    *calls: tuple[str, str], text: str = "", language: Language = HOUSE, cut: bool = False, repairs: bool = True
) -> Reading:
    made = [ToolCall(f"call_{number}", name, arguments) for number, (name, arguments) in enumerate(calls)]
    finish_reason = "length" if cut else "tool_calls"
    return read_calls(text, made, finish_reason=finish_reason, language=language, repairs=repairs)


@pytest.mark.parametrize(
    ("language", "name", "arguments", "action"),
    [
        (HOUSE, "look", "{}", "look"),
        (HOUSE, "look", "", "look"),
        (HOUSE, "go_to", '{"receptacle": "desk 1"}', "go to desk 1"),
        (HOUSE, "go_to", '{"where": "desk 1"}', "go to desk 1"),
        (HOUSE, "go to", '{"receptacle": "desk 1"}', "go to desk 1"),
        (HOUSE, "take_from", '{"receptacle": "desk 1", "object": "mug 1"}', "take mug 1 from desk 1"),
        (HOUSE, "put_in_on", '{"object": "mug 1", "receptacle": "desk 1"}', "put mug 1 in/on desk 1"),
        (HOUSE, "command", '{"text": "dance with desk 1"}', "dance with desk 1"),
        (HOUSE, "dance", "{}", "dance"),
        (QA, "search", '{"entity": "Lake Orin"}', "search[Lake Orin]"),
        (QA, "search", '{"entity": "a\\nb [c]"}', "search[a b [c]]"),
        (QA, "final_answer", '{"answer": 8}', "finish[8]"),
        (QA, "search", '```json\n{"entity": "Lake Orin"}\n```', "search[Lake Orin]"),
    ],
)
def test_a_call_is_a_command(language: Language, name: str, arguments: str, action: str) -> None:
    reading = read((name, arguments), language=language)
    assert (reading.kind, reading.action, reading.liberties) == ("action", action, ())


def test_json_text_that_names_a_function_is_read_too() -> None:
    reading = read(text='{"name": "put_in_on", "arguments": {"object": "mug 1", "receptacle": "desk 1"}}')
    assert reading.action == "put mug 1 in/on desk 1"


@pytest.mark.parametrize(
    "arguments", ["null", "[1, 2]", "42", '"desk"', '{"x": "' + "y" * 50_000 + '" ', "{}", '{"target": null}']
)
def test_reply_04_bad_arguments_run_nothing(arguments: str) -> None:
    reading = read(("buy", arguments), language=BUY)
    assert (reading.kind, reading.action) == ("unreadable", None)
    assert len(reading.problem) <= 1000
    assert len(reading.echo) <= 200
    assert "arguments" in reading.problem or "JSON" in reading.problem or "needs target" in reading.problem


def test_reply_05_malformed_json_is_not_taken_for_no_arguments() -> None:
    reading = read(("buy", '{"option": "red",'), language=BUY)
    assert (reading.kind, reading.action) == ("unreadable", None)
    assert "could not be read" in reading.problem


def test_reply_06_escaped_quotes_are_kept() -> None:
    reading = read(("search", r'{"query": "who wrote \"To the Pier\"?"}'), language=QA)
    assert reading.action == 'search[who wrote "To the Pier"?]'


def test_a_cut_call_is_truncated_and_a_whole_one_is_not() -> None:
    reading = read(("go_to", '{"receptacle": "de'), text="To the desk.", cut=True)
    assert (reading.kind, reading.action, reading.thoughts) == ("truncated", None, ("To the desk.",))
    assert read(("go_to", '{"receptacle": "desk 1"}'), cut=True).action == "go to desk 1"


def test_only_the_first_call_is_made_and_the_others_are_noted() -> None:
    reading = read(("look", "{}"), ("go_to", '{"receptacle": "desk 1"}'), ("look", "{}"))
    assert reading.action == "look"
    assert reading.liberties == (
        Liberty("extra_action", 'go_to({"receptacle": "desk 1"})', ""),
        Liberty("extra_action", "look({})", ""),
    )


@pytest.mark.parametrize(
    ("text", "thoughts", "noted"),
    [
        ("A mug is needed.", ("A mug is needed.",), []),
        ("A mug is needed.\nIt may be on the desk.", ("A mug is needed. It may be on the desk.",), []),
        ("think: a mug", ("a mug",), []),
        ("", (), []),
        ("<think>Perhaps.</think>A mug.", ("A mug.",), [Liberty("reasoning_removed", "Perhaps.", "")]),
        ("A mug.\nAction: go to desk 1", ("A mug.",), [Liberty("extra_action", "go to desk 1", "")]),
        (
            "A mug.\nObservation: a cup 9",
            ("A mug.",),
            [Liberty("invented_observation", "Observation: a cup 9", "dropped, with 0 later actions")],
        ),
    ],
)
def test_text_beside_a_call_is_a_thought(text: str, thoughts: tuple[str, ...], noted: list[Liberty]) -> None:
    reading = read(("look", "{}"), text=text)
    assert (reading.action, reading.thoughts) == ("look", thoughts)
    assert list(reading.liberties) == noted
    assert "cup 9" not in reading.echo


@pytest.mark.parametrize(
    ("text", "kind", "action", "thoughts"),
    [
        ("A mug is needed.", "thought", None, ("A mug is needed.",)),
        ("Hm", "thought", None, ("Hm",)),
        ("look for a mug first", "thought", None, ("look for a mug first",)),
        ("go to desk 1", "action", "go to desk 1", ()),
        ("Go to the desk1.", "action", "go to desk 1", ()),
        ("A mug is needed.\nAction: look", "action", "look", ("A mug is needed.",)),
        ('{"action": "look"}', "action", "look", ()),
        ("", "unreadable", None, ()),
        ("Observation: a cup 9", "unreadable", None, ()),
    ],
)
def test_without_a_call_text_is_a_command_only_if_it_surely_is_one(
    text: str, kind: str, action: str | None, thoughts: tuple[str, ...]
) -> None:
    reading = read(text=text)
    assert (reading.kind, reading.action, reading.thoughts) == (kind, action, thoughts)


@pytest.mark.parametrize("call", [("think", '{"thought": "look"}'), ("command", '{"text": "think: look"}'), ("", "{}")])
def test_a_thought_or_nothing_is_no_command(call: tuple[str, str]) -> None:
    reading = read(call)
    assert (reading.kind, reading.action) == ("unreadable", None)
    assert reading.problem


def test_what_a_call_holds_is_on_one_line_and_can_be_stored() -> None:
    assert read(("command", '{"text": "dance\\nwith me"}')).action == "dance with me"
    assert read(("a\nb", "{}")).action == "a b"
    reading = read(("search", '{"entity": "x\\ud800y"}'), language=QA)
    assert reading.action == "search[x\ufffdy]"
    assert json.loads(json.dumps(reading.echo).encode()) == reading.echo


def test_repairs_of_a_call_are_noted_and_can_be_switched_off() -> None:
    arguments = '{"object": "the Mug1", "receptacle": "desk 1"}'
    reading = read(("take_from", arguments))
    assert reading.action == "take mug 1 from desk 1"
    assert [liberty.kind for liberty in reading.liberties] == ["article", "numbering", "case"]
    assert read(("take_from", arguments), repairs=False).action == "take the Mug1 from desk 1"
