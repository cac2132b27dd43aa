"""Published result files as stores, so that they compare with runs of one's own. One function for each format."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from trialogue.agents.contract import Lesson
from trialogue.errors import DataError, UnknownName, UsageError
from trialogue.experiments.endings import Ending
from trialogue.experiments.records import IMPORTED, EndRecord, EpisodePlan, RunPlan
from trialogue.experiments.store import Store

TASKS = "published"
"""What stands for the task set, and the task type, that the files do not name."""


@dataclass(frozen=True)
class PublishedTask:
    """One task: whether each trial had solved it by its end, and what was kept of each (None: nothing)."""

    name: str
    solved: tuple[bool, ...]
    lessons: tuple[Lesson | None, ...]


@dataclass(frozen=True)
class Published:
    """What a format's reader returns. ``notes`` count what was left out; ``files`` are names and SHA-256."""

    tasks: tuple[PublishedTask, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def import_results(format: str, folder: Path, name: str, path: Path) -> Published:
    """Reads ``folder`` and writes the new store ``path``: one run, named after ``name``, one episode a task and trial.

    Raises UnknownName for a format, UsageError when the folder is missing or the store exists, DataError for files that
    are not of the format or contradict each other.
    """
    if format not in FORMATS:
        raise UnknownName("format of results", format, FORMATS)
    if not folder.is_dir():
        raise UsageError(f"expected a folder of result files, there is none at {folder}")
    published = FORMATS[format](folder)
    source = {"format": format, "folder": str(folder), "files": list(published.files), "notes": list(published.notes)}
    trials = len(published.tasks[0].solved)
    episodes = [
        EpisodePlan(index * trials + trial + 1, 1, task.name, index, TASKS, "", 0, trial)
        for index, task in enumerate(published.tasks)
        for trial in range(trials)
    ]
    run = RunPlan(1, f"{name}/{TASKS}", name, TASKS)
    with Store.create(path, name=name, config={IMPORTED: source}, runs=[run], episodes=episodes) as store:
        store.set_conditions(1, {IMPORTED: source, "trials": trials})
        for plan in episodes:
            _write(store, plan, published.tasks[plan.task_index])
    return published


def _write(store: Store, plan: EpisodePlan, task: PublishedTask) -> None:
    won = task.solved[plan.trial]
    earlier = plan.trial > 0 and task.solved[plan.trial - 1]
    ending = Ending.SOLVED_EARLIER if earlier else Ending.SOLVED if won else Ending.FAILED
    if (lesson := task.lessons[plan.trial]) is not None:
        store.set_lesson(plan.id, lesson)
    store.end_episode(plan.id, EndRecord(ending, won, float(won), steps=0, turns=0, seconds=0.0))


class _Entry(BaseModel):
    """One task in a file of the Reflexion repository."""

    model_config = ConfigDict(strict=True, extra="allow")

    name: str
    is_success: bool
    memory: list[str] = []


_ENTRIES = TypeAdapter(list[_Entry])
_FILE = re.compile(r"env_results_trial_(\d+)\.json")


def read_reflexion(folder: Path) -> Published:
    """Results of Reflexion's ALFWorld runs: ``env_results_trial_N.json``, N from 0, in one folder.

    Each file is a list of all tasks, always in one order: ``name``, ``is_success`` (solved in this trial or an earlier
    one) and ``memory``, the reflections made so far, that on this trial included.
    """
    paths = _trial_files(folder)
    trials = [_read_entries(path) for path in paths]
    for path, entries in zip(paths[1:], trials[1:], strict=True):
        _require_continuation(path, trials[0], entries)
    histories = list(zip(*trials, strict=True))
    tasks = tuple(_task(history) for history in histories)
    files = tuple(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in paths)
    return Published(tasks, files, tuple(_notes(histories)))


def _trial_files(folder: Path) -> list[Path]:
    """The files of all trials, in their order. Raises DataError when one is missing."""
    found = {int(match[1]): path for path in folder.iterdir() if (match := _FILE.fullmatch(path.name))}
    if not found:
        raise DataError(f"expected files named env_results_trial_N.json in {folder}, found none")
    for trial in range(len(found)):
        if trial not in found:
            missing = f"env_results_trial_{trial}.json"
            raise DataError(f"{folder} has results up to trial {max(found)}, but {missing} is missing")
    return [found[trial] for trial in range(len(found))]


def _read_entries(path: Path) -> list[_Entry]:
    try:
        entries = _ENTRIES.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = f" at {'.'.join(map(str, first['loc']))}" if first["loc"] else ""
        raise DataError(f"{path} is not a list of results with name and is_success: {first['msg']}{place}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if not entries:
        raise DataError(f"{path} holds no results")
    names = [entry.name for entry in entries]
    if twice := {name for name in names if names.count(name) > 1}:
        raise DataError(f"{path} names {min(twice)!r} twice; expected every task once")
    return entries


def _require_continuation(path: Path, first: Sequence[_Entry], entries: Sequence[_Entry]) -> None:
    """Raises DataError unless ``entries`` are of the tasks of ``first``, in their order."""
    if len(first) != len(entries):
        raise DataError(
            f"{path} holds {len(entries)} tasks, trial 0 {len(first)}; every trial must list the same tasks"
        )
    for index, (a, b) in enumerate(zip(first, entries, strict=True)):
        if a.name != b.name:
            raise DataError(
                f"{path} has {b.name!r} in place {index}, trial 0 has {a.name!r}; the order must be the same"
            )


def _task(history: Sequence[_Entry]) -> PublishedTask:
    name = history[0].name
    for trial, (before, now) in enumerate(pairwise(history), start=1):
        if before.is_success and not now.is_success:
            raise DataError(
                f"{name} is solved in trial {trial - 1} and unsolved in trial {trial}; in these files "
                "a task once solved stays solved: they are not of one experiment"
            )
    lessons = [_lesson(trial, memory) for trial, memory in enumerate(_new_memory(history))]
    return PublishedTask(name, tuple(entry.is_success for entry in history), tuple(lessons))


def _lesson(trial: int, memory: Sequence[str] | None) -> Lesson | None:
    return Lesson(trial, reflection=memory[0]) if memory is not None and len(memory) == 1 else None


def _new_memory(history: Sequence[_Entry]) -> Iterator[list[str] | None]:
    """What each trial added to the memory; None where it did not just add."""
    before: list[str] = []
    for entry in history:
        added = entry.memory[len(before) :] if entry.memory[: len(before)] == before else None
        yield added
        before = entry.memory


def _notes(histories: Sequence[Sequence[_Entry]]) -> Iterator[str]:
    odd = sum(added is None or len(added) > 1 for history in histories for added in _new_memory(history))
    if odd:
        yield f"{odd} memories do not grow by one reflection a trial; those reflections are left out"
    unread = sorted({key for history in histories for entry in history for key in entry.model_extra or ()})
    if unread:
        yield f"keys that were not read: {', '.join(unread)}"


FORMATS: Mapping[str, Callable[[Path], Published]] = {"reflexion": read_reflexion}
