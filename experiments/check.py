"""Checks of an environment against its contract (:mod:`trialogue.envs.contract`): one small function for each promise.

A check returns what it saw, raises :class:`Fault` where the promise is broken, and :class:`Skipped` where there is
nothing to check. Whatever an environment raises is a fault too.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from trialogue.envs import make
from trialogue.envs.contract import Info, TextEnv
from trialogue.errors import UnknownName, UsageError
from trialogue.experiments.doctor import Finding
from trialogue.experiments.rollout import Moment, begin, do, elsewhere, plain, walk

SEEDS = (7, 8)
EXPERT_STEPS = 100
EXPERT_BAR = 0.5
"""The least share of its tasks that an expert wins; below, it is no ceiling to measure an agent against."""
LONGEST_ANSWER = 50_000
"""Characters. An answer is shown to a model, and must not echo a runaway reply."""
NONSENSE = ("dance wildly", "wld[nothing]")
ODD = (
    "",
    "   ",
    "\n\n",
    "a" * 100_000,
    "\x00\x07\x1b[31m\x7f",
    "look\r\nlook",
    "{0} {braces} %s %(x)s",
    "\\1 (?P<x>.*)+ [",
    "桌子 ябълка تفاحة 🍎 e\u0301",
    "go to \ud800",
    "'; drop table tasks; --",
)


class Fault(Exception):
    """A promise that is broken: what was expected, and what came."""


class Skipped(Exception):
    """There is nothing to check; says why."""


@dataclass
class Subject:
    """The environment to check: ``tasks`` of ``split`` are played, and sampled walks have ``steps`` commands."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    split: str = ""
    tasks: int = 4
    steps: int = 8

    def make(self) -> TextEnv:
        return make(self.name, **self.settings)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the first tasks. Raises UsageError when there is no split to take them from."""
        with closing(self.make()) as env:
            split = self.split or next(iter(env.splits), "")
            if not split:
                raise UsageError(f"{self.name} has no split that needs no data; name one with --split")
            ids = tuple(task.id for task in env.tasks(split)[: self.tasks])
        if not ids:
            raise UsageError(f"{self.name} lists no task in split {split!r}")
        return ids

    @cached_property
    def walks(self) -> Mapping[int, list[Moment]]:
        """One sampled walk for each of SEEDS."""
        with closing(self.make()) as env:
            return {seed: list(walk(env, self.steps, seed=seed)) for seed in SEEDS}

    @cached_property
    def elsewhere(self) -> Mapping[str, Any]:
        """The same walks, and the openings of ``ids``, in another process."""
        return elsewhere(self.name, self.settings, steps=self.steps, seeds=SEEDS, tasks=self.ids)

    @cached_property
    def expert_games(self) -> Mapping[str, list[Moment]]:
        """What the expert did with each of ``ids``; empty where there is no expert."""
        with closing(self.make()) as env:
            games = {task: _expert_game(env, task) for task in self.ids}
        return {task: game for task, game in games.items() if game}

    @property
    def games(self) -> Iterator[tuple[str, list[Moment]]]:
        """Everything that was played, each with a name to report it by."""
        yield from ((f"walk with seed {seed}", game) for seed, game in self.walks.items())
        yield from ((f"expert at {task}", game) for task, game in self.expert_games.items())


def gymnasium_checker(subject: Subject) -> str:
    """Gymnasium's own check_env passes, without a warning."""
    # The checker makes the environment anew from its spec; without one it would leave some things out.
    spec = EnvSpec(id="Checked-v0", entry_point=cast(Any, subject.make), disable_env_checker=True, order_enforce=False)
    with warnings.catch_warnings(record=True) as caught, closing(gymnasium.make(spec)) as env:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check=True)
    told = [str(warning.message) for warning in caught if warning.category is UserWarning]
    if told:
        raise Fault(f"check_env warns: {told[0]}")
    return "check_env"


def tasks(subject: Subject) -> str:
    """Tasks are listed in one order, by unique ids that begin with their split; what is unknown is refused."""
    with ExitStack() as stack:
        env, other = (stack.enter_context(closing(subject.make())) for _ in range(2))
        if ":" not in subject.name and env.name != subject.name:
            raise Fault(f"it is registered as {subject.name!r} and calls itself {env.name!r}")
        splits = dict.fromkeys((*env.splits, *((subject.split,) if subject.split else ())))
        for split in splits:
            _check_listing(env, other, split)
        _expect_unknown("the split 'no_such_split'", lambda: env.tasks("no_such_split"))
        _expect_unknown("a task that does not exist", lambda: env.task(subject.ids[0] + "-no-such"))
    return f"{len(splits)} splits"


def info(subject: Subject) -> str:
    """What reset and step answer has the promised keys and types."""
    with closing(subject.make()) as env:
        space = env.observation_space
    number = 0
    for where, game in subject.games:
        for number_in_game, now in enumerate(game):
            number += 1
            for fault in _wrong_types(now):
                raise Fault(f"{where}, step {number_in_game}: {fault}")
            if now.observation not in space:
                raise Fault(f"{where}, step {number_in_game}: the observation is not in the observation space")
    return f"{number} answers"


def admissible(subject: Subject) -> str:
    """Every command that is listed is in the action space, and accepted."""
    accepted = 0
    for seed, game in subject.walks.items():
        for before, now in pairwise(game):
            if before.info["admissible"] is None:
                raise Skipped("it does not list its commands")
            accepted += 1
            if not now.info["valid"]:
                raise Fault(f"seed {seed}: {now.action!r} was listed, and refused: {now.info['reason']}")
    with closing(subject.make()) as env:
        listed = begin(env, seed=SEEDS[0]).info["admissible"] or []
        outside = [command for command in listed if command not in env.action_space]
        if outside:
            raise Fault(f"{outside[0]!r} is listed, yet not in the action space")
        if listed and env.action_space.sample() not in listed:
            raise Fault("the action space draws commands that are not listed; call action_space.update after each step")
    if not accepted:
        raise Fault("nothing is admissible at the start")
    return f"{accepted} commands accepted"


def invalid_actions(subject: Subject) -> str:
    """An action that is not accepted says why and changes nothing: a twin that never got it stays equal."""
    refused = 0
    with ExitStack() as stack:
        env, twin = (stack.enter_context(closing(subject.make())) for _ in range(2))
        for path in _paths(subject):
            now, same = begin(env, task=path[0].info["task"]), begin(twin, task=path[0].info["task"])
            for moment in path[1 : subject.steps + 1]:
                refused += sum(_disturb(env, command, now) for command in _impossible(env, now, path))
                action = str(moment.action)
                now, same = do(env, action), do(twin, action)
                if now != same:
                    raise Fault(f"after refused actions {action!r} was answered by {_difference(same, now)}")
    if not refused:
        raise Fault("no action was refused")
    return f"{refused} actions refused"


def success(subject: Subject) -> str:
    """``won`` alone says success: not at the start, never taken back, and it ends the episode; rewards add up."""
    for where, game in subject.games:
        if game[0].info["won"]:
            raise Fault(f"{where}: won before anything was done")
        for number, (before, now) in enumerate(pairwise(game), start=1):
            for fault in _wrong_success(before, now):
                raise Fault(f"{where}, step {number} ({now.action!r}): {fault}")
    return f"{sum(game[-1].info['won'] for _, game in subject.games)} episodes won"


def equal_seeds(subject: Subject) -> str:
    """Equal seeds give equal walks: again, and in another process whose hashes differ."""
    with closing(subject.make()) as env:
        for seed, game in subject.walks.items():
            again = list(walk(env, subject.steps, seed=seed))
            for where, other in (
                ("again", plain(again)),
                ("in another process", subject.elsewhere["walks"][str(seed)]),
            ):
                _require_equal(f"seed {seed}, {where}", plain(game), other)
    return f"seeds {', '.join(map(str, SEEDS))}"


def rebuilds(subject: Subject) -> str:
    """A task id alone gives the same opening: after other tasks, and in another process."""
    with closing(subject.make()) as env:
        for task in (*subject.ids, *reversed(subject.ids)):
            now = begin(env, seed=99, task=task)
            if now.info["task"] != task:
                raise Fault(f"asked for the task {task!r}, info says {now.info['task']!r}")
            _require_equal(f"opening of {task}", [subject.elsewhere["openings"][task]], [plain(now)])
            for moment in walk(env, 3, seed=1, task=task):
                del moment
    return f"{len(subject.ids)} tasks"


def expert(subject: Subject) -> str:
    """The expert, where there is one, wins at least half of its tasks."""
    games = subject.expert_games
    if not games:
        raise Skipped("there is no expert")
    won = sum(game[-1].info["won"] for game in games.values())
    told = f"won {won} of {len(games)} within {EXPERT_STEPS} steps"
    if won < EXPERT_BAR * len(games):
        lost = next(task for task, game in games.items() if not game[-1].info["won"])
        raise Fault(f"{told}; expected at least {EXPERT_BAR:.0%}; not won: {lost}")
    return told


def odd_text(subject: Subject) -> str:
    """Whatever is said, the environment answers, briefly, and goes on."""
    with closing(subject.make()) as env:
        task = subject.ids[0]
        for text in ODD:
            begin(env, task=task)
            now = _answer(env, text)
            for fault in _wrong_types(now):
                raise Fault(f"after {_short(text)}: {fault}")
            longest = max(len(now.info["reason"]), len(now.observation))
            if longest > LONGEST_ANSWER:
                raise Fault(f"after {_short(text)}: an answer of {longest} characters; it echoes what was said")
            if now.info["admissible"] and text in now.info["admissible"]:
                raise Fault(f"{_short(text)} is listed as admissible")
        list(walk(env, 2, seed=0, task=task))
    return f"{len(ODD)} texts"


def closes(subject: Subject) -> str:
    """It closes, twice as well, and leaves others alone that are open."""
    with closing(subject.make()) as other:
        task = subject.ids[0]
        opening = begin(other, task=task)
        env = subject.make()
        begin(env, task=task)
        env.close()
        env.close()
        subject.make().close()
        _require_equal("another that is open", plain([opening]), plain([begin(other, task=task)]))
    return "twice"


Check = Callable[[Subject], str]
CHECKS: tuple[Check, ...] = (
    gymnasium_checker,
    tasks,
    info,
    admissible,
    invalid_actions,
    success,
    equal_seeds,
    rebuilds,
    expert,
    odd_text,
    closes,
)


def check(subject: Subject, checks: Sequence[Check] = CHECKS) -> Iterator[Finding]:
    """Runs ``checks``; ``ok`` is None where there was nothing to check. UsageError if the subject cannot be made."""
    subject.ids  # noqa: B018 -- a name, setting or split that does not exist is no fault of the environment
    for one in checks:
        yield _finding(one, subject)


def _finding(one: Check, subject: Subject) -> Finding:
    name = one.__name__.replace("_", " ")
    try:
        return Finding(name, True, one(subject))
    except Skipped as why:
        return Finding(name, None, str(why))
    except Fault as fault:
        return Finding(name, False, str(fault))
    except Exception as error:
        return Finding(name, False, _raised(error))


def _raised(error: Exception) -> str:
    """The error with the place it came from, for the author of the environment."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())[:500]
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}:{place.lineno})"


def _expert_game(env: TextEnv, task: str) -> list[Moment]:
    now = begin(env, seed=0, task=task)
    policy = env.expert()
    if policy is None:
        return []
    game = [now]
    while len(game) <= EXPERT_STEPS and not (now.info["won"] or now.terminated or now.truncated):
        action = policy.act(now.observation, now.info["admissible"])
        now = do(env, action)
        game.append(now)
    return game


def _check_listing(env: TextEnv, other: TextEnv, split: str) -> None:
    listed = list(env.tasks(split))
    if not listed:
        raise Fault(f"split {split!r} lists no task")
    if listed != list(other.tasks(split)):
        raise Fault(f"split {split!r} is listed differently by two instances")
    if len({task.id for task in listed}) != len(listed):
        raise Fault(f"split {split!r} lists a task twice")
    for task in listed:
        if task.split != split or not task.id.startswith(f"{split}/") or not task.type:
            raise Fault(f"expected an id that begins with '{split}/', this split and a type; got {task}")
    if env.task(listed[-1].id) != listed[-1]:
        raise Fault(f"task({listed[-1].id!r}) gives another task")


def _expect_unknown(what: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except UsageError as error:
        if not isinstance(error, UnknownName) and not str(error).strip():
            raise Fault(f"{what} is refused without a word") from None
        return
    raise Fault(f"{what} was accepted; expected UnknownName")


_TYPES: dict[str, type] = {
    "task": str,
    "type": str,
    "goal": str,
    "dialect": str,
    "valid": bool,
    "reason": str,
    "score": float,
    "won": bool,
}


def _wrong_types(now: Moment) -> Iterator[str]:
    """What is not of its exact type (numpy's bool is no bool), and what info lacks."""
    answered: tuple[tuple[str, type], ...] = (
        ("observation", str),
        ("reward", float),
        ("terminated", bool),
        ("truncated", bool),
    )
    for name, kind in answered:
        if type(getattr(now, name)) is not kind:
            yield f"{name} must be {kind.__name__}, got {getattr(now, name)!r:.80}"
    for key in Info.__annotations__:
        if key not in now.info:
            yield f"info lacks {key!r}"
    for key, kind in _TYPES.items():
        if type(now.info.get(key)) is not kind:
            yield f"info[{key!r}] must be {kind.__name__}, got {now.info.get(key)!r:.80}"
    listed = now.info.get("admissible")
    if listed is not None and not (type(listed) is list and all(type(command) is str for command in listed)):
        yield f"info['admissible'] must be None or a list of str, got {listed!r:.80}"
    if now.info.get("valid") == bool(now.info.get("reason")):
        yield f"valid is {now.info.get('valid')}, and the reason {now.info.get('reason')!r:.80}"


def _wrong_success(before: Moment, now: Moment) -> Iterator[str]:
    score, gained = now.info["score"], now.info["score"] - before.info["score"]
    if not 0 <= score <= 1:
        yield f"the score is {score}, expected 0 to 1"
    if abs(now.reward - gained) > 1e-9:
        yield f"the reward is {now.reward}, the score rose by {gained}"
    if before.info["won"] and not now.info["won"]:
        yield "won was taken back"
    if now.info["won"] and not now.terminated:
        yield "won, yet not terminated"
    if now.info["won"] and now.truncated:
        yield "a cap truncated a game that is won"


def _paths(subject: Subject) -> list[list[Moment]]:
    """Episodes to walk along: the longest of the expert's, which gets somewhere, or sampled ones."""
    by_expert = sorted(subject.expert_games.values(), key=len)
    return by_expert[-1:] or [*subject.walks.values()]


def _impossible(env: TextEnv, now: Moment, path: Sequence[Moment]) -> list[str]:
    """Nonsense that is no command here, and one command of another moment that is not listed now."""
    if now.terminated:
        return []
    listed = now.info["admissible"]
    if listed is None:
        return [text for text in NONSENSE if text not in env.action_space]
    others = (command for moment in path for command in moment.info["admissible"] or ())
    stale = next((command for command in others if command not in listed), None)
    return [*NONSENSE, *([] if stale is None else [stale])]


def _disturb(env: TextEnv, command: str, now: Moment) -> bool:
    """Sends what is not possible, and requires a refusal that changes nothing."""
    said = do(env, command)
    if said.info["valid"]:
        raise Fault(f"{command!r} is not listed, and was accepted")
    if not said.info["reason"]:
        raise Fault(f"{command!r} was refused without a reason")
    kept = {key: now.info[key] for key in ("task", "goal", "admissible", "score", "won")}
    changed = [key for key, value in kept.items() if said.info[key] != value]
    if changed or said.reward or said.terminated != now.terminated:
        raise Fault(f"the refused {command!r} changed {', '.join(changed) or 'reward or end'}")
    return True


def _answer(env: TextEnv, text: str) -> Moment:
    try:
        return do(env, text)
    except Exception as error:
        raise Fault(f"after {_short(text)}: {_raised(error)}") from error


def _short(text: str) -> str:
    return repr(text) if len(text) < 60 else f"{text[:10]!r}... ({len(text)} characters)"


def _require_equal(where: str, expected: Sequence[Any], found: Sequence[Any]) -> None:
    if len(expected) != len(found):
        raise Fault(f"{where}: {len(expected)} answers here, {len(found)} there")
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one != other:
            raise Fault(f"{where}: step {number} differs: {_difference(Moment(*one), Moment(*other))}")


def _difference(one: Moment, other: Moment) -> str:
    for name, a, b in zip(Moment._fields, one, other, strict=True):
        if a != b and name == "info":
            keys = [key for key in {**one.info, **other.info} if one.info.get(key) != other.info.get(key)]
            return f"info[{keys[0]!r}] {other.info.get(keys[0])!r:.120}, not {one.info.get(keys[0])!r:.120}"
        if a != b:
            return f"{name} {b!r:.120}, not {a!r:.120}"
    return "nothing"
