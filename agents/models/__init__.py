"""Models: what an agent asks. The contract is in :mod:`trialogue.agents.models.contract`."""

from trialogue.agents.models.contract import (
    Constraint,
    FinishReason,
    Message,
    Model,
    Reply,
    Request,
    Role,
    Tool,
    ToolCall,
    Usage,
)
from trialogue.agents.models.registry import ModelInfo, describe_models, make_model
from trialogue.agents.models.replay import Tape, request_hash
from trialogue.agents.models.scripted import ScriptedModel

__all__ = [
    "Constraint",
    "FinishReason",
    "Message",
    "Model",
    "ModelInfo",
    "Reply",
    "Request",
    "Role",
    "ScriptedModel",
    "Tape",
    "Tool",
    "ToolCall",
    "Usage",
    "describe_models",
    "make_model",
    "request_hash",
]
