"""ReWOO (Xu et al. 2023): reasoning without observation."""

from trialogue.agents.rewoo.agent import RewooAgent, RewooSettings
from trialogue.agents.rewoo.plan import Plan, Step, read_plan, with_evidence, write_plan

__all__ = ["Plan", "RewooAgent", "RewooSettings", "Step", "read_plan", "with_evidence", "write_plan"]
