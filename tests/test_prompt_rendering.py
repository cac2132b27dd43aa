"""The exact text of prompts, and that they only grow."""

from __future__ import annotations

import pytest
from small_house import EXEMPLARS, GOAL, START, TEMPLATES, briefing

from trialogue.agents.models.contract import Message
from trialogue.agents.notation import notation_named
from trialogue.agents.prompt import first_observation, new_transcript, render_exemplar, render_memory
from trialogue.agents.transcript import Transcript
from trialogue.agents.wording import Wording, wording_digest, wording_for

WORDING = wording_for("household")
ARROW = notation_named("arrow", TEMPLATES)

AS_TEXT = """\
You act in a household, one command at a time, until the task is done.

Episodes that were solved:

A room with a bed 1.
Goal: find pen 1.
> think: A pen may be on the bed.
OK.
> go to bed 1
On it is a pen 1.
> think: Here it is.
OK.
> take pen 1 from bed 1
You pick up the pen 1.

Lessons from your earlier attempts at this task:
Trial 0: I never looked on the desk.
Trial 1: I forgot to take it.

Now your own task:
You are in a room. You see a desk 1, and a shelf 1.
Goal: find a mug.
> think: It may be on the desk.
OK.
> go to desk 1
On the desk 1, you see a mug 1.
>"""

SYSTEM = """\
You act in a household, one command at a time, until the task is done.
Commands: look, go to {receptacle}, take {object} from {receptacle}
Answer each message with one line: either a command, or a thought that begins with "think:". A thought is answered \
by OK. and changes nothing.

Episodes that were solved:

A room with a bed 1.
Goal: find pen 1.
> think: A pen may be on the bed.
OK.
> go to bed 1
On it is a pen 1.
> think: Here it is.
OK.
> take pen 1 from bed 1
You pick up the pen 1.

Lessons from your earlier attempts at this task:
Trial 0: I never looked on the desk.
Trial 1: I forgot to take it."""


def transcript() -> Transcript:
    told = briefing(memory=("I never looked on\nthe desk.", "I forgot to take it."))
    memory = render_memory(told.memory, WORDING)
    made = new_transcript(told, EXEMPLARS[:1], WORDING, "sparse", ARROW, memory)
    made.heard(first_observation(START, GOAL, WORDING))
    made.said(["It may be on the desk."], None)
    made.said((), "go to desk 1")
    made.heard("On the desk 1, you see a mug 1.")
    return made


def test_as_text() -> None:
    assert transcript().as_text("either") == AS_TEXT


def test_as_messages() -> None:
    assert transcript().as_messages() == (
        Message("system", SYSTEM),
        Message("user", f"{START}\nGoal: find a mug."),
        Message("assistant", "think: It may be on the desk."),
        Message("user", "OK."),
        Message("assistant", "go to desk 1"),
        Message("user", "On the desk 1, you see a mug 1."),
    )


def test_a_thought_that_is_due_ends_the_text_and_is_asked_for_in_chat() -> None:
    made = transcript()
    made.ask("Think now.")
    assert made.as_text("thought") == f"{AS_TEXT} think:"
    assert made.as_messages()[-1] == Message("user", "On the desk 1, you see a mug 1.\nThink now.")
    made.said(["Take\nit."], None)
    assert made.as_text("action") == f"{AS_TEXT} think: Take it.\nOK.\n>"


def test_without_exemplars_the_text_tells_the_command_language() -> None:
    text = new_transcript(briefing(), (), WORDING, "none", ARROW).as_text("action")
    assert "Commands: look, go to {receptacle}, take {object} from {receptacle}" in text
    assert "think:" not in text
    assert text.endswith("\n\nNow your own task:\n>")


def test_the_goal_is_not_told_twice() -> None:
    assert first_observation("A room.\nYour task is to: Find a mug.", GOAL, WORDING).count("mug") == 1


def test_exemplars_show_the_thoughts_that_go_with_the_placement() -> None:
    shown = {
        thoughts: render_exemplar(EXEMPLARS[0], WORDING, thoughts, ARROW).count("think:")
        for thoughts in ("none", "sparse", "dense", "decision_points")
    }
    assert shown == {"none": 0, "sparse": 2, "dense": 2, "decision_points": 1}


def test_an_unknown_environment_has_the_default_wording() -> None:
    assert wording_for("nowhere") == wording_for("default")
    assert wording_for("nowhere").instruction != WORDING.instruction
    assert len(wording_digest()) == 12


@pytest.mark.parametrize("change", [{"goal": "Goal: {gaol}"}, {"goal": "Goal:"}, {"task": "Task {number}"}])
def test_a_wording_with_other_fields_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must hold the fields"):
        Wording.model_validate({**WORDING.model_dump(), **change})
