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
from trialogue.agents.prompt import first_observation, new_transcript
from trialogue.agents.reading import Language, Reading, read_calls, read_reply
from trialogue.agents.reading.reader import reads_like_prose
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
            ["the mug", "is on", "desk 1", "“so”", '"', "'", "(a)", ":", "：", ". ", "。", "!", "?", "…", ">", "*", "**",
             "`", "#", "-", "1.", "{", "}", "\\", "look", "I", "go to desk 1", "search[x]", "OK.", "杯子", "чашка", "🙂",
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


@settings(max_examples=250, deadline=None)
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


@settings(max_examples=250, deadline=None)
@given(TOLD)
@example((QA, ["a"], "search[]", 1))
@example((HOUSEHOLD, [], "convert 3 from km to km", 1))
@example((HOUSEHOLD, [], "dance with desk 1", 1))
def test_native_calls_are_read_again(told: tuple[Language, list[str], str | None, int]) -> None:
    language, thoughts, action, number = told
    assume(action is not None or not any(language.accepts(thought) for thought in thoughts))
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


def told(name: NotationName) -> Transcript:
    """A thought, a command, a reply of which nothing could be made, and a thought with its command."""
    transcript = new_transcript(
        briefing(memory=("Look on the desk.",)), EXEMPLARS[:1], WORDING, "sparse", notation_named(name, TEMPLATES)
    )
    transcript.heard(first_observation(START, GOAL, WORDING))
    transcript.said(["It may be on the shelf."], None)
    transcript.said((), "go to shelf 1")
    transcript.heard("On the shelf 1, you see nothing.")
    transcript.echoed("Hm", "either")
    transcript.heard("No action could be read.")
    transcript.said(["The desk is left."], "go to desk 1")
    transcript.heard("On the desk 1, you see a mug 1.")
    return transcript
