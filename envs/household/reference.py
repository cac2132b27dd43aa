"""TextWorld's PDDL engine, with which ALFWorld is published: the oracle that our own rules are held against.

It needs the extra ``reference``. TextWorld copies and loads a 34 MB library for every environment object and never lets
go of it (1.5 MiB each in resident memory), so engines are to be used again. Its parsers and its translator hold global
state: one lock serialises all engines of a process, which costs nothing, since they compute under the interpreter's own
lock.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from trialogue.envs.household import grammar
from trialogue.envs.household.engine import Game, Moment
from trialogue.envs.household.tuning import tuned
from trialogue.errors import DataError, EnvError, MissingExtra

_LOCK = threading.RLock()


class ReferenceEngine:
    """See :class:`trialogue.envs.household.engine.Engine`. Raises MissingExtra where TextWorld is not installed."""

    def __init__(self) -> None:
        try:
            import alfworld  # noqa: F401
            import fast_downward  # noqa: F401
            import textworld
            from textworld.envs.pddl.pddl import PddlEnv
        except ImportError as error:
            raise MissingExtra("the reference engine of household games", "textworld[pddl]", "reference") from error

        self._env = PddlEnv(textworld.EnvInfos(admissible_commands=True, won=True, score=True))
        self._game: Game | None = None

    def load(self, game: Game) -> None:
        """Makes ``game`` the one that is played. DataError if its texts cannot be read or would run code."""
        if game == self._game:
            return
        self._game = None
        data = {"pddl_domain": game.domain, "grammar": game.grammar, "pddl_problem": game.problem}
        with _LOCK, tuned():
            try:
                self._env.load(data)
                _name_entities(self._env)
            except (Exception, SystemExit) as error:  # the PDDL translator ends the process on a syntax error
                raise DataError(f"{game.source}: not a readable game: {type(error).__name__}: {error}") from error
            grammar.require_plain(_parsed_rules(self._env), game.source)
        self._game = game

    def reset(self) -> Moment:
        with self._guard("reset"):
            return _moment(self._env.reset())

    def step(self, command: str) -> Moment:
        with self._guard(command):
            return _moment(self._env.step(command)[0])

    @contextmanager
    def _guard(self, doing: str) -> Iterator[None]:
        """Whatever interrupts the engine leaves it in an unknown state, so the game must be loaded again."""
        game, self._game = self._game, None
        if game is None:
            raise EnvError(f"no game is loaded; load one before {doing[:80]!r}")
        try:
            with _LOCK, tuned():
                yield
        except Exception as error:
            raise EnvError(f"{game.source}: {type(error).__name__} on {doing[:80]!r}: {error}") from error
        self._game = game


def _moment(state: Mapping[str, Any]) -> Moment:
    return Moment(state["feedback"], tuple(state["admissible_commands"]), bool(state["won"]))


def _parsed_rules(env: Any) -> Iterator[Any]:
    """All that the engine will evaluate, as lists of symbols: the rules, and the templates it parses while playing."""
    from textworld.envs.pddl.textgen import ContextSensitiveGrammar

    logic = env._logic
    templates = [{"rhs": text} for action in logic.actions.values() for text in (action.template, action.feedback_rule)]
    played = ContextSensitiveGrammar.parse(json.dumps({"templates": templates}))
    for book in (logic.grammar, played):
        yield from (rule.rhs for rules in book._rules.values() for rule in rules)


def _name_entities(env: Any) -> None:
    """Gives entities the names that ALFWorld gives them: ``Mug_bar__plus_00…`` becomes ``mug 2``."""
    from alfworld.agents.utils.misc import Demangler

    names = Demangler(game_infos=env._entity_infos, shuffle=False)
    for info in env._entity_infos.values():
        if not re.fullmatch(r"[\w-]+", info.id):  # the engine formats names into templates
            raise ValueError(f"{info.id[:80]!r} is not a name")
        info.name = names.demangle_alfred_name(info.id)
