"""The ways in which models write thoughts and actions, and what is mended in reading them."""

from __future__ import annotations

import pytest

from trialogue.agents.contract import Liberty
from trialogue.agents.reading import Language, read_reply

TEMPLATES = (
    "look",
    "inventory",
    "go to {receptacle}",
    "open {receptacle}",
    "take {object} from {receptacle}",
    "put {object} in/on {receptacle}",
    "use {object}",
)
PUT = Language(
    TEMPLATES,
    ("look", "go to desk 1", "go to desk 10", "take mug 1 from desk 1", "put mug 1 in/on desk 1", "use desklamp 1"),
    "put",
)
MOVE = Language(
    tuple(t.replace("put {object} in/on", "move {object} to") for t in TEMPLATES), ("look", "move mug 1 to desk 1")
)
QA = Language(("search[{entity}]", "lookup[{keyword}]", "finish[{answer}]"))
SHOP = Language(("search[{query}]", "click[{button}]"), ("click[Buy Now]", "click[< Prev]"))
LOOSE = Language(TEMPLATES)


@pytest.mark.parametrize(
    ("language", "reply", "action", "kinds"),
    [
        (PUT, "Go To Desk 1", "go to desk 1", "case"),
        (PUT, "`go to desk 1`", "go to desk 1", "markdown"),
        (PUT, "**go to desk 1**", "go to desk 1", "markdown"),
        (PUT, '"go to desk 1"', "go to desk 1", "quotes"),
        (PUT, "“go to desk 1”", "go to desk 1", "quotes"),
        (PUT, "go to desk 1.", "go to desk 1", "full_stop"),
        (PUT, "go  to   desk 1", "go to desk 1", "white_space"),
        (PUT, "take the mug 1 from the desk 1", "take mug 1 from desk 1", "article"),
        (PUT, "take mug1 from desk_1", "take mug 1 from desk 1", "numbering"),
        (PUT, "put mug 1 in desk 1", "put mug 1 in/on desk 1", "dialect"),
        (PUT, "put mug 1 on desk 1", "put mug 1 in/on desk 1", "dialect"),
        (PUT, "move mug 1 to desk 1", "put mug 1 in/on desk 1", "dialect"),
        (MOVE, "put mug 1 in/on desk 1", "move mug 1 to desk 1", "dialect"),
        (MOVE, "put mug 1 in desk 1", "move mug 1 to desk 1", "dialect"),
        (PUT, "go to desk 1. Then I will look.", "go to desk 1", "full_stop trailing_text"),
        (PUT, "Take the Mug1 from the Desk 1.", "take mug 1 from desk 1", "full_stop article numbering case"),
        (PUT, "> go to desk 1", "go to desk 1", "prompt_mark"),
        (SHOP, "Click[buy now]", "click[Buy Now]", "case"),
        (QA, "Search[Lake Orin]", "search[Lake Orin]", "case"),
        (QA, "search [Lake Orin]", "search[Lake Orin]", "white_space"),
        (QA, "Search[the Lake] now", "search[the Lake]", "trailing_text case"),
        (QA, "finish[a [sic] b].", "finish[a [sic] b]", "full_stop"),
        (LOOSE, "Go to desk 1", "go to desk 1", "case"),
    ],
)
def test_repairs_are_recorded(language: Language, reply: str, action: str, kinds: str) -> None:
    reading = read_reply(reply, language=language)
    assert reading.action == action
    assert [liberty.kind for liberty in reading.liberties] == kinds.split()
    assert read_reply(reply, language=language, repairs=False).action in (reply.strip(), None)


def test_a_repair_says_what_was_before_and_after() -> None:
    reading = read_reply("take mug1 from desk 1", language=PUT)
    assert reading.liberties == (Liberty("numbering", "take mug1 from desk 1", "take mug 1 from desk 1"),)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        (PUT, "go to desk 9"),
        (PUT, "look at desk 1"),
        (PUT, "toggle desklamp 1 desk 1"),
        (PUT, "toggle the desklamp1"),
        (PUT, "use the desklamp"),
        (PUT, "examine mug 1"),
        (PUT, "take mug 1 from desk 10"),
        (MOVE, "put mug 1 under desk 1"),
        (SHOP, "click[the Buy Now]"),
        (QA, "search[  two  spaces the mug1. ]"),
        (QA, "browse[harbour]"),
        (LOOSE, "take the mug1 from desk 1"),
    ],
)
def test_what_cannot_be_mended_is_passed_on_as_it_is(language: Language, reply: str) -> None:
    reading = read_reply(reply, language=language)
    assert (reading.action, reading.liberties) == (reply, ())


@pytest.mark.parametrize(
    ("language", "reply", "thoughts", "action"),
    [
        (PUT, "think: I need a mug.", ("I need a mug.",), None),
        (PUT, " > think: I need a mug.", ("I need a mug.",), None),
        (PUT, "think: I need a mug.\ngo to desk 1", ("I need a mug.",), "go to desk 1"),
        (PUT, "Thought 1: a mug\nAction 1: go to desk 1", ("a mug",), "go to desk 1"),
        (PUT, "Thought: a mug,\nand then\na desk\nAction: look", ("a mug, and then a desk",), "look"),
        (PUT, "> **Thought 2:** a mug\n> **Action 2:** `go to desk 1`", ("a mug",), "go to desk 1"),
        (PUT, "__Thought__: a mug\n### Action\ngo to desk 1", ("a mug",), "go to desk 1"),
        (PUT, "思考：先找杯子。\n行动：go to desk 1\n观察：看到了", ("先找杯子。",), "go to desk 1"),
        (PUT, "思考：先找杯子。行动：look", ("先找杯子。",), "look"),
        (PUT, "Thought：a mug\nAction：look", ("a mug",), "look"),
        (PUT, "思考1：**a mug**\n行动1：look", ("**a mug**",), "look"),
        (PUT, "```\nThought: a mug\nAction: look\n```", ("a mug",), "look"),
        (PUT, "Action:\n```json\n{\"action\": \"go_to\", \"action_input\": \"desk 1\"}\n```", (), "go to desk 1"),
        (PUT, '{"thought": "a mug", "action": "look"}', ("a mug",), "look"),
        (PUT, '{"name": "look", "arguments": {}}', (), "look"),
        (PUT, '{"name": "take", "arguments": "{\\"receptacle\\": \\"desk 1\\", \\"object\\": \\"mug 1\\"}"}', (),
         "take mug 1 from desk 1"),
        (PUT, '<tool_call>\n{"name": "go to", "arguments": {"receptacle": "desk 1"}}\n</tool_call>', (),
         "go to desk 1"),
        (PUT, '{"action": "take", "action_input": "mug 1 from desk 1"}', (), "take mug 1 from desk 1"),
        (QA, '{"action": "Final Answer", "action_input": 8}', (), "finish[8]"),
        (QA, "Action: search\nAction Input: oat biscuits", (), "search[oat biscuits]"),
        (QA, "Action: search[Lake\nOrin]", (), "search[Lake Orin]"),
        (QA, "Action: think[It must be a lake.]", ("It must be a lake.",), None),
        (QA, "think[It must\nObservation: a lake.]", ("It must",), None),
        (QA, "think[a [b] c] search[d]", ("a [b] c",), "search[d]"),
        (QA, "Action: search[so. Observation 1: x]", (), "search[so. Observation 1: x]"),
        (PUT, "think: so\n> go to desk 9, and then the shelf 1.", ("so",), "go to desk 9, and then the shelf 1."),
        (PUT, '{"thought": "He said \\"so. Action: look", "action": "inventory"}', ("He said \"so. Action: look",),
         "inventory"),
        (QA, "Thought: so\nFinal Answer: The\nMill", ("so",), "finish[The Mill]"),
        (PUT, "Sure!\n\ngo to desk 1\n\nTell me what happens.", ("Sure!",), "go to desk 1"),
        (PUT, "I'd do this:\n> go to desk 1", ("I'd do this:",), "go to desk 1"),
        (PUT, "go to desk 1\ntake mug 1 from desk 1", (), "go to desk 1"),
    ],
)  # fmt: skip
def test_formats(language: Language, reply: str, thoughts: tuple[str, ...], action: str | None) -> None:
    reading = read_reply(reply, language=language)
    assert (reading.thoughts, reading.action) == (thoughts, action)
    assert reading.kind == ("thought" if action is None else "action")


@pytest.mark.parametrize(
    "reply",
    [
        "I could write \"Action: go to desk 1\", but I do not know.",
        "For example:\nAction: go to desk 1\n\nBut I do not know.",
        "An action looks like this, for instance:\n```\ngo to desk 1\n```\nI do not know.",
        "<thinking>Action: look</thinking>",
        "[THINK]Action: look[/THINK]",
        "◁think▷look◁/think▷",
        "<think>a<think>b</think>Action: look</think>",
        "Observation: you see a mug 1\nAction: take mug 1 from desk 1",
        "On the desk 1, there is a mug 1.\n> take mug 1 from desk 1",
        "I need the mug.\nGo to the desk and look for it.",
        "Okay, I would rather not.",
        "Options:\n* go to desk 1\n* look",
        "Action:",
        '{"action": "think", "action_input": "look"}',
        '{"action": "think: look"}',
    ],
)  # fmt: skip
def test_no_action_is_taken(reply: str) -> None:
    reading = read_reply(reply, language=PUT)
    assert (reading.kind, reading.action) == ("unreadable", None)
    assert reading.problem


def test_the_problem_names_the_command_language_and_gives_no_hint() -> None:
    problem = read_reply("I have no idea, sorry.", language=PUT).problem
    assert "go to {receptacle}" in problem
    assert "desk 1" not in problem


def test_what_stands_around_reasoning_does_not_become_one_word() -> None:
    assert read_reply("lo<think>hm</think>ok", language=PUT).action == "lo ok"


def test_a_mark_of_reasoning_stands_on_one_line() -> None:
    reading = read_reply("<think>a</think\nObservation 1: b\n> look", language=PUT)
    assert (reading.kind, reading.action) == ("unreadable", None)


def test_half_a_character_is_replaced_so_that_it_can_be_stored() -> None:
    assert read_reply("search[x\ud800y]", language=QA).action == "search[x\ufffdy]"
    assert read_reply('{"action": "search", "action_input": "x\\ud800y"}', language=QA).action == "search[x\ufffdy]"
    assert read_reply("search[\ud83d\ude00]", language=QA).action == "search[😀]"


def test_what_comes_after_a_thousand_lines_is_not_read_and_that_is_noted() -> None:
    reading = read_reply("x\n" * 1000 + "Action: look", language=PUT)
    assert reading.action is None
    assert reading.liberties[0] == Liberty("rest_unread", "look", "")
    assert read_reply("x\n" * 999 + "Action: look", language=PUT).action == "look"


@pytest.mark.parametrize(
    ("reply", "dropped"),
    [
        ("go to desk 1\nOn the desk 1, you see a mug 1.\n> take mug 1 from desk 1\nTaken.\n> look", 2),
        ("> think: a mug\nOK.\n> go to desk 1\nOn the desk 1, you see a mug 1.", 1),
        ("Action: look Observation: You see nothing.", 0),
    ],
)
def test_invented_observations_are_dropped_and_later_actions_counted(reply: str, dropped: int) -> None:
    reading = read_reply(reply, language=PUT)
    assert reading.liberties[-1].kind == "invented_observation"
    assert reading.liberties[-1].after == f"dropped, with {dropped} later actions"
    assert "you see" not in reading.echo.lower()


@pytest.mark.parametrize(
    ("reply", "kind", "action"),
    [
        ("Action: take mug 1 fr", "truncated", None),
        ("go to desk 1", "truncated", None),  # it may be the beginning of "go to desk 10"
        ("go to desk 10", "action", "go to desk 10"),
        ("go to desk 1\nand th", "action", "go to desk 1"),
        ('{"action": "go to desk 1"}', "action", "go to desk 1"),
        ("The mug is perh", "truncated", None),
        ("think: the mug is perh", "thought", None),
    ],
)
def test_a_cut_reply_gives_no_action_that_may_be_cut(reply: str, kind: str, action: str | None) -> None:
    reading = read_reply(reply, finish_reason="length", language=PUT)
    assert (reading.kind, reading.action) == (kind, action)


def test_a_cut_thought_is_kept_and_noted() -> None:
    reading = read_reply("think: the mug is perh", finish_reason="length", language=PUT)
    assert [liberty.kind for liberty in reading.liberties] == ["cut_off"]


@pytest.mark.parametrize("reply", ["**Action:** look", "行动：look", "Final Answer: look"])
def test_without_repairs_only_plain_labels_count(reply: str) -> None:
    language = Language(("look", "finish[{answer}]"), ("look",))
    assert read_reply(reply, language=language, repairs=False).kind == "unreadable"
    assert read_reply(reply, language=language).kind == "action"


def test_a_final_answer_is_no_action_where_nothing_finishes() -> None:
    assert read_reply("Final Answer: 8", language=PUT).kind == "unreadable"


@pytest.mark.parametrize("reply", ["I need a mug.", "think: I need a mug.", "Thought: I need a mug."])
def test_a_thought_that_was_asked_for_needs_no_label(reply: str) -> None:
    reading = read_reply(reply, language=PUT, thought_due=True)
    assert (reading.kind, reading.thoughts) == ("thought", ("I need a mug.",))


def test_a_reply_of_reasoning_alone_is_told_so() -> None:
    reading = read_reply("<think>Perhaps I look.</think>\n", language=PUT)
    assert (reading.kind, reading.echo) == ("unreadable", "")
    assert "no more than reasoning" in reading.problem
