"""Writes an episode into the store as it happens; of one that was cut off, plays what is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trialogue.agents.contract import Turn
from trialogue.agents.models import Model, Tape, request_hash
from trialogue.agents.models.contract import Reply, Request
from trialogue.experiments.episode import EpisodeLog
from trialogue.experiments.records import EndRecord, StepRecord
from trialogue.experiments.store import Store


class Observer:
    """Told what happens, for whoever shows it. The base class shows nothing."""

    def started(self, planned: int, finished: int) -> None: ...

    def replied(self, reply: Reply) -> None: ...

    def ended(self, run: str, end: EndRecord) -> None: ...


class StoreLog(EpisodeLog):
    """The record of one episode, from its first call to the reflection on it.

    ``recorded(model)`` is ``model`` with every reply stored before it is used. ``notes`` gathers what a resumed
    episode found different from before.
    """

    def __init__(self, store: Store, episode: int, observer: Observer) -> None:
        self.notes: list[str] = []
        self.exemplar_ids: Callable[[], Iterable[str]] = tuple
        self._store = store
        self._episode = episode
        self._observer = observer
        self._before = {step.step: step for step in store.start_episode(episode)}
        self._tokens = 0
        self._cost = 0.0
        self._calls = 0
        stored = store.replies(episode)
        self._tape = Tape(stored, on_new=self._on_new, on_reply=self._on_reply, on_stale=self._on_stale)

    def recorded(self, model: Model) -> Model:
        return self._tape.recorded(model)

    @property
    def calls(self) -> int:
        """How many replies were used so far, replayed ones included."""
        return self._calls

    def spent(self) -> tuple[int, float]:
        """Tokens read and written, and money; what was replayed included."""
        return self._tokens, self._cost

    def described(self, goal: str, dialect: str, observation: str) -> None:
        self._store.describe_episode(self._episode, goal=goal, dialect=dialect, observation=observation)

    def turned(self, number: int, turn: Turn) -> None:
        if number == 0:
            self._store.set_exemplars(self._episode, list(self.exemplar_ids()))
        self._store.add_turn(self._episode, number, self._calls, turn)

    def stepped(self, step: StepRecord) -> None:
        before = self._before.get(step.step)
        if before is not None and (before.action, before.observation) != (step.action, step.observation):
            self.notes.append(
                f"step {step.step} differs from before the interruption: "
                f"{before.action!r} -> {before.observation!r}, now {step.action!r} -> {step.observation!r}"
            )
        self._store.add_step(self._episode, step)

    def _on_new(self, call: int, request: Request, reply: Reply) -> None:
        self._store.add_reply(self._episode, call, request, request_hash(request), reply)
        self._observer.replied(reply)

    def _on_reply(self, call: int, reply: Reply) -> None:
        self._calls = max(self._calls, call + 1)
        self._tokens += reply.usage.prompt + reply.usage.completion
        self._cost += reply.cost or 0.0

    def _on_stale(self, call: int) -> None:
        self._store.drop_replies(self._episode, call)
        self.notes.append(f"from call {call} on the prompts differ from before the interruption: asked again")
