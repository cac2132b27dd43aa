"""The TextWorld environment: story files, and generated games, behind the Gymnasium interface."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from trialogue.envs import generated
from trialogue.envs.contract import Info, Policy, Task, split_of
from trialogue.envs.episode import Episode, EpisodeEnv
from trialogue.envs.spaces import ActionSpace
from trialogue.envs.textworld import maker, recipes, replies, stories
from trialogue.envs.textworld.engine import Engine
from trialogue.envs.textworld.expert import Walkthrough
from trialogue.errors import EnvError, UnknownName

TEMPLATES = (
    *("look", "inventory", "go {direction}", "examine {thing}", "take {thing}", "take {thing} from {place}"),
    *("drop {thing}", "put {thing} on {place}", "insert {thing} into {place}", "open {thing}", "close {thing}"),
    *("unlock {thing} with {key}", "lock {thing} with {key}", "eat {thing}"),
)
_PARTS = {"o": "thing", "f": "food", "c": "container", "s": "place", "d": "door", "k": "key", "t": "thing"}
_ANYTHING = ("{command}",)
_NO_GOAL = "Find out what the game is about, and reach as many points as you can."


class GameInfo(Info):
    """``points`` of ``max_points`` as the game counts them; ``in_admissible``: None where there is no list."""

    points: int
    max_points: int
    lost: bool
    in_admissible: bool | None


class TextWorldEnv(EpisodeEnv["_Episode"]):
    """Text adventures of TextWorld (Côté et al. 2018, https://arxiv.org/abs/1806.11532).

    ``data`` is a folder with games, or one game (default $TRIALOGUE_TEXTWORLD_DATA), needed for the split ``games``
    only: ``.z8`` with its ``.json`` beside it, or TextWorld's ``.json`` alone, which is compiled at first use. Story
    files without a ``.json`` (.z1 to .z8) are played without a list of commands; unless the interpreter knows the
    game, it can neither score it nor see that it was won, only that it has ended.

    Generated games are made once and kept in ``cache``. ``levels`` fixes the level of the kinds it names (see
    :mod:`.kinds`), ``count`` is the number of tasks in a generated split, and ``split`` is what ``reset`` draws from
    when it is not told a task.

    A game may accept commands that are not in ``info["admissible"]`` ("take key" for "take old key from box"); valid is
    what the game carried out. Success is the game's own word that it was won; a lost game ends without success.
    """

    name: ClassVar[str] = "textworld"
    splits: ClassVar[tuple[str, ...]] = generated.SPLITS

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        split: str = "generated_train",
        levels: Mapping[str, int] | None = None,
        count: int = 300,
    ) -> None:
        maker.require_textworld()
        recipes.tasks("generated_train", count, levels)
        super().__init__(split, TEMPLATES)
        self.data, self.levels, self.count = data, levels, count
        self.cache = maker.user_cache() if cache is None else Path(cache).expanduser()
        self._listed: dict[str, tuple[Task, ...]] = {}
        self._engine: Engine | None = None

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by seed, interleaved by kind; ``games`` by name. See :class:`TextEnv`."""
        if split not in self._listed:
            self._listed[split] = self._list(split)
        return self._listed[split]

    def expert(self) -> Policy | None:
        """The walkthrough that TextWorld noted with the game, to check that it can be won. None where there is none.

        It is no player: it knows the answer beforehand.
        """
        noted = self._playing().engine.walkthrough()
        return Walkthrough(noted) if noted else None

    def versions(self) -> dict[str, str]:
        """Versions of the generator and the interpreter, and the SHA-256 of the current game."""
        found = {name: version(name) for name in ("textworld", "jericho")}
        if self._episode is not None:
            found["game"] = self._episode.engine.digest()
        return found

    def close(self) -> None:
        """Ends the interpreter; ``reset`` would start another."""
        self._episode = None
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _list(self, split: str) -> tuple[Task, ...]:
        if split in generated.SPLITS:
            return recipes.tasks(split, self.count, self.levels)
        if split != stories.SPLIT:
            raise UnknownName("split", split, (*self.splits, stories.SPLIT))
        return stories.tasks(stories.root(self.data))

    def _find(self, id: str) -> Task:
        if id.startswith("generated_"):
            return recipes.Recipe.parse(id).task
        if not id.startswith(f"{stories.SPLIT}/"):
            raise UnknownName("split", split_of(id)[:80], (*self.splits, stories.SPLIT))
        return stories.find(stories.root(self.data), id)

    def _begin(self, task: Task) -> _Episode:
        engine = self._playing_story(self._story(task))
        try:
            return _Episode(task, engine)
        except EnvError:
            self.close()  # what failed to begin once is not used again
            raise

    def _story(self, task: Task) -> Path:
        if task.split in generated.SPLITS:
            return maker.generated(recipes.Recipe.parse(task.id), self.cache)
        path = stories.path_of(stories.root(self.data), task.id)
        if path.suffix != ".json":
            return path
        compiled = path.with_suffix(".z8")
        return compiled if compiled.is_file() else maker.from_json(path, self.cache)

    def _playing_story(self, story: Path) -> Engine:
        """The engine of ``story``: the one at hand if it played the same, since loading takes most of a reset."""
        if self._engine is None or self._engine.story != story:
            self.close()
            self._engine = Engine(story)
        return self._engine


class _Episode(Episode):
    """One game being played: what was last said, and how it stands."""

    closed = "The game is over."
    goal = ""

    def __init__(self, task: Task, engine: Engine) -> None:
        super().__init__(task)
        self.engine, self.moment = engine, engine.reset()
        self.goal = engine.goal or _NO_GOAL
        self.templates = _worded(engine.templates) if engine.traced else _ANYTHING
        self.observation = self.moment.text
        self.in_admissible: bool | None = None

    @property
    def won(self) -> bool:
        return self.moment.won

    @property
    def over(self) -> bool:
        return self.moment.over

    @property
    def score(self) -> float:
        """The running score in 0..1; where the game tells no maximum, 1 once it is won."""
        most = self.moment.most
        return min(max(self.moment.points / most, 0.0), 1.0) if most > 0 else float(self.moment.won)

    @property
    def admissible(self) -> tuple[str, ...] | None:
        return self.moment.admissible

    def play(self, command: str) -> None:
        self.in_admissible = None if self.admissible is None else command in self.admissible
        super().play(command)

    def take(self, command: str) -> None:
        """Passes ``command`` on to the game, unless it is not meant for it."""
        self.reason = replies.unfit(command)
        if self.reason:
            self.observation = f"Not a command: {self.reason}."
            return
        self.moment = self.engine.step(command)
        self.observation = self.moment.text
        # A listed command counts as accepted, even where the game answers that something is missing (prepare meal).
        if not (self.moment.done or self.in_admissible):
            self.reason = self._refusal(command)

    def explain(self, command: str) -> str:
        """Without asking the game: whether it would be passed on, and whether it is listed."""
        if self.admissible is None or command in self.admissible:
            return replies.unfit(command) if self.admissible is None else ""
        return replies.unfit(command) or "not among the admissible commands (the game may understand it all the same)"

    def info(self) -> GameInfo:
        return {
            **super().info(),
            "points": self.moment.points,
            "max_points": self.moment.most,
            "lost": self.moment.lost,
            "in_admissible": self.in_admissible,
        }

    def _refusal(self, command: str) -> str:
        said = " ".join(self.moment.text.split())[:200]
        near = difflib.get_close_matches(command, self.moment.admissible or (), n=1, cutoff=0.0)
        return f"the game did not do it: {said}" + (f" (nearest possible: {near[0]})" if near else "")


def _worded(templates: Sequence[str]) -> tuple[str, ...]:
    """TextWorld's templates (``take {o} from {c}``) in the general wording, and their own where that has none."""
    covered = [form for form in TEMPLATES if any(template in ActionSpace([form]) for template in templates)]
    general = ActionSpace(TEMPLATES)
    own = [_named(template) for template in templates if template not in general]
    return (*covered, *dict.fromkeys(own))


def _named(template: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: f"{{{_PARTS.get(found[1], found[1])}}}", template)
