"""Reading a model's reply: thoughts, at most one action, and everything that was altered on the way."""

from trialogue.agents.reading.language import Language, Template
from trialogue.agents.reading.native import read_calls
from trialogue.agents.reading.reader import Reading, concluding_answer, read_reply

__all__ = ["Language", "Reading", "Template", "concluding_answer", "read_calls", "read_reply"]
