"""A person as a model: what is new is shown, one line is read, and the end of input stops the run."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys

import pytest

from trialogue.agents.models import Constraint, Message, Request, Tool, make_model
from trialogue.errors import ModelError, UnknownName, UsageError
from trialogue.experiments.endings import ending_of

SYSTEM, FIRST = Message("system", "Play."), Message("user", "You see a desk 1.")


async def test_only_what_is_new_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("go to desk 1\ntake mug 1\n"))
    model = make_model("human:keyboard")
    first = await model.generate(Request((SYSTEM, FIRST)))
    assert "Play.\n\nYou see a desk 1." in capsys.readouterr().out
    later = (SYSTEM, FIRST, Message("assistant", first.text), Message("user", "There is a mug 1."))
    second = await model.generate(Request(later))
    shown = capsys.readouterr().out
    assert shown == "\n--- You see a desk 1.\n\nThere is a mug 1.\n"
    assert [first.text, second.text] == ["go to desk 1", "take mug 1"]
    assert (first.usage.prompt, first.usage.completion, first.cost) == (0, 0, None)


async def test_one_request_is_answered_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a\nb\nc\n"))
    model = make_model("human:keyboard")
    replies = await asyncio.gather(*(model.generate(Request((FIRST,))) for _ in range(3)))
    assert [reply.text for reply in replies] == ["a", "b", "c"]


@pytest.mark.parametrize("stdin", [io.StringIO(""), None], ids=["at its end", "not there"])
async def test_the_end_of_input_stops_the_run(monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(ModelError, match="standard input has ended") as raised:
        await make_model("human:keyboard").generate(Request((FIRST,)))
    assert raised.value.kind == "interrupted"
    with pytest.raises(ModelError):  # fatal: the run stops
        ending_of(raised.value)


async def test_what_a_person_cannot_be_asked_is_refused() -> None:
    with pytest.raises(UsageError, match="expected human:keyboard"):
        make_model("human:mouse")
    with pytest.raises(UnknownName, match="'latency_s'"):
        make_model("human:keyboard", latency_s=1)
    model = make_model("human:keyboard")
    assert (model.can_constrain, model.can_call_tools) == (False, False)
    with pytest.raises(UsageError, match="takes messages"):
        await model.generate(Request("text"))
    for more in ({"constraint": Constraint(("look",))}, {"tools": (Tool("look", "look", ()),)}):
        with pytest.raises(UsageError, match="a free line"):
            await model.generate(Request((FIRST,), **more))


async def test_cards_do_not_mix(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two models, one keyboard: a card is shown when the one before it is answered."""
    at_keyboard, typing = os.pipe()
    models = [make_model("human:keyboard"), make_model("human:keyboard")]
    with os.fdopen(at_keyboard) as stdin, os.fdopen(typing, "w") as person:
        monkeypatch.setattr("sys.stdin", stdin)
        asked = [Request((Message("user", f"card {n}"),)) for n in range(2)]
        tasks = [asyncio.create_task(model.generate(one)) for model, one in zip(models, asked, strict=True)]
        await asyncio.sleep(0.05)
        assert capsys.readouterr().out == "\n---\n\ncard 0\n"
        print("first", file=person, flush=True)
        assert (await tasks[0]).text == "first"
        await asyncio.sleep(0.05)
        assert capsys.readouterr().out == "\n---\n\ncard 1\n"
        print("second", file=person, flush=True)
        assert (await tasks[1]).text == "second"


async def test_what_would_steer_the_terminal_is_shown_and_odd_bytes_are_replaced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"go\xff\r\n"), "utf-8", "surrogateescape"))
    reply = await make_model("human:keyboard").generate(Request((Message("user", "a\x1b[2J\tb"),)))
    assert "a\\x1b[2J\tb" in capsys.readouterr().out
    assert reply.text == "go?"


async def test_an_empty_line_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert (await make_model("human:keyboard").generate(Request((FIRST,)))).text == ""


LEAVING = """
import asyncio
from trialogue.agents.models import Message, Request, make_model

asyncio.run(make_model("human:keyboard").generate(Request((Message("user", "?"),))))
"""


def test_an_interrupt_does_not_wait_for_a_line() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEAVING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with the signal ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as asking:
        assert asking.stdout is not None
        assert [asking.stdout.readline() for _ in range(4)] == ["\n", "---\n", "\n", "?\n"]
        asking.send_signal(signal.SIGINT)
        code = asking.wait(timeout=20)
        assert asking.stderr is not None
        told = asking.stderr.read()
    assert code in (-signal.SIGINT, 128 + signal.SIGINT), told
    assert "KeyboardInterrupt" in told
    assert "Fatal" not in told
