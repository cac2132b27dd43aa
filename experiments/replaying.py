"""Replays: are the stored episodes still what the environment, the agent and the reader of today make of them?

:func:`replay_actions` executes the stored actions again. :func:`replay_agent` plays the whole episode again with the
stored replies in the place of the model: every prompt, turn and step must come out as it is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from trialogue.agents.contract import Agent, Learner, Turn
from trialogue.agents.models import Model, Tape
from trialogue.agents.models.contract import Reply, Request
from trialogue.errors import EnvError, ModelError, UnknownName
from trialogue.experiments.endings import Ending
from trialogue.experiments.episode import Episode, EpisodeLog, Rules
from trialogue.experiments.forking import corrected_agent, edits_of, memory_of, stored_config
from trialogue.experiments.hosts import EnvHost
from trialogue.experiments.records import EndRecord, StepRecord, dumps
from trialogue.experiments.store import Store, render_prompt, settings_of
from trialogue.experiments.workshop import Workshop, make_models

BY_CIRCUMSTANCE = frozenset({None, Ending.BUDGET, Ending.MODEL_ERROR, Ending.ENV_ERROR})
"""Endings that what is stored does not bring about again: not ended, out of time, a model or environment failed."""


@dataclass(frozen=True)
class Difference:
    """The first thing that is not as stored: ``where`` (step 3: observation), and both texts."""

    where: str
    stored: str
    now: str

    def __str__(self) -> str:
        return f"{self.where}\n  stored: {self.stored!r}\n  now:    {self.now!r}"


@dataclass(frozen=True)
class Replayed:
    """What came of one episode: ``steps`` actions were executed again, up to ``difference`` if there is one."""

    episode: int
    run: str
    steps: int
    difference: Difference | None

    def __str__(self) -> str:
        told = f"equal ({self.steps} steps)" if self.difference is None else f"differs at {self.difference}"
        return f"episode {self.episode} of {self.run}: {told}"


class Departed(Exception):
    """Something is not as stored. No TrialogueError: nothing on the way may take it for an ending."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


class _Reached(Exception):
    """All that is stored came out again, of an episode that ended by circumstance."""


class Replayer:
    """Replays episodes of ``store``, each task set in an environment of its own; to be closed.

    Raises UsageError for imported results, and what making the environment raises; for agents, what making their models
    raises, of which none is asked anything.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shops: dict[tuple[str, str, bool], Workshop] = {}
        self._hosts: dict[str, EnvHost] = {}

    def close(self) -> None:
        for host in self._hosts.values():
            host.close()

    def episodes(self, run: str | None = None) -> list[int]:
        """Those of one run (an agent, or AGENT/TASKS), or of all. Raises UnknownName."""
        rows = self._store.episodes(forks=True)
        chosen = [int(row["id"]) for row in rows if run in (None, row["run_name"], row["agent"])]
        if not chosen:
            raise UnknownName("run", str(run), {row["run_name"] for row in rows})
        return chosen

    async def replay(self, episode: int, *, agent: bool = False) -> Replayed:
        """One episode; with ``agent`` its agent too. One that was never played is equal, with no steps."""
        row = self._store.episode(episode)
        steps = list(self._store.steps(episode))
        shop = self._workshop(row, agent)
        host = self._hosts.get(row["tasks"]) or self._hosts.setdefault(row["tasks"], shop.host(row["tasks"]))
        found = None
        if row["observation"] or steps:
            found = await (self._agent(row, shop, host) if agent else replay_actions(host, row, steps))
        return Replayed(episode, row["run_name"], sum(step.action is not None for step in steps), found)

    def _workshop(self, row: Any, with_models: bool) -> Workshop:
        key = (row["agent"], row["tasks"], with_models)
        if key not in self._shops:
            config = stored_config(self._store, row["agent"], row["tasks"])
            self._shops[key] = Workshop(config, make_models(config) if with_models else {})
        return self._shops[key]

    async def _agent(self, row: Any, shop: Workshop, host: EnvHost) -> Difference | None:
        return await replay_agent(self._store, row, shop, host)


async def replay_actions(host: EnvHost, row: Any, steps: list[StepRecord]) -> Difference | None:
    """Executes the actions of an episode again. Returns the first difference, in what is said or how it stands."""
    try:
        opened = await host.open(row["task"], row["seed"])
        said: dict[str, Any] = {"observation": opened.observation}
        said |= {"goal": opened.info["goal"], "dialect": opened.info["dialect"]}
        _compare("start", {key: row[key] for key in said}, said)
        for step in steps:
            if step.action is None:
                continue
            now = await host.step(step.action)
            keys = ("valid", "reason", "score", "won")
            info: Mapping[str, Any] = now.info
            said = {"observation": now.observation, **{key: info[key] for key in keys}, "reward": now.reward}
            _compare(f"step {step.step} ({step.action})", {key: getattr(step, key) for key in said}, said)
    except EnvError as error:
        return Difference("the environment, which failed", "", str(error))
    except Departed as departed:
        return departed.difference
    return None


def _compare(where: str, stored: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key in stored:
        if stored[key] != now.get(key):
            raise Departed(Difference(f"{where}: {key}", str(stored[key]), str(now.get(key))))


async def replay_agent(store: Store, row: Any, shop: Workshop, host: EnvHost) -> Difference | None:
    """Plays an episode again with its stored replies; the agent is made anew. Returns the first difference."""
    check = _Check(store, row)
    agent = _made(store, row, shop, check)
    limits = shop.rules.limits.model_copy(update={"seconds": None})
    episode = Episode(
        host,
        agent,
        row["task"],
        row["seed"],
        Rules(limits, shop.rules.stuck),
        check,
        spent=check.spent,
        go_on=check.go_on,
        trial=row["trial"],
        memory=memory_of(store, row) if isinstance(agent, Learner) else (),
    )
    try:
        check.ended(await episode.play())
        if isinstance(agent, Learner) and row["lesson"] is not None:
            check.learnt(dumps(asdict(await agent.learn(row["ending"]))))
    except _Reached:
        return None
    except Departed as departed:
        return departed.difference
    except ModelError as error:
        return Difference("a stored reply could not be used", "", str(error))
    return None


def _made(store: Store, row: Any, shop: Workshop, check: _Check) -> Agent:
    if row["parent"] is None:
        return shop.agent(row["agent"], check.recorded)
    return corrected_agent(shop, row["agent"], edits_of(store, row), check.recorded, lambda: check.calls)[0]


class _Check(EpisodeLog):
    """Compares what happens with what is stored, and holds the tape of the stored replies."""

    def __init__(self, store: Store, row: Any) -> None:
        self.calls = 0
        self._row = row
        self._turns = store.turns(row["id"])
        self._steps = {step.step: step for step in store.steps(row["id"])}
        self._prompts = store.prompts(row["id"])
        self._replies = store.replies(row["id"])
        self._settings = store.request_settings(row["id"])
        self._stale: int | None = None
        self._tokens, self._cost = 0, 0.0
        self._reached = 0
        self._tape = Tape(self._replies, on_new=_no_new, on_reply=self._replied, on_stale=self._went_stale)

    def recorded(self, model: Model) -> Model:
        return self._tape.recorded(_Silent(model, self._asked))

    def spent(self) -> tuple[int, float]:
        return self._tokens, self._cost

    def go_on(self) -> None:
        if self._reached == len(self._turns) and self._row["ending"] in BY_CIRCUMSTANCE:
            raise _Reached

    def described(self, goal: str, dialect: str, observation: str) -> None:
        now = {"observation": observation, "goal": goal, "dialect": dialect}
        _compare("start", {key: self._row[key] for key in now}, now)

    def turned(self, number: int, turn: Turn) -> None:
        now = {
            **{key: getattr(turn, key) for key in ("kind", "action", "problem", "event", "memory")},
            **{key: dumps(list(getattr(turn, key))) for key in ("thoughts", "notes")},
            "liberties": dumps([asdict(liberty) for liberty in turn.liberties]),
        }
        if number >= len(self._turns):
            raise Departed(Difference(f"turn {number}", "(the episode had ended)", dumps(now)))
        _compare(f"turn {number}", {key: self._turns[number][key] for key in now}, now)
        self._reached = number + 1

    def stepped(self, step: StepRecord) -> None:
        stored = self._steps.get(step.step)
        if stored is None:
            raise Departed(Difference(f"step {step.step}", "(there was none)", str(step.action)))
        now = asdict(step)
        del now["seconds"]
        _compare(f"step {step.step} ({step.action})", {key: getattr(stored, key) for key in now}, now)

    def ended(self, end: EndRecord) -> None:
        row = self._row
        if row["ending"] in BY_CIRCUMSTANCE and self._reached == len(self._turns):
            return
        if end.ending == Ending.ENV_ERROR:
            raise Departed(Difference("the environment, which failed", str(row["ending"]), end.error))
        now = {"ending": str(end.ending), "steps": end.steps, "turns": end.turns, "error": end.error}
        _compare("end", {key: row[key] for key in now}, now)

    def learnt(self, lesson: str) -> None:
        _compare("end", {"lesson": dumps(json.loads(self._row["lesson"]))}, {"lesson": lesson})

    def _replied(self, call: int, reply: Reply) -> None:
        self.calls = max(self.calls, call + 1)
        self._tokens += reply.usage.prompt + reply.usage.completion
        self._cost += reply.cost or 0.0

    def _went_stale(self, call: int) -> None:
        self._stale = call

    def _asked(self, request: Request) -> None:
        """A request for which there is no reply: it is not the one that was made, or none was made then."""
        now = render_prompt(request)
        if self._stale is None:
            raise Departed(Difference(f"call {self.calls}", "(nothing was asked)", now))
        stored = self._prompts[self._stale]
        if stored == now:
            settings = json.loads(dumps(settings_of(request)))
            _compare(f"call {self._stale}: request", {**settings, **self._settings[self._stale]}, settings)
            raise Departed(Difference(f"call {self._stale}: request", "another, by its hash", dumps(settings)))
        begin = _first_difference(stored, now)
        where = f"call {self._stale}: prompt, from character {begin}"
        raise Departed(Difference(where, _near(stored, begin), _near(now, begin)))


class _Silent:
    """A model of which only the outside is needed."""

    def __init__(self, model: Model, asked: Callable[[Request], None]) -> None:
        self._model, self._asked = model, asked
        self.name, self.style = model.name, model.style
        self.can_constrain, self.can_call_tools = model.can_constrain, model.can_call_tools

    async def generate(self, request: Request) -> Reply:
        self._asked(request)
        raise AssertionError("unreachable")

    def conditions(self) -> Mapping[str, object]:
        return self._model.conditions()

    async def close(self) -> None:
        """Never opened."""


def _no_new(call: int, request: Request, reply: Reply) -> None:
    raise AssertionError(f"call {call} of a replay was answered by a model")


def _first_difference(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _near(text: str, place: int, around: int = 200) -> str:
    return text[max(0, place - around // 4) : place + around]


@contextmanager
def replayer(path: Any) -> Iterator[Replayer]:
    """A :class:`Replayer` of the store at ``path``."""
    with Store.read(path) as store, closing(Replayer(store)) as made:
        yield made
