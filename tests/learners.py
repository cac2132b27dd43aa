"""Agents for the tests of learning over trials: small, and failing on demand."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from trialogue.agents import AgentEntry, Briefing, Lesson, Parts, Turn, View
from trialogue.agents.models.contract import Reply, Request, Usage
from trialogue.errors import ContextOverflow, ModelError


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    review: str = "never"


class Plain:
    """Does what the model says; tells it the trial and the lessons, and asks the person where there is one."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self.model, self.person = parts.required_model(), parts.person

    def begin(self, briefing: Briefing) -> None:
        lessons = "".join(f" {lesson.trial}:{lesson.reflection}" for lesson in briefing.memory)
        self.lessons, self.trial = lessons, briefing.trial
        self.text = f"{briefing.goal}; trial {briefing.trial}; lessons:{lessons}"

    async def turn(self, view: View) -> Turn:
        self.text += f"\n{view.observation}"
        reply = await self.model.generate(Request(self.text))
        if self.person is not None:
            reply = await self.person.generate(Request(f"{self.text}\nmay I {reply.text}?"))
        self.text += f"\n> {reply.text}"
        notes = ("asked",) if self.person is not None else ()
        return Turn("action", action=reply.text, raw=(reply.text,), memory="abc" if self.lessons else "", notes=notes)

    def conditions(self) -> Mapping[str, object]:
        return {}


class Learning(Plain):
    async def learn(self, ending: str) -> Lesson:
        reply = await self.model.generate(Request(f"{self.text}\nIt ended with {ending}. Reflect."))
        return Lesson(self.trial, reflection=reply.text, attempt=f"{self.text.count('> ')} actions")


PLAIN = AgentEntry("for tests", Settings, Plain, needs_model=True)
LEARNING = AgentEntry("for tests", Settings, Learning, needs_model=True)


async def wiser(request: Request) -> Reply:
    """Walks left, until it has been told twice what to do; reflects when it is asked to."""
    prompt = str(request.prompt)
    started = time.perf_counter()
    await asyncio.sleep(0.002)
    text = "go right" if prompt.count("walk right") >= 2 else "go left"
    if prompt.endswith("Reflect."):
        text = "walk right"
    return Reply(text, usage=Usage(len(prompt) // 4, 2), seconds=time.perf_counter() - started)


async def forgetful(request: Request) -> Reply:
    """As ``wiser``; but in room 2's first trial it cannot reflect, and in room 3's it has not enough room to."""
    prompt = str(request.prompt)
    if prompt.endswith("Reflect.") and "trial 0" in prompt:
        if "reach room 2" in prompt:
            raise ModelError("server", "it fell over")
        if "reach room 3" in prompt:
            raise ContextOverflow("too long")
    return await wiser(request)


async def poor(request: Request) -> Reply:
    """As ``wiser``, as long as it needs not reflect."""
    if str(request.prompt).endswith("Reflect."):
        raise ModelError("quota", "the quota is used up")
    return await wiser(request)


async def person(request: Request) -> Reply:
    """Turns left to right."""
    [asked] = re.findall(r"may I (.*)\?", str(request.prompt))
    return Reply(asked.replace("left", "right"))
