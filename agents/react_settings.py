"""What decides how a ReAct agent acts."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trialogue.agents.models.contract import Model
from trialogue.agents.notation import NotationName, Wanted
from trialogue.agents.prompt import Prompt, Thoughts
from trialogue.agents.review import When
from trialogue.agents.wording import Wording
from trialogue.errors import UsageError


class ReactSettings(BaseModel):
    """What decides how the agent acts.

    * ``thoughts``: "none" (Act), "sparse" (the model decides, at most ``max_thoughts_in_a_row`` turns running; one
      where a notation joins a thought and its command), "dense" (one before every action), "decision_points" (one when
      something happens, or nothing new for ``patience`` turns)
    * ``notation``: how turns are written; "auto" is as in the papers' prompts for the environment
    * ``format``: whether the prompt is text to complete or a chat; "auto" is as the model's style
    * ``constrained``: decode admissible commands only and, where the model may choose to think, thoughts
    * ``repairs``: mend commands in reading
    * ``reask``: how often an unreadable reply is asked for again within a turn
    * ``exemplars``: how many are shown
    * ``prompt``: what stands before the episode: "full", with instruction and exemplars, or the "task" alone (and the
      memory, where there is one), for models that were trained to it
    * ``show_admissible``: list the admissible commands after each observation
    * ``show_reasons``: say why a command was not accepted, after the environment's own words
    * ``temperature``: of sampling; ``thought_temperature`` is for calls that ask for a thought alone,
      ``later_temperature`` for every call of the trials after the first (None: as ``temperature``)
    * ``action_tokens``, ``thought_tokens``: bounds of one call, added up where a reply may hold both
    * ``context``: what is done when the prompt no longer fits the model's window: "end" the episode, leave out
      "exemplars" first and then the oldest steps, leave out the oldest steps ("window"), or put the model's own
      "summary" in their place
    * ``observation_chars``: observations are cut at this many characters, the rest announced (None: never)
    * ``recall``: when a command is repeated, say what it brought before
    * ``on_repetition``: when the agent goes round in circles, give a "hint", force a "thought", or "none"
    * ``review``: have a person approve or replace what the model wants "always", or when it seems "unsure" (it could
      not be read, is not admissible, or repeats what brought nothing new), or "never"
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    thoughts: Thoughts = "sparse"
    notation: Literal["auto"] | NotationName = "auto"
    format: Literal["auto", "completion", "chat"] = "auto"
    constrained: bool = False
    repairs: bool = True
    reask: int = Field(default=0, ge=0, le=10)
    exemplars: int = Field(default=2, ge=0)
    prompt: Prompt = "full"
    show_admissible: bool = False
    show_reasons: bool = False
    temperature: float = Field(default=0.0, ge=0.0)
    thought_temperature: float | None = Field(default=None, ge=0.0)
    later_temperature: float | None = Field(default=None, ge=0.0)
    action_tokens: int = Field(default=60, ge=1)
    thought_tokens: int = Field(default=120, ge=1)
    max_thoughts_in_a_row: int = Field(default=3, ge=1)
    patience: int = Field(default=5, ge=1)
    context: Literal["end", "exemplars", "window", "summary"] = "end"
    observation_chars: int | None = Field(default=None, ge=20)
    recall: bool = False
    on_repetition: Literal["none", "hint", "thought"] = "none"
    review: When = "never"

    @model_validator(mode="before")
    @classmethod
    def _task_alone(cls, told: Any) -> Any:
        """A prompt that is the task alone holds no exemplars."""
        if not isinstance(told, dict) or told.get("prompt") != "task":
            return told
        if told.get("exemplars", 0) != 0:
            raise ValueError(f"prompt: task shows no exemplars; set exemplars: 0, got {told['exemplars']!r}")
        return {**told, "exemplars": 0}

    def check(self, model: Model) -> None:
        """Raises UsageError for what ``model`` cannot do."""
        if self.constrained and not model.can_constrain:
            raise UsageError(
                f"constrained decoding was asked for, and {model.name} cannot do it; set constrained: false"
            )
        if self.format == "chat" and model.style == "completion":
            raise UsageError(f"{model.name} completes text; format: chat needs a chat model. Set format: auto")
        if self.notation == "tools" and not (self.as_chat(model) and model.can_call_tools):
            raise UsageError(
                f"notation: tools needs a chat model that is offered functions, and {model.name} is none here; "
                "set notation: json or auto"
            )
        if self.constrained and self.notation in ("json", "tools"):
            raise UsageError(
                f"constrained decoding writes commands as they stand, and notation: {self.notation} does not; set "
                "notation: arrow or labelled"
            )

    def as_chat(self, model: Model) -> bool:
        return self.format == "chat" or (self.format == "auto" and model.style == "chat")

    def notation_for(self, wording: Wording) -> NotationName:
        return wording.notation if self.notation == "auto" else self.notation

    def temperature_of(self, wanted: Wanted, trial: int) -> float:
        if trial and self.later_temperature is not None:
            return self.later_temperature
        if wanted == "thought" and self.thought_temperature is not None:
            return self.thought_temperature
        return self.temperature
