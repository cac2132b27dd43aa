"""Scripted models for the tests of exports: they walk right in the corridor of ``toy``, in whatever notation is due."""

from __future__ import annotations

import json
import re

from trialogue.agents.models.contract import Message, Reply, Request, ToolCall

THINK = "The last room is to the right."
VOTES = iter(["Bergen", "Oslo", "Bergen", "Bergen", "Rome"])

TOLD: dict[str, list[str]] = {}
"""Of an opening prompt: the texts that follow it."""


def player(request: Request) -> Reply:
    """Thinks where a thought is due and, where it may think when it likes, once."""
    prompt = request.prompt
    return Reply(_line(prompt) if isinstance(prompt, str) else _message(prompt))


def _message(prompt: tuple[Message, ...]) -> str:
    told = "\n".join(message.content for message in prompt)
    due = "Write a thought now" in prompt[-1].content
    return f"think: {THINK}" if due or ("think:" in told and THINK not in told) else "go right"


def _line(prompt: str) -> str:
    own = prompt.rpartition("Now your own task:")
    may_think = re.search("think:|[Tt]hought|思考", own[0]) is not None and THINK not in own[2]
    number = 1 + len(re.findall("Observation|观察", own[2]))
    if re.search(r"(Thought|思考) ?\d+[:：]$", prompt):
        return f"{THINK}\n行动{number}：go right" if "思考" in prompt else f" {THINK}\nAction {number}: go right"
    if prompt.endswith("> think:"):
        return f" {THINK}"
    if prompt.endswith(">"):
        return f" think: {THINK}" if may_think else " go right"
    if re.search(r"(Action|行动) ?\d+[:：]$", prompt):
        return "go right"
    if '"action"' in own[0]:
        return json.dumps({**({"thought": THINK} if may_think else {}), "action": "go right"})
    zh = "行动" in own[0]
    thought = (f"思考{number}：{THINK}\n" if zh else f"Thought {number}: {THINK}\n") if may_think else ""
    return thought + (f"行动{number}：go right" if zh else f"Action {number}: go right")


def stammers(request: Request) -> Reply:
    """Says nothing at first."""
    prompt = request.prompt if isinstance(request.prompt, str) else "\n".join(m.content for m in request.prompt)
    return Reply("go right" if "\n>\n" in prompt or "(nothing)" in prompt else "")


def calls(request: Request) -> Reply:
    return Reply("To the right.", "tool_calls", calls=(ToolCall("x", "go", '{"direction": "right"}'),))


def votes(request: Request) -> Reply:
    return Reply(f" It says so.\nAnswer: {next(VOTES)}")


def recites(request: Request) -> Reply:
    """Says what ``TOLD`` says at this place."""
    assert isinstance(request.prompt, str)
    opening = next(opening for opening in TOLD if request.prompt.startswith(opening))
    whole = opening + "".join(TOLD[opening])
    assert whole.startswith(request.prompt)
    return Reply(whole[len(request.prompt) :].partition("\n")[0])
