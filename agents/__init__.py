"""What to say to a model and how to read its reply: Act, ReAct, and the agents that they are measured against."""

from trialogue.agents.contract import Agent, AgentInfo, Briefing, Liberty, Turn, View
from trialogue.agents.registry import describe, make_agent, needs_model

__all__ = ["Agent", "AgentInfo", "Briefing", "Liberty", "Turn", "View", "describe", "make_agent", "needs_model"]
