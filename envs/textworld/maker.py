"""Makes games with TextWorld's generators and the Inform compiler that TextWorld brings, once, into a cache folder.

A game becomes a folder that holds ``game.z8`` and ``game.json``. It is made aside and renamed into place, so a reader
never meets half a game, and of two processes that make the same one the first wins.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trialogue.envs.textworld.kinds import KINDS
from trialogue.envs.textworld.recipes import Recipe
from trialogue.errors import DataError, EnvError, MissingExtra

LOCK = threading.RLock()
"""TextWorld's generators and parsers hold global state; whoever makes, loads or plays a game holds this lock."""

_REVISION = 1  # raised when the same recipe should give another game than before
_PATIENCE = 300  # seconds for one run of a compiler
_STEP = 7919  # between the seeds that are tried when the first gives no game


def require_textworld() -> None:
    """Raises MissingExtra where TextWorld is not installed."""
    if find_spec("textworld") is None:
        raise MissingExtra("the TextWorld environment", "textworld", "textworld")


@contextmanager
def engine_at_work() -> Iterator[None]:
    """One thread at a time, and without jericho's warnings that it does not know the game: TextWorld does."""
    with LOCK, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is not fully supported|.*in an unsupported game")
        yield


def generated(recipe: Recipe, cache: Path) -> Path:
    """The story file of ``recipe``, made if the cache does not hold it yet. Raises EnvError if that fails."""
    return _kept(cache / _key(recipe), lambda: _generate(recipe))


def from_json(path: Path, cache: Path) -> Path:
    """A story file for a game of which only TextWorld's ``.json`` is there. Raises DataError if it is not one."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:24]
    return _kept(cache / f"textworld-{version('textworld')}" / f"json-{digest}", lambda: _read(path))


def user_cache() -> Path:
    """Where games are kept unless told otherwise: $XDG_CACHE_HOME or ~/.cache, then ``trialogue/textworld``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "trialogue" / "textworld"


def _key(recipe: Recipe) -> str:
    made_by = f"textworld-{version('textworld')}-r{_REVISION}"
    return f"{made_by}/{recipe.split}-{recipe.kind}-l{recipe.level}-s{recipe.seed}"


def _kept(folder: Path, make: Callable[[], Any]) -> Path:
    story = folder / "game.z8"
    if not story.is_file():
        with engine_at_work():
            _make_into(folder, make())
    return story


def _make_into(folder: Path, game: Any) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as aside:
            done = Path(aside) / "game"
            done.mkdir()
            _compile(game, done / "game.z8", Path(aside))
            game.save(str(done / "game.json"))
            if not (folder / "game.z8").is_file():
                _rename(done, folder)
    except OSError as error:
        raise DataError(f"cannot keep games in {folder.parent}: {error}. Name another folder with cache=.") from error


def _rename(done: Path, folder: Path) -> None:
    try:
        done.rename(folder)
    except OSError:
        if not (folder / "game.z8").is_file():  # else another process was quicker, with the same game
            raise


def _generate(recipe: Recipe) -> Any:
    """TextWorld's game. Where a map has no way of the length asked for, the next of a fixed row of seeds is tried."""
    from textworld.challenges import CHALLENGES
    from textworld.generator import QuestGenerationError

    make = CHALLENGES[f"tw-{recipe.kind}"][1]
    for attempt in range(50):
        try:
            with _settled(recipe.seed):
                return make(recipe.settings, _options(recipe, recipe.seed + attempt * _STEP))
        except QuestGenerationError:
            continue
    raise EnvError(f"{recipe.task.id}: TextWorld found no game in 50 maps; choose another seed or level.")


def _options(recipe: Recipe, seed: int) -> Any:
    from textworld import GameOptions

    options = GameOptions()
    options.seeds = seed
    options.grammar.only_last_action = KINDS[recipe.kind].last_step_only
    return options


@contextmanager
def _settled(seed: int) -> Iterator[None]:
    """TextWorld's global generator at ``seed`` meanwhile, and as it was before afterwards."""
    import textworld

    before = vars(textworld.g_rng).copy()
    textworld.g_rng.set_seed(seed)
    try:
        yield
    finally:
        vars(textworld.g_rng).update(before)


def _read(path: Path) -> Any:
    from textworld.generator.game import Game

    try:
        return Game.load(str(path))
    except Exception as error:  # whatever a foreign file makes the reader raise
        raise DataError(f"{path}: expected a game as TextWorld saves it: {type(error).__name__}: {error}") from error


def _compile(game: Any, story: Path, room: Path) -> None:
    """Inform 7 to Inform 6 to a Z-machine story. The first writes to its user's home, which is ``room`` meanwhile."""
    from textworld.generator.inform7 import generate_inform7_source
    from textworld.generator.inform7.world2inform7 import I7_DEFAULT_PATH

    inform = Path(I7_DEFAULT_PATH) / "share" / "inform7"
    project = room / "project"
    for part in ("Source", "Build"):
        (project / part).mkdir(parents=True)
    (project / "uuid.txt").touch()
    (project / "Source" / "story.ni").write_text(generate_inform7_source(game), encoding="utf-8")
    compilers = inform / "Compilers"
    _run(room, compilers / "ni", "--internal", inform / "Internal", "--format=.z8", "--project", project)
    _run(room, compilers / "inform6", "-E2wSv8F0", project / "Build" / "auto.inf", story)


def _run(home: Path, *command: str | Path) -> None:
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 -- the package's own compilers, no shell
            [str(word) for word in command],
            env={**os.environ, "HOME": str(home)},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EnvError(f"the compiler {name} gave no game within {_PATIENCE} seconds.") from error
    if done.returncode:
        said = (done.stdout + done.stderr)[-600:]
        raise EnvError(f"the compiler {name} failed (a game may be too big for a .z8 file): {said}")
