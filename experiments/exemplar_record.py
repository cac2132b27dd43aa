"""Records exemplars: plays tasks in every dialect of an environment and writes the episodes as an exemplar file.

What is written has no thoughts. They are added by hand, as ``thought`` and ``event`` of a step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trialogue.envs import make
from trialogue.envs.contract import TextEnv
from trialogue.errors import DataError, UsageError
from trialogue.exemplars.library import ExemplarEntry, ExemplarFile, StepEntry, Wording

MAX_STEPS = 50
"""An expert that needs more steps than this gives no exemplar: nobody would want it in a prompt."""


@dataclass(frozen=True)
class Episode:
    """One task played to success; ``steps`` are pairs of action and observation."""

    type: str
    goal: str
    dialect: str
    observation: str
    steps: tuple[tuple[str, str], ...]


def record(
    env: str, tasks: Sequence[str], dialects: Sequence[str] = (), actions: Sequence[str] | None = None
) -> ExemplarFile:
    """Plays each of ``tasks``, which must be of one type, by the expert, or by ``actions`` in the first dialect.

    ``dialects`` are those the environment declares unless named; the file is written in the first. Raises UsageError
    when a task is not won, an action is not accepted, or there is neither expert nor ``actions``.
    """
    if actions is not None and len(tasks) != 1:
        raise UsageError(f"an action list plays one task; got {len(tasks)}. Record them one by one.")
    with ExitStack() as stack:
        envs = [stack.enter_context(closing(made)) for made in _speakers(env, dialects)]
        told = [_in_every_dialect(envs, task, actions) for task in tasks]
    types = sorted({own.type for own, *_ in told})
    if len(types) != 1:
        raise UsageError(f"an exemplar file holds one task type; these tasks are of {types}. Record them by type.")
    entries = tuple(_entry(f"{types[0]}-{n}", task, told[n - 1]) for n, task in enumerate(tasks, start=1))
    return ExemplarFile(env=env, type=types[0], dialect=told[0][0].dialect, exemplars=entries)


def as_yaml(file: ExemplarFile) -> str:
    """The file in the format that :mod:`trialogue.exemplars.library` reads, thoughts included."""
    head = {"env": file.env, "type": file.type} | ({"dialect": file.dialect} if file.dialect else {})
    data = head | {"exemplars": [_exemplar_data(entry) for entry in file.exemplars]}
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def read_actions(path: Path) -> list[str]:
    """One command a line; empty lines are left out. Raises DataError for a file that cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"expected a text file of actions, one a line, at {path}: {error}") from error
    return [line.strip() for line in lines if line.strip()]


def translate(action: str, own: Sequence[str], other: Sequence[str]) -> str:
    """``action``, of the templates ``own``, in the words of ``other``.

    The templates that only one of the dialects has are paired in their order:

    >>> translate("move mug 1 to desk 1", ["look", "move {o} to {r}"], ["look", "put {o} in/on {r}"])
    'put mug 1 in/on desk 1'
    """
    only_own = [template for template in own if template not in other]
    only_other = [template for template in other if template not in own]
    for template, wording in zip(only_own, only_other, strict=False):
        pieces = re.split(r"\{([^{}]*)\}", template)
        if match := re.fullmatch("(.+)".join(map(re.escape, pieces[::2])), action):
            return wording.format_map(dict(zip(pieces[1::2], match.groups(), strict=True)))
    return action


def _speakers(env: str, dialects: Sequence[str]) -> list[TextEnv]:
    """One environment for each dialect: those named, or those that the environment declares."""
    plain = make(env)
    if not dialects and not plain.dialects:
        return [plain]
    plain.close()
    return [make(env, dialect=dialect) for dialect in dialects or plain.dialects]


def _in_every_dialect(envs: Sequence[TextEnv], task: str, actions: Sequence[str] | None) -> list[Episode]:
    """The same episode in each dialect, the first being played and the others following it."""
    first = _play(envs[0], task, actions)
    own = envs[0].action_space.templates
    told = [first]
    for env in envs[1:]:
        env.reset(options={"task": task})
        other = env.action_space.templates
        told.append(_play(env, task, [translate(action, own, other) for action, _ in first.steps]))
        _require_same_start(task, first, told[-1])
    return told


def _play(env: TextEnv, task: str, actions: Sequence[str] | None) -> Episode:
    """Plays ``actions``, or as the expert does, until the task is won."""
    observation, info = env.reset(options={"task": task})
    policy = env.expert() if actions is None else _Script(task, actions)
    if policy is None:
        raise UsageError(f"{env.name} has no expert; give the actions of {task} as a list.")
    start, steps = observation, []
    while not info["won"]:
        action = policy.act(observation, info["admissible"])
        observation, _, terminated, truncated, info = env.step(action)
        steps.append((action, observation))
        if not info["valid"]:
            raise UsageError(f"{task}, action {len(steps)} ({action!r}) was not accepted: {info['reason']}")
        if not info["won"] and (terminated or truncated or len(steps) == MAX_STEPS):
            raise UsageError(f"{task} was not won in {len(steps)} steps; choose another task, or give the actions.")
    if actions is not None and len(steps) < len(actions):
        raise UsageError(f"{task} is won after {len(steps)} of {len(actions)} actions; leave out the rest.")
    return Episode(info["type"], info["goal"], info["dialect"], start, tuple(steps))


class _Dumper(yaml.SafeDumper):
    """Writes lines as lines, and what cannot be printed as escapes: PyYAML would turn U+0085 into a space."""

    def text(self, text: str) -> yaml.ScalarNode:
        lines = text.split("\n")
        style = None if text.isprintable() else "|" if all(line.isprintable() for line in lines) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.text)


class _Script:
    """A policy that reads its actions from a list."""

    def __init__(self, task: str, actions: Sequence[str]) -> None:
        self._task, self._left = task, list(actions)

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        if not self._left:
            raise UsageError(f"{self._task}: the actions end before the task is won; the last answer: {observation!r}")
        return self._left.pop(0)


def _require_same_start(task: str, own: Episode, other: Episode) -> None:
    """The file format lets dialects differ in actions and observations of steps only."""
    if (own.goal, own.observation) != (other.goal, other.observation):
        raise UsageError(
            f"{task} starts differently in {own.dialect!r} and {other.dialect!r}; record each into a file of its own."
        )


def _entry(id: str, task: str, told: Sequence[Episode]) -> ExemplarEntry:
    own, *others = told
    steps = []
    for number, (action, observation) in enumerate(own.steps):
        wordings = {other.dialect: _wording(own.steps[number], other.steps[number]) for other in others}
        different = {dialect: wording for dialect, wording in wordings.items() if wording != Wording()}
        steps.append(StepEntry.model_validate({"action": action, "observation": observation, "in": different}))
    return ExemplarEntry(id=id, task=task, goal=own.goal, observation=own.observation, steps=tuple(steps))


def _wording(own: tuple[str, str], other: tuple[str, str]) -> Wording:
    action, observation = (theirs if theirs != ours else None for ours, theirs in zip(own, other, strict=True))
    return Wording(action=action, observation=observation)


def _exemplar_data(entry: ExemplarEntry) -> dict[str, Any]:
    head: dict[str, Any] = {"id": entry.id} | ({"task": entry.task} if entry.task else {})
    head |= {"goal": entry.goal, "observation": entry.observation}
    head |= {"reasoning": entry.reasoning} if entry.reasoning else {}
    head |= {"plan": [step.model_dump() for step in entry.plan]} if entry.plan else {}
    return head | {"steps": [_step_data(step) for step in entry.steps]}


def _step_data(step: StepEntry) -> dict[str, Any]:
    """Only what is said, in the order in which it is read: thought, event, action, observation, other dialects."""
    thought = step.thought[0] if len(step.thought) == 1 else list(step.thought)
    data: dict[str, Any] = {"thought": thought, "event": step.event}
    data |= {"action": step.action, "observation": step.observation}
    data["in"] = {dialect: wording.model_dump(exclude_none=True) for dialect, wording in step.wordings.items()}
    always = ("action", "observation")
    return {key: value for key, value in data.items() if value or key in always}
