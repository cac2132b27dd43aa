"""Every notation: what it writes is read back as it was, prompts as exact text, and constrained decoding."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from small_house import ADMISSIBLE, EXEMPLARS, GOAL, START, TEMPLATES, briefing

from trialogue.agents.models.contract import Constraint, Message, Tool, ToolCall
from trialogue.agents.notation import NotationName, Wanted, notation_named
from trialogue.agents.prompt import first_observation, new_transcript, render_memory
from trialogue.agents.reading import Language, Reading, read_calls, read_reply
from trialogue.agents.reading.reader import reads_like_prose
from trialogue.agents.reading.repairs import repair
from trialogue.agents.transcript import Transcript, one_line
from trialogue.agents.wording import wording_for

NAMES: tuple[NotationName, ...] = get_args(NotationName)
WRITTEN: tuple[NotationName, ...] = tuple(name for name in NAMES if name != "tools")
WORDING = wording_for("household")

HOUSEHOLD = Language((*TEMPLATES, "put {object} in/on {receptacle}", "convert {amount} from {unit} to {unit}"))
QA = Language(("search[{entity}]", "lookup[{keyword}]", "finish[{answer}]"))
BOTH = Language((*HOUSEHOLD.templates, *QA.templates))

# -- what is written is read again ----------------------------------------------------------------------

OWN_MARKS = re.compile(
    r"think|thought|reason|action|observation|answer|example|instance|such as|e\.g\.|scratchpad|analysis|reflection|"
    r"思考|想法|行动|动作|观察|观测|答案|```|~~~|^\W{0,4}(json\b)?\s*\{|json$",
    re.IGNORECASE,
)
"""What has a meaning of its own in a reply, so that no thought that holds it can be told from it."""

LINES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40),
    st.lists(
        st.sampled_from(
            ["the mug", "is on", "desk 1", "“so”", '"', "'", "(a)", ":", "：", ". ", "。", "!", "?", "…", ">",
             "*", "**",
             "`", "#", "-", "1.", "{", "}", "\\", "look", "I", "go to desk 1", "search[x]", "OK.", "杯子",
             "чашка", "🙂",
             "json", "null", ",", ";", "|", "<", "/", "because", "No.", "1", "@"]
        ),
        min_size=1,
        max_size=12,
    ).map(" ".join),
).map(one_line).filter(lambda text: text and not OWN_MARKS.search(text))  # fmt: skip
BALANCED = st.recursive(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="[]"), max_size=12),
    lambda inner: st.tuples(inner, inner, inner).map(lambda parts: f"{parts[0]}[{parts[1]}]{parts[2]}"),
    max_leaves=4,
).map(one_line)


@st.composite
def commands(draw: st.DrawFn, language: Language) -> str:
    form = draw(st.sampled_from(language.forms))
    arguments = [draw(BALANCED if form.bracketed else LINES) for _ in form.parameters]
    return one_line(form.fill(*arguments))


TOLD = st.sampled_from([HOUSEHOLD, QA, BOTH]).flatmap(
    lambda language: st.tuples(
        st.just(language), st.lists(LINES, max_size=3), st.one_of(st.none(), commands(language)), st.integers(1, 30)
    )
)
ONLY_NAMED = {"label", "json", "prompt_mark"}
"""Liberties that say how something was written, and alter nothing."""


def said(transcript: Transcript, wanted: Wanted, thoughts: Sequence[str], action: str | None, chat: bool) -> str:
    """What a model must have replied for the transcript to go on with ``thoughts`` and ``action``."""
    if chat:
        lines = transcript.notation.said(thoughts, action, transcript.number, "OK.")
        return "\n".join(line.text for line in lines if line.said)
    before = transcript.as_text(wanted)
    lines = transcript.notation.said(thoughts, action, transcript.number, "OK.")
    after = before.rpartition("\n")[0] + "\n" + "\n".join(f"{line.mark}{line.text}" for line in lines if line.said)
    assert after.startswith(before)
    return after[len(before) :]


def begun(name: NotationName, language: Language, number: int) -> Transcript:
    transcript = new_transcript(briefing(), (), WORDING, "sparse", notation_named(name, language.templates))
    transcript.heard("A room.")
    for _ in range(number - 1):
        transcript.said((), "look")
        transcript.heard("A room.")
    return transcript


def wanted_for(name: NotationName, thoughts: Sequence[str], action: str | None) -> list[Wanted]:
    """Every way to ask that these may answer."""
    if action is None:
        return ["either", "thought"] if name != "json" else ["either"]
    if thoughts:
        return ["either", "both"] if name != "arrow" else ["either"]
    return ["either", "action"]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(WRITTEN), TOLD, st.booleans())
@example("arrow", (QA, ["a"], "search[Observation 1: x]", 1), False)
@example("labelled", (QA, ["a"], "search[so. Observation 1: x]", 2), True)
@example("json", (QA, ['Action: look. Observation: "x. Action: look"'], 'search[a "b" \\ c]', 1), False)
@example("json", (HOUSEHOLD, ["{a"], "go to {b", 1), True)
def test_what_is_written_is_read_again(
    name: NotationName, told: tuple[Language, list[str], str | None, int], chat: bool
) -> None:
    language, thoughts, action, number = told
    assume(thoughts or action is not None)
    # On a line of its own without any mark, a command that reads like a sentence goes on with the thought before it.
    assume(name != "arrow" or not chat or not thoughts or not reads_like_prose(action or ""))
    for wanted in wanted_for(name, thoughts, action):
        reply = said(begun(name, language, number), wanted, thoughts, action, chat)
        reading = read_reply(reply, language=language, thought_due=wanted in ("thought", "both"))
        check(reading, [" ".join(thoughts)] if name == "json" and thoughts else thoughts, action)


@settings(max_examples=120, deadline=None)
@given(TOLD)
@example((QA, ["a"], "search[]", 1))
@example((HOUSEHOLD, [], "convert 3 from km to km", 1))
@example((HOUSEHOLD, [], "dance with desk 1", 1))
def test_native_calls_are_read_again(told: tuple[Language, list[str], str | None, int]) -> None:
    language, thoughts, action, number = told
    assume(action is not None or not any(language.accepts(repair(thought, language)[0]) for thought in thoughts))
    thoughts = thoughts[:1]
    lines = notation_named("tools", language.templates).said(thoughts, action, number, "OK.")
    text = "\n".join(line.text for line in lines if line.said and line.call is None)
    calls = [line.call for line in lines if line.call is not None]
    assert len(calls) == (action is not None)
    reading = read_calls(text, calls, finish_reason="tool_calls", language=language, repairs=True)
    assert "".join(reading.thoughts).replace(" ", "") == "".join(thoughts).replace(" ", "")
    assert reading.action == action
    assert {liberty.kind for liberty in reading.liberties} == set()


def check(reading: Reading, thoughts: Sequence[str], action: str | None) -> None:
    assert (reading.thoughts, reading.action) == (tuple(thoughts), action)
    assert reading.kind == ("thought" if action is None else "action")
    assert {liberty.kind for liberty in reading.liberties} <= ONLY_NAMED


# -- prompts, as exact text -------------------------------------------------------------------------------

INSTRUCTION = "You act in a household, one command at a time, until the task is done."
COMMANDS = "Commands: look, go to {receptacle}, take {object} from {receptacle}"
MEMORY = "Lessons from your earlier attempts at this task:\nTrial 0: Look on the desk."

SHOWN: dict[NotationName, str] = {
    "arrow": """\
A room with a bed 1.
Goal: find pen 1.
> think: A pen may be on the bed.
OK.
> go to bed 1
On it is a pen 1.
> think: Here it is.
OK.
> take pen 1 from bed 1
You pick up the pen 1.""",
    "labelled": """\
A room with a bed 1.
Goal: find pen 1.
Thought 1: A pen may be on the bed.
Action 1: go to bed 1
Observation 1: On it is a pen 1.
Thought 2: Here it is.
Action 2: take pen 1 from bed 1
Observation 2: You pick up the pen 1.""",
    "labelled_zh": """\
A room with a bed 1.
Goal: find pen 1.
思考1：A pen may be on the bed.
行动1：go to bed 1
观察1：On it is a pen 1.
思考2：Here it is.
行动2：take pen 1 from bed 1
观察2：You pick up the pen 1.""",
    "json": """\
A room with a bed 1.
Goal: find pen 1.
{"thought": "A pen may be on the bed.", "action": "go to bed 1"}
On it is a pen 1.
{"thought": "Here it is.", "action": "take pen 1 from bed 1"}
You pick up the pen 1.""",
    "tools": """\
A room with a bed 1.
Goal: find pen 1.
A pen may be on the bed.
{"name": "go_to", "arguments": {"receptacle": "bed 1"}}
On it is a pen 1.
Here it is.
{"name": "take_from", "arguments": {"object": "pen 1", "receptacle": "bed 1"}}
You pick up the pen 1.""",
}

AS_TEXT: dict[NotationName, str] = {
    "arrow": """\
> think: It may be on the shelf.
OK.
> go to shelf 1
On the shelf 1, you see nothing.
> Hm
No action could be read.
> think: The desk is left.
OK.
> go to desk 1
On the desk 1, you see a mug 1.
>""",
    "labelled": """\
Thought 1: It may be on the shelf.
Action 1: go to shelf 1
Observation 1: On the shelf 1, you see nothing.
Hm
Observation 2: No action could be read.
Thought 2: The desk is left.
Action 2: go to desk 1
Observation 2: On the desk 1, you see a mug 1.
""",
    "labelled_zh": """\
思考1：It may be on the shelf.
行动1：go to shelf 1
观察1：On the shelf 1, you see nothing.
Hm
观察2：No action could be read.
思考2：The desk is left.
行动2：go to desk 1
观察2：On the desk 1, you see a mug 1.
""",
    "json": """\
{"thought": "It may be on the shelf."}
OK.
{"action": "go to shelf 1"}
On the shelf 1, you see nothing.
Hm
No action could be read.
{"thought": "The desk is left.", "action": "go to desk 1"}
On the desk 1, you see a mug 1.
""",
}

AS_CHAT: dict[NotationName, list[str]] = {
    "arrow": [
        "think: It may be on the shelf.", "OK.", "go to shelf 1", "On the shelf 1, you see nothing.",
        "Hm", "No action could be read.", "think: The desk is left.", "OK.", "go to desk 1",
        "On the desk 1, you see a mug 1.",
    ],
    "labelled": [
        "Thought 1: It may be on the shelf.", "OK.", "Action 1: go to shelf 1",
        "Observation 1: On the shelf 1, you see nothing.", "Hm", "Observation 2: No action could be read.",
        "Thought 2: The desk is left.\nAction 2: go to desk 1", "Observation 2: On the desk 1, you see a mug 1.",
    ],
    "labelled_zh": [
        "思考1：It may be on the shelf.", "OK.", "行动1：go to shelf 1", "观察1：On the shelf 1, you see nothing.",
        "Hm", "观察2：No action could be read.", "思考2：The desk is left.\n行动2：go to desk 1",
        "观察2：On the desk 1, you see a mug 1.",
    ],
    "json": [
        '{"thought": "It may be on the shelf."}', "OK.", '{"action": "go to shelf 1"}',
        "On the shelf 1, you see nothing.", "Hm", "No action could be read.",
        '{"thought": "The desk is left.", "action": "go to desk 1"}', "On the desk 1, you see a mug 1.",
    ],
}  # fmt: skip


def told(name: NotationName) -> Transcript:
    """A thought, a command, a reply of which nothing could be made, and a thought with its command."""
    lessons = render_memory(briefing(memory=("Look on the desk.",)).memory, WORDING)
    transcript = new_transcript(briefing(), EXEMPLARS[:1], WORDING, "sparse", notation_named(name, TEMPLATES), lessons)
    transcript.heard(first_observation(START, GOAL, WORDING))
    transcript.said(["It may be on the shelf."], None)
    transcript.said((), "go to shelf 1")
    transcript.heard("On the shelf 1, you see nothing.")
    transcript.echoed("Hm", "either")
    transcript.heard("No action could be read.")
    transcript.said(["The desk is left."], "go to desk 1")
    transcript.heard("On the desk 1, you see a mug 1.")
    return transcript


@pytest.mark.parametrize("name", WRITTEN)
def test_a_prompt_as_text(name: NotationName) -> None:
    solved = f"Episodes that were solved:\n\n{SHOWN[name]}"
    task = f"Now your own task:\n{START}\nGoal: find a mug.\n{AS_TEXT[name]}"
    assert told(name).as_text("either") == "\n\n".join([INSTRUCTION, solved, MEMORY, task])


@pytest.mark.parametrize("name", WRITTEN)
def test_a_prompt_as_chat(name: NotationName) -> None:
    system, first, *messages = told(name).as_messages()
    assert (system.role, system.content) == ("system", opening_of(name))
    assert first == Message("user", f"{START}\nGoal: find a mug.")
    assert [message.content for message in messages] == AS_CHAT[name]
    assert [message.role for message in messages] == ["assistant", "user"] * (len(messages) // 2)


def opening_of(name: NotationName) -> str:
    how = f"{INSTRUCTION}\n{COMMANDS}\n{WORDING.replies[name].sparse}"
    return "\n\n".join([how, f"Episodes that were solved:\n\n{SHOWN[name]}", MEMORY])


def test_a_prompt_with_native_calls() -> None:
    system, *messages = told("tools").as_messages()
    assert system.content == opening_of("tools")
    assert messages == [
        Message("user", f"{START}\nGoal: find a mug."),
        Message("assistant", "It may be on the shelf."),
        Message("user", "OK."),
        Message("assistant", "", (ToolCall("call_1", "go_to", '{"receptacle": "shelf 1"}'),)),
        Message("tool", "On the shelf 1, you see nothing.", call_id="call_1"),
        Message("assistant", "Hm"),
        Message("user", "No action could be read."),
        Message("assistant", "The desk is left.", (ToolCall("call_2", "go_to", '{"receptacle": "desk 1"}'),)),
        Message("tool", "On the desk 1, you see a mug 1.", call_id="call_2"),
    ]


DUE: dict[NotationName, dict[Wanted, str]] = {
    "arrow": {"action": ">", "thought": "> think:", "either": ">"},
    "labelled": {"action": "Action 3:", "thought": "Thought 3:", "both": "Thought 3:", "either": ""},
    "labelled_zh": {"action": "行动3：", "thought": "思考3：", "both": "思考3：", "either": ""},
    "json": {"action": "", "both": "", "either": ""},
}


@pytest.mark.parametrize(("name", "wanted"), [(name, wanted) for name, due in DUE.items() for wanted in due])
def test_a_text_prompt_ends_in_what_is_due(name: NotationName, wanted: Wanted) -> None:
    assert told(name).as_text(wanted).rpartition("\n")[2] == DUE[name][wanted]


def test_a_reply_of_nothing_stands_under_what_was_due() -> None:
    transcript = told("labelled")
    for wanted in ("action", "thought", "both"):
        before = transcript.as_text(wanted)
        transcript.echoed("Hm", wanted)
        transcript.heard("No.")
        assert transcript.as_text("action") == f"{before} Hm\nObservation 3: No.\nAction 3:"


# -- native calls -----------------------------------------------------------------------------------------


def test_each_form_of_command_is_offered_as_a_function() -> None:
    templates = ("look", "go to {receptacle}", "go to[{place}]", "put {object} in/on {receptacle}", "{话}")
    assert notation_named("tools", templates).tools(templates) == (
        Tool("look", "look", ()),
        Tool("go_to", "go to {receptacle}", ("receptacle",)),
        Tool("go_to__2", "go to[{place}]", ("place",)),
        Tool("put_in_on", "put {object} in/on {receptacle}", ("object", "receptacle")),
        Tool("say", "{话}", ("话",)),
    )
    assert notation_named("json", templates).tools(templates) == ()


@pytest.mark.parametrize("command", ["Look", "go to  desk 1", "dance", "Go To desk 1"])
def test_a_command_that_fits_no_form_exactly_is_told_as_it_was(command: str) -> None:
    line = notation_named("tools", TEMPLATES).said((), command, 1, "OK.")[-1]
    assert line.call == ToolCall("call_1", "command", json.dumps({"text": command}))


# -- constrained decoding ---------------------------------------------------------------------------------

CONSTRAINTS: dict[tuple[NotationName, bool, bool], Constraint | None] = {
    ("arrow", False, False): Constraint(("look", "go"), None),
    ("arrow", True, False): Constraint(("look", "go"), "think: "),
    ("arrow", True, True): Constraint(("look", "go"), "think: "),
    ("labelled", False, False): Constraint(("look", "go"), None),
    ("labelled", True, False): Constraint(("Action 3: look", "Action 3: go"), "Thought 3: "),
    ("labelled", False, True): Constraint(("Action 3: look", "Action 3: go"), None),
    ("labelled", True, True): Constraint(("Action 3: look", "Action 3: go"), "Thought 3: "),
    ("labelled_zh", True, False): Constraint(("行动3：look", "行动3：go"), "思考3："),
    ("labelled_zh", False, True): Constraint(("行动3：look", "行动3：go"), None),
    ("json", True, True): None,
    ("tools", True, True): None,
}


@pytest.mark.parametrize(("name", "thought", "chat"), CONSTRAINTS)
def test_what_decoding_is_constrained_to(name: NotationName, thought: bool, chat: bool) -> None:
    made = notation_named(name, TEMPLATES).constraint(("look", "go"), thought, 3, chat=chat)
    assert made == CONSTRAINTS[name, thought, chat]


@pytest.mark.parametrize("name", ["arrow", "labelled", "labelled_zh"])
@pytest.mark.parametrize("chat", [False, True])
def test_what_is_constrained_is_read_as_it_is(name: NotationName, chat: bool) -> None:
    language = Language(TEMPLATES, ADMISSIBLE)
    made = notation_named(name, TEMPLATES).constraint(ADMISSIBLE, True, 3, chat=chat)
    assert made is not None
    for choice, command in zip(made.choices, ADMISSIBLE, strict=True):
        check(read_reply(choice, language=language), (), command)
    check(read_reply(f"{made.free_prefix}It is there.", language=language), ["It is there."], None)
