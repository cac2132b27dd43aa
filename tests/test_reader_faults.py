"""Faults that were reported of other readers of model replies, each with the reading that is right."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from trialogue.agents.reading import Language, Reading, concluding_answer, read_reply

HOUSEHOLD = Language(
    ("look", "go to {receptacle}", "examine {something}", "take {object} from {receptacle}", "use {object}"),
    ("look", "go to desk 1", "go to fridge 1", "go to shelf 4", "examine desk 1", "take mug 1 from desk 1"),
)
QA = Language(("search[{entity}]", "lookup[{keyword}]", "finish[{answer}]"))
SHOP = Language(("search[{query}]", "click[{button}]"))


@dataclass(frozen=True)
class Case:
    language: Language
    reply: str
    action: str | None
    thoughts: tuple[str, ...] = ()
    kind: str = "action"
    liberties: tuple[str, ...] = ()
    finish_reason: str = "stop"
    thought_due: bool = False


EPISODE = """Thought: The mug may be on the desk.
Action: go to desk 1
Observation: On the desk 1, you see a mug 1.
Thought: I take it.
Action: take mug 1 from desk 1
Observation: You pick up the mug 1.
Action: finish[done]"""

CASES = {
    "PARSE-01-thought": Case(
        QA,
        "The film has to be found before its year. Action: Search[The Glass Harbor]",
        "search[The Glass Harbor]",
        ("The film has to be found before its year.",),
        liberties=("label", "case"),
        thought_due=True,
    ),
    "PARSE-01-action": Case(QA, "I will look it up now.", None, kind="unreadable"),
    "PARSE-02": Case(
        HOUSEHOLD,
        EPISODE,
        "go to desk 1",
        ("The mug may be on the desk.",),
        liberties=("label", "invented_observation"),
    ),
    "PARSE-03": Case(
        QA,
        "Thought: I need the keeper count.\nAction: Search[Brindle Lighthouse]\n"
        "Observation: Sources say it had 3 keepers.\nThought: I now know.\nFinal Answer: 3",
        "search[Brindle Lighthouse]",
        ("I need the keeper count.",),
        liberties=("label", "case", "invented_observation"),
    ),
    "PARSE-04": Case(
        QA,
        "Thought: The tower page gives it.\nAction: Lookup[height]\nFinal Answer: 212 m",
        "lookup[height]",
        ("The tower page gives it.",),
        liberties=("label", "case", "final_answer_ignored"),
    ),
    "PARSE-04-answer-first": Case(
        QA, "Final Answer: 212 m\nAction: lookup[height]", "lookup[height]", liberties=("label", "final_answer_ignored")
    ),
    "PARSE-05": Case(QA, "Answer: 8", "finish[8]", liberties=("final_answer",)),
    "PARSE-06": Case(
        HOUSEHOLD,
        "I will hand this to the shelf.\n\nAction: go to shelf 4",
        "go to shelf 4",
        ("I will hand this to the shelf.",),
        liberties=("label", "prose_as_thought"),
    ),
    "PARSE-08": Case(
        QA,
        "Thought 3: I should search the lake.\nAction 3: Search[Lake Orin]\nObservation 3:",
        "search[Lake Orin]",
        ("I should search the lake.",),
        liberties=("label", "case", "invented_observation"),
    ),
    "PARSE-09": Case(
        HOUSEHOLD,
        "Thought: closer look.\nAction:\n\n  examine desk 1  \n",
        "examine desk 1",
        ("closer look.",),
        liberties=("label",),
    ),
    "PARSE-11": Case(
        QA,
        "**Thought:** compute first.\n**Action:** search[tide table]",
        "search[tide table]",
        ("compute first.",),
        liberties=("label",),
    ),
    "PARSE-14": Case(
        SHOP,
        "To find it I must type the term.\n\n```\nsearch[oat dog biscuits]\n```",
        "search[oat dog biscuits]",
        ("To find it I must type the term.",),
        liberties=("fence", "prose_as_thought"),
    ),
    "PARSE-19": Case(
        SHOP, 'json\n{"action": "search", "action_input": "25 cm pan"}', "search[25 cm pan]", liberties=("json",)
    ),
    "PARSE-21-two": Case(
        SHOP,
        "Action: search[red mug] search[blue mug]",
        "search[red mug]",
        liberties=("label", "trailing_text"),
    ),
    "PARSE-21-prose": Case(
        SHOP,
        "Action: click[Buy Now] because it fits the budget [really].",
        "click[Buy Now]",
        liberties=("label", "full_stop", "trailing_text"),
    ),
    "PARSE-22": Case(
        SHOP,
        "<think>Maybe search[chairs]? Weights [0.2, 0.8]. No.</think>\nAction: search[stool]",
        "search[stool]",
        liberties=("reasoning_removed", "label"),
    ),
    "PARSE-23": Case(
        SHOP,
        "I could do Action: click[Back to Search] first, no.</think>\nAction: click[Buy Now]",
        "click[Buy Now]",
        liberties=("reasoning_removed", "label"),
    ),
    "PARSE-24": Case(
        HOUSEHOLD,
        "<think>Perhaps Action: go to fridge 1 but the egg",
        None,
        kind="truncated",
        liberties=("reasoning_removed",),
        finish_reason="length",
    ),
    "PARSE-26": Case(
        SHOP,
        '</think>\n{"name": "click", "arguments": {"value": "next >"}}\n</tool_call>',
        "click[next >]",
        liberties=("json", "trailing_text"),
    ),
    "PARSE-29": Case(QA, "So the three sights are the pier, the mill and the old lock.", None, kind="unreadable"),
    "PARSE-30-prose": Case(QA, "Two plus three boats. Therefore, the answer is 5.", None, kind="unreadable"),
    "PARSE-30-empty": Case(QA, "Action: Finish[]", "finish[]", liberties=("label", "case")),
    "REPLY-01": Case(QA, "", None, kind="truncated", finish_reason="length"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_reported_fault(case: Case) -> None:
    reading = read(case)
    assert (reading.kind, reading.action, reading.thoughts) == (case.kind, case.action, case.thoughts)
    assert [liberty.kind for liberty in reading.liberties] == list(case.liberties)
    assert bool(reading.problem) == (case.kind != "action")


def test_parse_02_drops_the_invented_episode() -> None:
    reading = read(CASES["PARSE-02"])
    assert reading.liberties[-1].after == "dropped, with 2 later actions"
    assert "you see a mug" not in " ".join([reading.echo, *reading.thoughts])


def test_parse_23_history_holds_no_reasoning() -> None:
    reading = read(CASES["PARSE-23"])
    assert reading.echo == "Action: click[Buy Now]"


@pytest.mark.parametrize(
    ("reply", "arguments"),
    [
        pytest.param(
            "Thought: filter.\nAction: search\n"
            'Action Input: {"filters": {"field": "title", "type": "exact"}, "limit": 5}',
            {"filters": {"field": "title", "type": "exact"}, "limit": 5},
            id="PARSE-16",
        ),
        pytest.param(
            'Action: note\nAction Input: {"why": "use { for blocks, not }", "n": 2} thanks',
            {"why": "use { for blocks, not }", "n": 2},
            id="PARSE-17",
        ),
    ],
)
def test_arguments_lose_nothing(reply: str, arguments: object) -> None:
    action = read_reply(reply, language=SHOP).action
    assert action is not None
    assert json.loads(action[action.index("[") + 1 : -1]) == arguments


def test_parse_30_chain_of_thought_answer() -> None:
    assert concluding_answer("Two plus three boats. Therefore, the answer is 5.") == "5"
    assert concluding_answer("Therefore, THE ANSWER IS: the old mill") == "the old mill"
    assert concluding_answer("<think>the answer is 4</think>No idea.") is None
    assert concluding_answer("The answer is Oslo. So the correct answer is Bergen.") == "Bergen"


def test_only_a_mark_in_capitals_and_square_brackets_is_reasoning() -> None:
    language = Language(("search[{words}]",))
    assert read_reply("search[think]", language=language).action == "search[think]"
    assert read_reply("[THINK]search[a][/THINK]search[b]", language=language).action == "search[b]"


@pytest.mark.parametrize(
    "arguments", ["null", "[1, 2]", "42", '"desk"', '{"x": "' + "y" * 50_000 + '" ', '{"option": "red",', "{}"]
)
@pytest.mark.parametrize("as_text", [True, False])
def test_reply_04_and_05_bad_arguments_run_nothing(arguments: str, as_text: bool) -> None:
    language = Language(("buy {target}",))
    value = json.dumps(arguments) if as_text else arguments
    reading = read_reply(f'{{"name": "buy", "arguments": {value}}}', language=language)
    assert (reading.kind, reading.action) == ("unreadable", None)
    assert len(reading.problem) <= 1000
    assert "argument" in reading.problem or "JSON" in reading.problem or "needs target" in reading.problem


def test_reply_05_says_that_the_json_could_not_be_read() -> None:
    reading = read_reply('Action: search\nAction Input: {"option": "red",', language=SHOP)
    assert reading.action is None
    assert "JSON" in reading.problem
    assert "could not be read" in reading.problem


def test_reply_06_keeps_escaped_quotes() -> None:
    reply = r'{"name": "search", "arguments": {"query": "who wrote \"To the Pier\"?"}}'
    assert read_reply(reply, language=SHOP).action == 'search[who wrote "To the Pier"?]'


def test_alf_15_an_unknown_verb_is_passed_on_as_it_is() -> None:
    reading = read_reply("Action: toggle desklamp 1 desk 1", language=HOUSEHOLD)
    assert reading.action == "toggle desklamp 1 desk 1"


def read(case: Case) -> Reading:
    return read_reply(
        case.reply, finish_reason=case.finish_reason, language=case.language, thought_due=case.thought_due
    )
