"""The agents that answer and a model that hesitates, under names by which an experiment finds them."""

from __future__ import annotations

import asyncio
from typing import Any

from trialogue.agents import AgentEntry
from trialogue.agents.answering import BackOffSettings, CotScAgent, CotScSettings, CotScThenReact
from trialogue.agents.models.contract import Reply, Request
from trialogue.agents.rewoo import RewooAgent, RewooSettings


def _entry(kind: Any, settings: Any) -> AgentEntry:
    return AgentEntry("for tests", settings, lambda parts, chosen: kind(parts.required_model(), chosen), True)


COT_SC = _entry(CotScAgent, CotScSettings)
BACK_OFF = _entry(CotScThenReact, BackOffSettings)
REWOO = _entry(RewooAgent, RewooSettings)


async def hesitant(request: Request) -> Reply:
    """Answers late or early, and rightly or not, as the seed has it; what it is asked decides how."""
    number = request.seed or 0
    await asyncio.sleep(0.001 * (number % 7))
    prompt = str(request.prompt)
    if prompt.endswith("\nPlan:"):
        return Reply(" Look it up.\n#E1 = search[Edda Lind]\n#E2 = search[#E1]")
    if "search[{entity}]" in prompt:
        return Reply("Thought 1: It is Bergen.\nAction 1: finish[Bergen]")
    answer = ("Bergen", "Oslo", "bergen", "Molde", "Bodø")[number % 5]
    return Reply(f" So.\nAnswer: {answer}", seconds=0.001 * (number % 7))
