"""Self-consistency over chains of thought (CoT-SC): sample several, take the majority (Wang et al. 2022, section 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from trialogue.agents.answering.reading import Answered
from trialogue.agents.answering.single import CotAgent, CotSettings
from trialogue.agents.answering.voting import Poll, majority, normalised
from trialogue.agents.contract import Liberty, Turn, TurnKind, View
from trialogue.agents.models.contract import Model, Reply
from trialogue.agents.react import ExemplarsFor


class CotScSettings(CotSettings):
    """Those of ``cot``; ``samples`` chains are drawn (ReAct, Yao et al. 2023, section 3.2: 21, at temperature 0.7)."""

    samples: int = Field(default=21, ge=1)
    temperature: float = Field(default=0.7, ge=0.0)


@dataclass(frozen=True)
class Survey:
    """What a set of samples said: the poll, and each sample as it was read, in the order in which they were asked."""

    poll: Poll
    samples: tuple[Answered, ...]
    raw: tuple[str, ...]

    @property
    def reasoning(self) -> str:
        """That of the first sample which voted for the winner."""
        winner = self.poll.winner
        named = ((s.answer, s.reasoning) for s in self.samples if s.answer is not None)
        return next((reasoning for answer, reasoning in named if normalised(answer) == normalised(winner or "")), "")

    @property
    def liberties(self) -> tuple[Liberty, ...]:
        return tuple(liberty for sample in self.samples for liberty in sample.liberties)


class CotScAgent(CotAgent):
    """Samples chains of thought, concurrently and each with its own seed, and answers as most of them do.

    Every sample has one vote, however often it names an answer; its last counts. Answers that differ in case, white
    space, articles or punctuation around words are the same. Ties go to the answer whose first vote came first, in the
    order in which the samples were asked for. Samples without a readable answer abstain and are counted apart. The
    votes stand in the turn's notes; the thought is the reasoning of the winner's first voter.
    """

    def __init__(self, model: Model, settings: CotScSettings, exemplars_for: ExemplarsFor | None = None) -> None:
        super().__init__(model, settings, exemplars_for)
        self.samples = settings.samples

    async def turn(self, view: View) -> Turn:
        return self.turn_of(await self.survey())

    async def survey(self) -> Survey:
        """Draws the samples. Raises ModelError where one of them got no reply, after the others have theirs."""
        requests = [self._request() for _ in range(self.samples)]
        # Replies that were paid for are waited for, so that each is stored before an error ends the episode.
        results = await asyncio.gather(*map(self._model.generate, requests), return_exceptions=True)
        replies = _replies(results)
        samples = tuple(map(self._read, replies))
        poll = majority([sample.answer for sample in samples])
        return Survey(poll, samples, tuple(reply.text for reply in replies))

    def turn_of(self, survey: Survey) -> Turn:
        """The turn that answers as ``survey`` says: "unreadable" when every sample abstained."""
        winner = survey.poll.winner
        kind: TurnKind = "unreadable" if winner is None else "action"
        answered = Answered(winner, survey.reasoning, survey.liberties, kind)
        return self._turn(answered, survey.raw, (str(survey.poll),))


def _replies(results: Sequence[Reply | BaseException]) -> list[Reply]:
    """The replies, in order; the first error among ``results`` is raised."""
    replies = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        replies.append(result)
    return replies
