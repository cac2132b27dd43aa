"""The random agent: a floor that any other must beat."""

from __future__ import annotations

import random
from collections.abc import Mapping

from trialogue.agents.contract import Briefing, Turn, View
from trialogue.errors import UsageError


class RandomAgent:
    """Draws uniformly from the admissible commands; seed, task and trial decide the draws. Asks no model."""

    exemplar_ids: tuple[str, ...] = ()

    def begin(self, briefing: Briefing) -> None:
        self._env = briefing.env
        self._random = random.Random(f"{briefing.seed} {briefing.trial} {briefing.task}")

    async def turn(self, view: View) -> Turn:
        """Raises UsageError where the environment does not list its commands."""
        if not view.admissible:
            raise UsageError(f"the random agent draws from admissible commands, and {self._env!r} does not list any")
        return Turn("action", action=self._random.choice(sorted(view.admissible)))

    def conditions(self) -> Mapping[str, object]:
        return {}
