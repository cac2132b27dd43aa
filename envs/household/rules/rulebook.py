"""A domain and a grammar, compiled: made once for all games that share these texts."""

from __future__ import annotations

from functools import lru_cache

from trialogue.envs.household.rules.actions import NOT, Move
from trialogue.envs.household.rules.conditions import Action, Unreadable
from trialogue.envs.household.rules.pddl import read_domain
from trialogue.envs.household.rules.speech import Speaker
from trialogue.envs.household.rules.twl2 import Grammar, Phrases, read_grammar

_OPENING = "#intro#"


class Deed:
    """A move and its words: ``command`` asks for it, ``feedback`` tells of it.

    ``reads`` are the changing predicates that decide which commands there are; ``lasting`` is whether the words of a
    command are always the same for the same things.
    """

    def __init__(self, action: Action, phrases: Phrases, grammar: Grammar, telling: Speaker, book: Rulebook) -> None:
        scope = tuple(f"{parameter.name.removeprefix('?')}:{parameter.type}" for parameter in action.parameters)
        asking = Speaker(grammar, book.domain.types)
        self.move = Move(action, book.fluents)
        self.command = asking.text(phrases.command, scope)
        self.feedback = telling.text(phrases.feedback, scope)
        read = asking.reads & book.changing
        self.lasting = not read
        self.reads = tuple(self.move.reads | read)


class Rulebook:
    """``fluents`` are the predicates that actions change, ``changing`` also their negations; ``opening`` is said first.

    Raises Unreadable where a text is not of the supported language, or where an action has no words.
    """

    def __init__(self, domain: str, grammar: str) -> None:
        self.domain, words = read_domain(domain), read_grammar(grammar)
        self.fluents = self.domain.fluents
        self.changing = self.fluents | {NOT + predicate for predicate in self.fluents}
        telling = Speaker(words, self.domain.types)
        self.opening = telling.text(_OPENING, ())
        if silent := {action.name for action in self.domain.actions} - words.actions.keys():
            raise Unreadable(f"the grammar has no words for the actions {', '.join(sorted(silent))[:80]}")
        self.deeds = tuple(
            Deed(action, words.actions[action.name], words, telling, self) for action in self.domain.actions
        )


rulebook = lru_cache(maxsize=8)(Rulebook)
"""The rulebook of a domain and a grammar. The goal is part of a grammar, so games of one goal share one."""
