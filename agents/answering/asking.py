"""Questions that stand by themselves: one prompt, one reply, no transcript that grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trialogue.agents.contract import Briefing
from trialogue.agents.models.contract import Message, Model, Request
from trialogue.agents.react import call_seed
from trialogue.agents.wording import wording_digest
from trialogue.errors import UsageError


class AskSettings(BaseModel):
    """What decides how a model is asked.

    * ``format``: whether the prompt is text to complete or a chat; "auto" is as the model's style
    * ``exemplars``: how many are shown
    * ``temperature``: of sampling
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["auto", "completion", "chat"] = "auto"
    exemplars: int = Field(default=2, ge=0)
    temperature: float = Field(default=0.0, ge=0.0)

    def as_chat(self, model: Model) -> bool:
        """Raises UsageError for a format that ``model`` does not have."""
        if self.format == "chat" and model.style == "completion":
            raise UsageError(f"{model.name} completes text; format: chat needs a chat model. Set format: auto")
        return self.format == "chat" or (self.format == "auto" and model.style == "chat")


@dataclass(frozen=True)
class Prompt:
    """One prompt in both formats. The ``text`` ends in ``cue``; the stops are those of each format."""

    text: str
    messages: tuple[Message, ...]
    cue: str
    stop: tuple[str, ...]
    chat_stop: tuple[str, ...] = ()


class Asker:
    """Makes the requests of one episode, each with the next seed."""

    def __init__(self, model: Model, settings: AskSettings) -> None:
        self._as_chat = settings.as_chat(model)
        self._one_message = not self._as_chat and model.style == "chat"
        self._settings = settings

    def begin(self, briefing: Briefing) -> None:
        self._briefing = briefing
        self._calls = 0

    def request(self, prompt: Prompt, tokens: int) -> Request:
        """``prompt`` in the format of the settings, for a reply of at most ``tokens`` tokens."""
        self._calls += 1
        text = (Message("user", prompt.text),) if self._one_message else prompt.text
        return Request(
            prompt.messages if self._as_chat else text,
            stop=prompt.chat_stop if self._as_chat else prompt.stop,
            max_tokens=tokens,
            temperature=self._settings.temperature,
            seed=call_seed(self._briefing.seed, self._calls - 1, self._briefing.trial),
        )

    def cue(self, prompt: Prompt) -> str:
        """What a reply to ``prompt`` goes on from."""
        return "" if self._as_chat else prompt.cue

    def conditions(self) -> Mapping[str, object]:
        """The settings, the format that was chosen, and the wording."""
        rendered = "chat" if self._as_chat else "completion"
        return {**self._settings.model_dump(mode="json"), "format": rendered, "wording": wording_digest()}
