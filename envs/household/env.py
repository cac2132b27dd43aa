"""The household environment: ALFWorld's games, real and generated, behind the Gymnasium interface."""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar

from trialogue.envs import generated
from trialogue.envs.contract import Policy, Task
from trialogue.envs.episode import Episode, EpisodeEnv
from trialogue.envs.household import engine as engines
from trialogue.envs.household import games, generate, grammar
from trialogue.envs.household.engine import NOTHING, Engine, Game
from trialogue.envs.household.knowledge import Knowledge
from trialogue.envs.household.reasons import reason
from trialogue.errors import DataError, EnvError, UnknownName

_BANNER = "-= Welcome to TextWorld, ALFRED! =-"
_GOAL = "\n\nYour task is to: "


class HouseholdEnv(EpisodeEnv["_Episode"]):
    """Household tasks in text (ALFWorld; Shridhar et al. 2021, https://arxiv.org/abs/2010.03768).

    ``data`` is a folder with real games (default $ALFWORLD_DATA), needed for their splits only. ``dialect``,
    ``receptacles``, ``distractors`` and ``count`` (games a split) shape generated games; a real game speaks its own
    dialect. ``split`` is what ``reset`` draws from when it is not told a task. ``engine`` is who plays ("rules" or
    "reference"): they say the same, the first some hundred times faster.
    """

    name: ClassVar[str] = "household"
    splits: ClassVar[tuple[str, ...]] = generated.SPLITS
    dialects: ClassVar[tuple[str, ...]] = tuple(grammar.DIALECTS)

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        dialect: str = "move",
        split: str = "generated_train",
        receptacles: int = 12,
        distractors: int = 14,
        count: int = 300,
        engine: str = "rules",
    ) -> None:
        grammar.require_dialect(dialect)
        engines.require_engine(engine)
        generate.tasks("generated_train", count, receptacles, distractors)
        super().__init__(split, grammar.templates(dialect))
        self.data, self.dialect = data, dialect
        self.receptacles, self.distractors, self.count = receptacles, distractors, count
        self._listed: dict[str, tuple[Task, ...]] = {}
        self.engine = engine
        self._borrowed: Engine | None = None

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by seed, interleaved by type; real splits by id. See :class:`TextEnv`."""
        if split not in self._listed:
            self._listed[split] = self._list(split)
        return self._listed[split]

    def expert(self) -> Policy:
        """A fresh expert for the episode that was just reset."""
        from trialogue.envs.household.expert import Expert

        return Expert(self._playing().goal)

    def versions(self) -> dict[str, str]:
        """The engine, the versions of the packages that it and generated games need, the SHA-256 of the game."""
        packages = ("alfworld", "textworld") if self.engine == "reference" else ("alfworld",)
        found = {"engine": self.engine, **{name: _version(name) for name in packages}}
        if self._episode is not None:
            game = self._episode.game
            texts = "\0".join((game.domain, game.grammar, game.problem))
            found["game"] = hashlib.sha256(texts.encode()).hexdigest()
        return found

    def close(self) -> None:
        """Hands the engine back for the next environment; ``reset`` would fetch one again."""
        self._episode = None
        if self._borrowed is not None:
            self._borrowed = None
            self._return()

    def _find(self, id: str) -> Task:
        if id.startswith("generated_"):
            return generate.Recipe.parse(id).task
        return games.find(games.root(self.data), id)

    def _begin(self, task: Task) -> _Episode:
        game, dialect = self._game(task)
        engine = self._engine()
        engine.load(game)
        return _Episode(task, game, dialect, engine)

    def _engine(self) -> Engine:
        if self._borrowed is None:
            self._borrowed = engines.borrow(self.engine)
            self._return = weakref.finalize(self, engines.give_back, self.engine, self._borrowed)
            self._return.atexit = False
        return self._borrowed

    def _list(self, split: str) -> tuple[Task, ...]:
        if split in generated.SPLITS:
            return generate.tasks(split, self.count, self.receptacles, self.distractors)
        try:
            folder = games.root(self.data)
        except DataError:
            if split in games.KNOWN_SPLITS:
                raise
            raise UnknownName("split", split, (*self.splits, *games.KNOWN_SPLITS)) from None
        if split not in games.splits(folder):
            raise UnknownName("split", split, (*self.splits, *games.splits(folder)))
        return games.tasks(folder, split)

    def _game(self, task: Task) -> tuple[Game, str]:
        if task.split in generated.SPLITS:
            return generate.build(task.id, self.dialect), self.dialect
        game = games.read(games.root(self.data), task.id)
        return game, grammar.dialect_of(game.grammar, game.source)


class _Episode(Episode):
    """One game being played, and what the player knows of it."""

    closed = NOTHING
    goal = ""
    won = False
    admissible: tuple[str, ...] = ()

    def __init__(self, task: Task, game: Game, dialect: str, engine: Engine) -> None:
        super().__init__(task)
        self.game, self.dialect, self.templates, self._engine = game, dialect, grammar.templates(dialect), engine
        start = engine.reset()
        self.observation, self.goal = _opening(start.text, game.source)
        self.admissible, self.won = start.admissible, start.won
        self.knowledge = Knowledge()
        self.knowledge.observe("", self.observation)

    def take(self, command: str) -> None:
        """Executes ``command``. Only what is admissible changes the game; the engine must then say what happened."""
        self.reason = self.explain(command)
        moment = self._engine.step(command)
        if not self.reason and moment.text == NOTHING:
            raise EnvError(f"{self.game.source}: the engine listed {command!r} as admissible, yet did not execute it.")
        self.observation, self.admissible, self.won = moment.text, moment.admissible, moment.won
        self.knowledge.observe(command, moment.text)

    def explain(self, command: str) -> str:
        return reason(command, self.knowledge, self.admissible, self.dialect)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _opening(text: str, source: str) -> tuple[str, str]:
    """The engine's first words without its banner, and the goal that they end with."""
    look, found, goal = text.removeprefix(_BANNER).strip().partition(_GOAL)
    if not found:
        raise EnvError(f"{source}: expected the opening to end with 'Your task is to: ...'; got {text[-80:]!r}.")
    return look.strip(), goal.strip()
