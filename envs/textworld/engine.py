"""One story file played through TextWorld and its Z-machine interpreter, behind a small interface."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialogue.envs.textworld import replies
from trialogue.envs.textworld.maker import engine_at_work
from trialogue.errors import DataError, EnvError

_CHANCE = 1  # the interpreter's seed: games that roll dice roll the same ones in every episode


@dataclass(frozen=True)
class Moment:
    """What the game says after a reset or a step.

    ``admissible`` is sorted, and None for games that TextWorld did not make. ``points`` is the running score, of at
    most ``most`` (0 when the game does not tell). ``over``: the game has ended, ``won`` or ``lost`` as far as
    that is known. ``done``: the last command was carried out.
    """

    text: str
    admissible: tuple[str, ...] | None
    points: int
    most: int
    won: bool
    lost: bool
    over: bool
    done: bool


class Engine:
    """Plays the game at ``story``, and its ``.json`` beside it where there is one. Raises DataError if it is broken."""

    def __init__(self, story: Path) -> None:
        import textworld

        self.story = story
        self._saved = story.with_suffix(".json")
        self.traced = story.suffix == ".z8" and self._saved.is_file()
        asked = textworld.EnvInfos(
            admissible_commands=self.traced,  # the interpreter's own list for other games starts processes, and guesses
            command_templates=self.traced,
            objective=self.traced,
            max_score=True,
            score=True,
            won=True,
            lost=True,
        )
        with engine_at_work():
            try:
                self._env = textworld.start(str(story), asked)
            except Exception as error:  # whatever a foreign .json makes the reader raise
                raise DataError(f"{story}: not a readable game: {type(error).__name__}: {error}") from error
            getattr(self._env, "unwrapped", self._env).seed(_CHANCE)  # a foreign game's comes without wrappers
        self.goal = ""
        self.templates: tuple[str, ...] = ()

    def reset(self) -> Moment:
        """The beginning of the game. Sets ``goal`` ("" if the game states none) and ``templates``."""
        state = self._call("reset")
        self.goal = (state.get("objective") or "").strip()
        self.templates = tuple(state.get("command_templates") or ())
        return self._moment(state, replies.opening(state["feedback"], self.goal), done=True)

    def step(self, command: str) -> Moment:
        state = self._call("step", command)[0]
        text = replies.tidy(state["feedback"])
        done = replies.did(state["raw"]) if self.traced else not replies.refused(text)
        return self._moment(state, text, done)

    def walkthrough(self) -> tuple[str, ...]:
        """The commands that TextWorld's generator noted as a way to win; () where it noted none."""
        if not self.traced:
            return ()
        noted = json.loads(self._saved.read_text(encoding="utf-8")).get("metadata", {}).get("walkthrough")
        return tuple(noted) if isinstance(noted, Sequence) and not isinstance(noted, str) else ()

    def digest(self) -> str:
        """SHA-256 of what decides the game: TextWorld's description, or the story (which holds the day it was made)."""
        return hashlib.sha256((self._saved if self.traced else self.story).read_bytes()).hexdigest()

    def close(self) -> None:
        with engine_at_work():
            self._env.close()

    def _call(self, what: str, *arguments: str) -> Any:
        try:
            with engine_at_work():
                return getattr(self._env, what)(*arguments)
        except Exception as error:
            doing = " ".join((what, *arguments))[:80]
            raise EnvError(f"{self.story}: {type(error).__name__} on {doing!r}: {error}") from error

    def _moment(self, state: Mapping[str, Any], text: str, done: bool) -> Moment:
        admissible = state.get("admissible_commands") if self.traced else None
        won, lost = bool(state.get("won")), bool(state.get("lost"))
        over = won or lost or replies.ended(state["feedback"])
        return Moment(
            text=text,
            admissible=None if admissible is None else tuple(admissible),
            points=int(state.get("score") or 0),
            most=int(state.get("max_score") or 0),
            won=won,
            lost=lost and not won,
            over=over,
            done=done or over,
        )
