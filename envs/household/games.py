"""Real ALFWorld games: finding and reading ``json_2.1.1/SPLIT/TASK/TRIAL/game.tw-pddl``.

A game file is JSON with the texts ``pddl_domain``, ``grammar`` and ``pddl_problem`` and the flag ``solvable``; only
solvable games count (134 in valid_unseen, 140 in valid_seen). Format: ALFWorld (Shridhar et al. 2021), as
``alfworld-download`` unpacks it.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any

from trialogue.envs.contract import Task
from trialogue.envs.household.engine import Game
from trialogue.envs.household.tasktypes import MOVABLE, TASK_TYPES, type_of
from trialogue.errors import DataError, UnknownName, UsageError

KNOWN_SPLITS = ("train", "valid_seen", "valid_train", "valid_unseen")
"""The folders that ALFWorld's download holds."""

FILE = "game.tw-pddl"
_KEYS = ("pddl_domain", "grammar", "pddl_problem", "solvable")
_TAIL = re.compile(rb'"solvable"\s*:\s*(true|false)\s*\}\s*$')
_HELP = (
    "Get the games with `alfworld-download`, or name the folder that holds json_2.1.1 by data=... or $ALFWORLD_DATA."
)


def root(data: str | os.PathLike[str] | None) -> Path:
    """The folder ``json_2.1.1`` below ``data`` (default: $ALFWORLD_DATA, else ~/.cache/alfworld, as alfworld itself).

    Raises DataError when there is none.
    """
    base = Path(data or os.environ.get("ALFWORLD_DATA") or Path.home() / ".cache" / "alfworld").expanduser()
    folder = base / "json_2.1.1"
    if not folder.is_dir():
        raise DataError(f"looked for ALFWorld games in {folder}: no such folder. {_HELP}")
    return folder


def splits(folder: Path) -> tuple[str, ...]:
    """The splits that lie in ``folder``, by name."""
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir()))


def tasks(folder: Path, split: str) -> tuple[Task, ...]:
    """The solvable games of ``split``, sorted by id. Games with movable receptacles are left out; see MOVABLE.

    Raises UnknownName for a split without a folder, DataError for a file that cannot be read.
    """
    if split not in splits(folder):
        raise UnknownName("split", split, splits(folder))
    found = []
    for path in (folder / split).glob(f"*/*/{FILE}"):
        kind = type_of(path.parent.parent.name)
        if kind is not None and _solvable(path):
            found.append(Task(path.parent.relative_to(folder).as_posix(), split, kind))
    if not found:
        raise DataError(f"looked for {split}/*/*/{FILE} in {folder}: no solvable game. {_HELP}")
    return tuple(sorted(found, key=lambda task: task.id))


def find(folder: Path, task_id: str) -> Task:
    """The game ``SPLIT/TASK/TRIAL``. UsageError if the id can name no game, UnknownName if none is there."""
    parts = task_id.split("/")
    if len(parts) != 3 or any(part in ("", ".", "..") or "\\" in part for part in parts):
        raise UsageError(f"{task_id!r} is not a task id: expected SPLIT/TASK/TRIAL, or generated_train/... .")
    kind = type_of(parts[1])
    if kind is None:
        if parts[1].startswith(MOVABLE):
            raise UsageError(
                f"{task_id!r} needs movable receptacles, which ALFWorld's rules cannot do; it is not loaded."
            )
        raise UnknownName("task type", parts[1].split("-", 1)[0], [known.folder for known in TASK_TYPES.values()])
    if parts[0] not in splits(folder):
        raise UnknownName("split", parts[0], splits(folder))
    if not (folder / task_id / FILE).is_file():
        near = difflib.get_close_matches(task_id, [task.id for task in tasks(folder, parts[0])], n=3)
        raise UnknownName("task", task_id, near)
    return Task(task_id, parts[0], kind)


def read(folder: Path, task_id: str) -> Game:
    """The texts of a game that ``find`` has found. DataError for broken JSON, missing keys or an unsolvable game."""
    path = folder / task_id / FILE
    data = _parse(path)
    if data["solvable"] is not True:
        raise DataError(f"{path}: the game is marked as not solvable; it does not count and is not loaded.")
    return Game(str(path), data["pddl_domain"], data["grammar"], data["pddl_problem"])


def _solvable(path: Path) -> bool:
    """Reads the last bytes only, where the flag is written: inside a text its quotes would be escaped."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64))
        flag = _TAIL.search(file.read())
    return flag.group(1) == b"true" if flag else _parse(path)["solvable"] is True


def _parse(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: not readable as JSON ({error}). Delete it and run `alfworld-download` again."
        ) from error
    missing = [key for key in _KEYS if not isinstance(data, dict) or key not in data]
    if missing:
        raise DataError(f"{path}: expected the keys {', '.join(_KEYS)}; missing: {', '.join(missing)}.")
    wrong = [key for key in _KEYS[:3] if not isinstance(data[key], str)]
    if wrong:
        raise DataError(f"{path}: expected text under {', '.join(wrong)}.")
    return data
