"""Forks: an episode played again up to a step, where a given thought or command takes the place of the model's.

This is the human correction of ReAct (Yao et al. 2023, section 4 and figure 5), after the fact: what the model said
before that step is copied from the parent and asked of nobody, and from there on the agent goes on with its model.
The correction passes through the review of a turn (:mod:`trialogue.agents.review`), as a person's would.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from trialogue.agents import make_agent, needs_person
from trialogue.agents.contract import Agent, Learner, Lesson, View
from trialogue.agents.models import Model, make_model
from trialogue.agents.models.contract import Reply, Request
from trialogue.agents.models.scripted import ScriptedModel
from trialogue.agents.notation import THINK
from trialogue.agents.reading import Reading
from trialogue.agents.registry import find
from trialogue.agents.review import APPROVED, ASK, Reviewer, When
from trialogue.errors import UsageError
from trialogue.exemplars import exemplars_for, exemplars_in
from trialogue.experiments.config import AgentConfig, ExperimentConfig, parse_config
from trialogue.experiments.edits import Edit, EditKind
from trialogue.experiments.endings import ERRORS
from trialogue.experiments.episode import Episode
from trialogue.experiments.recording import Observer, StoreLog
from trialogue.experiments.records import IMPORTED
from trialogue.experiments.store import Store
from trialogue.experiments.workshop import PERSON, Conditions, Workshop, make_models

Recorded = Callable[[Model], Model]


def edits_of(store: Store, row: Any) -> tuple[Edit, ...]:
    """The corrections that an episode was played with: its own and those of the forks before it, oldest first."""
    edits: list[Edit] = []
    before: float = math.inf
    while row["parent"] is not None:
        edit = Edit.of(row["fork"])
        if edit.call < before:  # what a parent did after the place of its fork was not copied
            edits.insert(0, edit)
        before = min(before, edit.call)
        row = store.episode(row["parent"])
    return tuple(edits)


def memory_of(store: Store, row: Any) -> tuple[Lesson, ...]:
    """The lessons that an episode was told; a fork those of the planned episode that it comes from."""
    while row["parent"] is not None:
        row = store.episode(row["parent"])
    return store.lessons(row["id"])


def stored_config(store: Store, agent: str, tasks: str) -> ExperimentConfig:
    """The configuration of a store, of which only one agent and one task set are kept.

    Raises UsageError for imported results.
    """
    told = json.loads(store.meta("config"))
    if IMPORTED in told:
        raise UsageError(f"{store.path} holds imported results: what was done in their episodes is not known")
    config = parse_config(told, source=f"the configuration in {store.path}")
    return config.model_copy(update={"agents": {agent: config.agents[agent]}, "tasks": {tasks: config.tasks[tasks]}})


class Corrector:
    """The person of a forked agent: decides as ``edits`` say at their calls, elsewhere as the agent's settings say.

    ``calls`` tells how many replies were used so far; ``recorded`` puts what is decided on the episode's tape.
    """

    name = "given:fork"
    style: Literal["chat", "completion"] = "chat"
    can_constrain = False
    can_call_tools = False

    def __init__(self, edits: Sequence[Edit], calls: Callable[[], int], recorded: Recorded, person: Model | None):
        self.made: list[Edit] = []
        self._edits = {edit.call: edit for edit in edits}
        self._calls = calls
        self._recorded = recorded
        self._person = person

    def reviewer(self, when: When) -> Reviewer:
        return _Correcting(self, when, self._person)

    def due(self) -> Edit | None:
        """The correction of the reply that was just read."""
        edit = self._edits.get(self._calls() - 1)
        if edit is not None:
            self.made.append(edit)
        return edit

    def given(self, edit: Edit) -> Model:
        """A person who says this, once."""
        return self._recorded(ScriptedModel([edit.said], name=self.name, style="chat"))

    async def generate(self, request: Request) -> Reply:
        raise UsageError(f"{self.name} is asked through its reviewer only")

    def conditions(self) -> Mapping[str, object]:
        return {"provider": "given"}

    async def close(self) -> None:
        """Nothing to close."""


class _Correcting(Reviewer):
    def __init__(self, corrector: Corrector, when: When, person: Model | None) -> None:
        self._corrector = corrector
        self._otherwise = Reviewer.of(when, person)

    async def reviewed(
        self, reading: Reading, view: View, notes: list[str], *, goal: str, repeats: bool, seed: Callable[[], int]
    ) -> Reading:
        edit = self._corrector.due()
        reviewer = self._otherwise if edit is None else Reviewer(self._corrector.given(edit), "always")
        if reviewer is None:
            return reading
        return await reviewer.reviewed(reading, view, notes, goal=goal, repeats=repeats, seed=seed)


def corrected_agent(
    workshop: Workshop, name: str, edits: Sequence[Edit], recorded: Recorded, calls: Callable[[], int]
) -> tuple[Agent, Corrector]:
    """The agent ``name`` as the configuration makes it, with the corrector that puts ``edits`` in their places."""
    agent = workshop.config.agents[name]
    person = recorded(make_model(PERSON.name)) if needs_person(agent.agent, agent.settings) else None
    model, corrector = workshop.model(name), Corrector(edits, calls, recorded, person)
    made = make_agent(
        agent.agent,
        model=None if model is None else recorded(model),
        settings=agent.settings,
        exemplars_for=exemplars_for if agent.exemplars is None else exemplars_in(agent.exemplars),
        person=corrector,
    )
    return made, corrector


class _NotBefore:
    """``model``, which must not be asked for anything that the parent paid for."""

    def __init__(self, model: Model, edit: Edit, calls: Callable[[], int]) -> None:
        self._model, self._edit, self._calls = model, edit, calls
        self.name, self.style = model.name, model.style
        self.can_constrain, self.can_call_tools = model.can_constrain, model.can_call_tools

    async def generate(self, request: Request) -> Reply:
        if self._calls() <= self._edit.call:
            raise UsageError(
                f"call {self._calls()} comes before the fork, and today's agent does not ask what was asked then: "
                "fork with the version that played the episode (see: trialogue replay --agent)"
            )
        return await self._model.generate(request)

    def conditions(self) -> Mapping[str, object]:
        return self._model.conditions()

    async def close(self) -> None:
        """Whoever made the model closes it."""


async def fork(
    path: Path,
    parent: int,
    step: int,
    *,
    thought: str | None = None,
    action: str | None = None,
    observer: Observer | None = None,
) -> int:
    """Plays the fork of episode ``parent`` that differs from it at ``step``; returns its episode.

    It is stored as a run of one episode named AGENT/TASKS#fork-N. A fork that was begun before is gone on with; one
    that has ended is returned as it is. Raises UsageError when the agent has no review, when there is no such step, or
    when the agent of today does not ask what it asked then (nothing is stored in that case); what the environment and
    the model raise as FATAL.
    """
    with Store.resume(path) as store:
        row = store.episode(parent)
        config = stored_config(store, row["agent"], row["tasks"])
        _require_review(row["agent"], config.agents[row["agent"]])
        edit = _edit(store, row, step, thought, action)
        child = _begun(store, parent, edit)
        if child is None:
            child = store.add_fork(parent, _name(store, row["run_name"]), edit.record(), edit.call + 1)
            try:
                await _play(store, child, edit, config, observer or Observer())
            except UsageError:
                store.remove_fork(child)
                raise
        elif store.episode(child)["ending"] is None:
            await _play(store, child, edit, config, observer or Observer())
        return child


async def _play(store: Store, child: int, edit: Edit, config: ExperimentConfig, observer: Observer) -> None:
    row = store.episode(child)
    name, tasks = row["agent"], row["tasks"]
    async with AsyncExitStack() as stack:
        models = make_models(config)
        for model in models.values():
            stack.push_async_callback(model.close)
        workshop = Workshop(config, models)
        stack.callback(workshop.close)
        conditions = Conditions(workshop)
        log = StoreLog(store, child, observer)
        agent, corrector = corrected_agent(
            workshop,
            name,
            edits_of(store, row),
            lambda model: log.recorded(_NotBefore(model, edit, lambda: log.calls)),
            lambda: log.calls,
        )
        log.exemplar_ids = lambda: getattr(agent, "exemplar_ids", ())
        host = workshop.host(tasks)
        stack.callback(host.close)
        end = await Episode(
            host,
            agent,
            row["task"],
            row["seed"],
            workshop.rules,
            log,
            spent=log.spent,
            go_on=lambda: _require_made(corrector, edit, log.calls),
            trial=row["trial"],
            memory=memory_of(store, row) if isinstance(agent, Learner) else (),
        ).play()
        if end.ending not in ERRORS and edit not in corrector.made:
            raise UsageError(
                f"the episode ended ({end.ending}) before step {edit.step} was reached: its environment does not "
                "answer as it did (see: trialogue replay)"
            )
        forked = {"fork": {"episode": row["parent"], **edit.record()}}
        store.set_conditions(row["run"], {**conditions.of(name, tasks), **forked})
        store.end_episode(child, replace(end, notes=tuple(log.notes)))


def _require_made(corrector: Corrector, edit: Edit, calls: int) -> None:
    if calls > edit.call and edit not in corrector.made:
        raise UsageError(
            f"what the agent did at step {edit.step} came from a part of it that has no review (call {edit.call}); "
            "choose a step at which it asked for a thought or a command"
        )


def _require_review(name: str, agent: AgentConfig) -> None:
    settings = find(agent.agent).settings
    if "review" not in settings.model_fields and not hasattr(settings, "review"):
        raise UsageError(
            f"agent {name!r} ({agent.agent}) has no review: nobody can step in between its calls of a model. "
            "Agents that can be forked have the setting `review` (trialogue agents)"
        )


def _edit(store: Store, row: Any, step: int, thought: str | None, action: str | None) -> Edit:
    kind, text = _given(thought, action)
    steps = {record.step: record for record in store.steps(row["id"])}
    if step not in steps:
        raise UsageError(f"episode {row['id']} has no step {step}; its steps are 1 to {max(steps, default=0)}")
    first = steps[step - 1].turn + 1 if step > 1 else 0
    return Edit(step, _call(store, row, range(first, steps[step].turn + 1), kind), kind, text)


def _given(thought: str | None, action: str | None) -> tuple[EditKind, str]:
    """Which of the two was given, on one line. Raises UsageError for none, both, and what a review would misread."""
    if (thought is None) == (action is None):
        raise UsageError("give either a thought or an action (--thought or --action)")
    if thought is not None and (text := " ".join(thought.split())):
        return "thought", text
    text = " ".join((action or "").split())
    if text.casefold() in APPROVED or text.casefold().startswith(THINK):
        raise UsageError(f"{text!r} cannot be put there; a thought is given by --thought, without {THINK!r}")
    return "action", text


def _call(store: Store, row: Any, of_step: range, kind: str) -> int:
    """The model's call at one step whose reading gives way: that of its first thought, or that of its command."""
    turns = store.turns(row["id"])
    turn = turns[of_step[-1]]
    thoughts: list[str] = []
    if kind == "thought":
        thinking = [turns[number] for number in of_step if turns[number]["thoughts"] != "[]"]
        turn = thinking[0] if thinking else turn
        thoughts = json.loads(turn["thoughts"])
    before = turns[turn["turn"] - 1]["calls"] if turn["turn"] else 0
    prompts, replies = store.prompts(row["id"]), store.replies(row["id"])
    calls = [
        call
        for call in range(before, turn["calls"])
        if call in prompts and not prompts[call].rstrip().endswith(ASK) and replies[call][1].finish_reason != "overflow"
    ]
    if not calls:
        raise UsageError(f"no model was asked at this step of episode {row['id']}: there is nothing to correct")
    told = [call for call in calls if thoughts and _holds(replies[call][1], thoughts[0])]
    return told[0] if told else calls[-1]


def _holds(reply: Reply, thought: str) -> bool:
    said = " ".join(reply.text.split())
    return bool(thought) and " ".join(thought.split()) in said


def _begun(store: Store, parent: int, edit: Edit) -> int | None:
    """The episode of the same fork, if there is one."""
    for row in store.episodes(forks=True):
        if row["parent"] == parent and Edit.of(row["fork"]) == edit:
            return int(row["id"])
    return None


def _name(store: Store, run: str) -> str:
    base = run.partition("#")[0]
    numbers = [row["name"].rpartition("-")[2] for row in store.runs(forks=True) if row["name"].startswith(f"{base}#")]
    return f"{base}#fork-{max(map(int, numbers), default=0) + 1}"
