"""Plan first, then ReAct: Plan-and-Solve prompting (Wang et al. 2023, section 2) before an episode of ReAct."""

from __future__ import annotations

from pydantic import Field

from trialogue.agents.contract import View
from trialogue.agents.react import ReactAgent
from trialogue.agents.react_settings import ReactSettings

PLAN = "plan"
"""The event that calls for the plan."""


class PlanReactSettings(ReactSettings):
    """Those of ``react``; a plan may be longer than another thought."""

    thought_tokens: int = Field(default=200, ge=1)


class PlanReactAgent(ReactAgent):
    """Before its first command the model writes a plan, as a thought; then it goes on as the other settings say."""

    def _event(self, view: View) -> str:
        event = super()._event(view)
        return PLAN if self._calls == 0 else event

    def _thought_words(self, event: str) -> str:
        if event != PLAN:
            return super()._thought_words(event)
        return f"{self._wording.plan} {self._replies.thought_due}"

    def _notes_on(self, view: View) -> list[str]:
        """A text prompt is asked for the plan under the first observation; a chat in a message of its own."""
        first = self._experience.heard_nothing
        notes = super()._notes_on(view)
        return [*notes, self._wording.plan] if first and not self._as_chat else notes
