"""The expert agent: plays the environment's own expert, as a ceiling and to record exemplars."""

from __future__ import annotations

from collections.abc import Mapping

from trialogue.agents.contract import Briefing, Policy, Turn, View
from trialogue.errors import UsageError


class ExpertAgent:
    """Plays ``Briefing.expert``, which reads only what a player reads. Asks no model."""

    exemplar_ids: tuple[str, ...] = ()

    def begin(self, briefing: Briefing) -> None:
        """Raises UsageError where the environment has no expert."""
        if briefing.expert is None:
            raise UsageError(f"the environment {briefing.env!r} has no expert; choose another agent")
        self._expert: Policy = briefing.expert

    async def turn(self, view: View) -> Turn:
        return Turn("action", action=self._expert.act(view.observation or "", view.admissible))

    def conditions(self) -> Mapping[str, object]:
        return {}
