"""Properties of the reader that hold for any text."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from trialogue.agents.reading import Language, read_reply

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
WORDS = st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=8)
THOUGHTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(REPLIES, st.sampled_from([PUT, QA, Language(())]), st.booleans(), st.booleans(), st.booleans())
@example("[" * 100_000, QA, True, False, False)
@example('{"action": ' * 20_000, QA, True, False, False)
@example('{"action":"search","action_input":' + "[" * 20_000, QA, True, False, False)
@example(" " * 20_000 + "Action" + " " * 20_000, QA, True, False, False)
@example("<think" + " " * 20_000, QA, True, False, False)
@example("put " + "a in " * 5_000, PUT, True, False, False)
def test_any_text_is_read(reply: str, language: Language, repairs: bool, cut: bool, thought_due: bool) -> None:
    reading = read_reply(
        reply,
        finish_reason="length" if cut else "stop",
        language=language,
        repairs=repairs,
        thought_due=thought_due,
    )
    assert (reading.action is not None) == (reading.kind == "action")
    assert bool(reading.problem) == (reading.kind in ("unreadable", "truncated"))
    assert len(reading.problem) <= 1000
    assert len(reading.echo) <= 200
    if reading.action is not None:
        assert "\n" not in reading.action
        assert not reading.action.lower().startswith("think:")
    if reading.kind == "thought":
        assert reading.thoughts


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
