"""Models: what an agent asks. The contract is in :mod:`trialogue.agents.models.contract`."""

from trialogue.agents.models.contract import Constraint, FinishReason, Message, Model, Reply, Request, Role, Usage
from trialogue.agents.models.registry import ModelInfo, describe_models, make_model
from trialogue.agents.models.replay import ReplayingModel, request_hash
from trialogue.agents.models.scripted import ScriptedModel

__all__ = [
    "Constraint",
    "FinishReason",
    "Message",
    "Model",
    "ModelInfo",
    "ReplayingModel",
    "Reply",
    "Request",
    "Role",
    "ScriptedModel",
    "Usage",
    "describe_models",
    "make_model",
    "request_hash",
]
