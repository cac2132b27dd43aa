"""Story files from a folder, as tasks ``games/NAME``."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from trialogue.envs.contract import Task
from trialogue.envs.textworld.kinds import KINDS
from trialogue.errors import DataError, UnknownName

SPLIT = "games"
_STORY = re.compile(r"\.z[1-8]")
_ULX = (
    "Glulx games (.ulx) cannot be played: the interpreter is for the Z-machine (.z1 to .z8), and TextWorld itself "
    "dropped Glulx with 1.7.0. Make the game again as .z8: tw-make … --output NAME.z8"
)


def root(data: str | os.PathLike[str] | None) -> Path:
    """The folder (or the one game) that ``data`` or $TRIALOGUE_TEXTWORLD_DATA names. Raises DataError."""
    named = data or os.environ.get("TRIALOGUE_TEXTWORLD_DATA")
    if not named:
        raise DataError("no folder with games is named: set data= or $TRIALOGUE_TEXTWORLD_DATA to one with .z8 files.")
    path = Path(named).expanduser()
    if not path.exists():
        raise DataError(f"no game and no folder with games at {path}: set data= or $TRIALOGUE_TEXTWORLD_DATA.")
    return path


def tasks(base: Path) -> tuple[Task, ...]:
    """Every game below ``base``, by name. A ``.json`` counts where no story file lies beside it."""
    if base.is_file():
        require_playable(base)
        return (_task(base, base.name),)
    paths = sorted(path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file() and _is_game(path))
    return tuple(_task(base / path, path) for path in paths)


def find(base: Path, task_id: str) -> Task:
    """The task named ``task_id``. Raises UnknownName; DataError for a file that is there and cannot be played."""
    return _task(path_of(base, task_id), task_id.removeprefix(f"{SPLIT}/"))


def path_of(base: Path, task_id: str) -> Path:
    """The file of ``task_id``. Raises as :func:`find` does."""
    name = PurePosixPath(task_id.removeprefix(f"{SPLIT}/"))
    inside = not name.is_absolute() and ".." not in name.parts
    if base.is_file() and str(name) == base.name:
        path = base
    elif base.is_dir() and inside and _is_file(base / name):
        path = base / name
    else:
        raise UnknownName("task", task_id[:200], [task.id for task in tasks(base)])
    require_playable(path)
    return path


def require_playable(path: Path) -> None:
    """Raises DataError, with the reason, for a file that is no story file. A broken one would end the process."""
    if path.suffix == ".ulx":
        raise DataError(f"{path}: {_ULX}")
    if path.suffix == ".json":
        return
    if not _STORY.fullmatch(path.suffix):
        raise DataError(f"{path}: expected a story file (.z1 to .z8) or TextWorld's .json; got {path.suffix!r}.")
    fault = _fault(path.read_bytes(), int(path.suffix[2]))
    if fault:
        raise DataError(f"{path} is not a whole story file: {fault}. Copy or make it again.")


def _fault(story: bytes, expected: int) -> str:
    """What is wrong by the header (The Z-Machine Standards Document 1.1, section 11), "" if nothing is."""
    if len(story) < 64:
        return f"{len(story)} bytes; the header alone has 64"
    if story[0] != expected:
        return f"version {story[0]} in the header, {expected} in the name"
    unit = 2 if expected <= 3 else 4 if expected <= 5 else 8
    length = unit * int.from_bytes(story[26:28], "big")
    if length == 0:  # early compilers wrote none
        return ""
    if len(story) < length:
        return f"{len(story)} bytes of {length}"
    told = int.from_bytes(story[28:30], "big")
    return "" if sum(story[64:length]) % 65536 == told else "the checksum does not match"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _is_game(path: Path) -> bool:
    if path.suffix == ".json":
        return not path.with_suffix(".z8").exists() and bool(_uuid(path))
    return bool(_STORY.fullmatch(path.suffix))


def _task(path: Path, name: str) -> Task:
    told = _uuid(path.with_suffix(".json"))
    kind = next((kind for kind in KINDS if told.startswith(f"tw-{kind}-")), "other")
    return Task(f"{SPLIT}/{name}", SPLIT, kind)


def _uuid(path: Path) -> str:
    """The name that TextWorld gave to the game saved at ``path``: it begins with its kind. "" if it is none."""
    try:
        found = re.search(r'"uuid":\s*"([^"]*)"', path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""
