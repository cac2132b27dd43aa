"""What to say to a model and how to read its reply: Act, ReAct, and the agents that they are measured against."""

from trialogue.agents.contract import Agent, AgentInfo, Briefing, Learner, Lesson, Liberty, Turn, View
from trialogue.agents.registry import (
    AgentEntry,
    Parts,
    default_model,
    describe,
    make_agent,
    needs_model,
    needs_person,
    package_of,
)

__all__ = [
    "Agent",
    "AgentEntry",
    "AgentInfo",
    "Briefing",
    "Learner",
    "Lesson",
    "Liberty",
    "Parts",
    "Turn",
    "View",
    "default_model",
    "describe",
    "make_agent",
    "needs_model",
    "needs_person",
    "package_of",
]
