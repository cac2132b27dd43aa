"""An expert for generated questions that does what a player must: read the goal, search, look up, conclude, finish.

It thinks as ReAct's HotpotQA prompts do (Yao et al. 2023, appendix C): what to look up, what was found, what follows.
It knows the language of the encyclopedia (:mod:`trialogue.envs.wiki.relations`) and none of its facts.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from trialogue.envs.wiki.browser import NO_MORE
from trialogue.envs.wiki.pages import split_sentences
from trialogue.envs.wiki.relations import CONTRASTS, RELATIONS, Contrast, Relation, read_mention
from trialogue.envs.wiki.scoring import NOT_ENOUGH_INFO, REFUTES, SUPPORTS
from trialogue.errors import UsageError

Moves = Generator[str, str, str]
"""Yields actions, is sent observations, returns what was found out."""

UNKNOWN = ""


@dataclass(frozen=True)
class Search:
    """Where to start (a name), and what to ask on the page of each thing on the way."""

    start: str
    path: tuple[Relation, ...]


@dataclass(frozen=True)
class Plan:
    """What a goal asks for: to follow ``searches``, then to compare by ``contrast`` or to judge ``value``."""

    searches: tuple[Search, ...]
    contrast: Contrast | None = None
    value: str | None = None

    @classmethod
    def read(cls, goal: str) -> Plan:
        """Reads the goals of generated tasks. UsageError for any other text."""
        text = goal.partition(": ")[2]
        for contrast in CONTRASTS:
            if names := contrast.read(text):
                relation = RELATIONS[contrast.relation]
                return cls(tuple(Search(name, (relation,)) for name in names), contrast)
        for relation in RELATIONS.values():
            if asked := relation.read_question(text):
                return cls((_search(asked, relation),))
            if claimed := relation.read_claim(text):
                return cls((_search(claimed[0], relation),), value=claimed[1])
        raise UsageError(f"the expert reads the goals of generated tasks only; got {goal[:80]!r}.")

    def conclude(self, found: Sequence[str]) -> str:
        """The answer, from what each search has found."""
        if self.value is not None:
            return NOT_ENOUGH_INFO if found[0] == UNKNOWN else SUPPORTS if found[0] == self.value else REFUTES
        if self.contrast is None or UNKNOWN in found:
            return found[0] or "unknown"
        if self.contrast.pick == "same":
            return "yes" if found[0] == found[1] else "no"
        amounts = [int(value.replace(",", "")) for value in found]
        wanted = min(amounts) if self.contrast.pick == "least" else max(amounts)
        return self.searches[amounts.index(wanted)].start


class Expert:
    """Plays one episode towards ``goal``, the text of ``info["goal"]``."""

    def __init__(self, goal: str) -> None:
        self._thoughts: list[str] = []
        self._doing = ""
        self._moves = self._play(Plan.read(goal))
        self._begun = False

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        """The next action; the answer again once it has been given."""
        self._thoughts.clear()
        if self._begun:
            return self._moves.send(observation)
        self._begun = True
        return next(self._moves)

    def thought(self, *, dense: bool) -> str:
        """See :class:`trialogue.envs.contract.Policy`."""
        return " ".join(self._thoughts) or (self._doing if dense else "")

    def _play(self, plan: Plan) -> Generator[str, str, None]:
        found = []
        for search in plan.searches:
            way = ", then ".join(f"the {relation.name}" for relation in search.path)
            self._thoughts.append(f"I look up {search.start}: {way}.")
            found.append((yield from self._follow(search)))
        answer = plan.conclude(found)
        self._thoughts.append(f"{_told(plan, found)} The answer is {answer}.".strip())
        self._doing = "I have answered."
        while True:
            yield f"finish[{answer}]"

    def _follow(self, search: Search) -> Moves:
        name = search.start
        for relation in search.path:
            value = yield from self._ask(relation, name)
            if value == UNKNOWN:
                self._thoughts.append(f"The {relation.name} of {name} is not told.")
                return UNKNOWN
            self._thoughts.append(f"The {relation.name} of {name} is {value}.")
            name = value
        return name

    def _ask(self, relation: Relation, name: str) -> Moves:
        """The value that the page of ``name`` states: in its opening, or in a sentence that the keyword brings up."""
        self._doing = f"I search {name}."
        seen = yield f"search[{name}]"
        qualified = f"{name} ({relation.kind})"
        if seen.startswith("Could not find") and qualified in seen:
            self._thoughts.append(f"The {relation.kind} is meant.")
            seen = yield f"search[{qualified}]"
        while True:
            for sentence in split_sentences(re.sub(r"^\(Result \d+ / \d+\) ", "", seen)):
                if value := relation.read(sentence):
                    return value
            self._doing = f"The {relation.name} is not told here. I look for {relation.keyword!r}."
            seen = yield f"lookup[{relation.keyword}]"
            if seen == NO_MORE:
                return UNKNOWN


def _told(plan: Plan, found: Sequence[str]) -> str:
    """What the answer follows from."""
    if plan.value is not None:
        return f"The claim says {plan.value}."
    if plan.contrast is None:
        return ""
    named = "; ".join(
        f"{search.start}: {value or 'unknown'}" for search, value in zip(plan.searches, found, strict=True)
    )
    return f"{named}. Wanted: the {plan.contrast.pick}."


def _search(words: str, last: Relation) -> Search:
    """Takes "the town where the author of the novel X was born" apart, from the outside in."""
    path = [last]
    while True:
        steps = [(r, inner) for r in RELATIONS.values() if r.value == path[0].kind and (inner := r.read_phrase(words))]
        if not steps:
            return Search(read_mention(path[0].kind, words), tuple(path))
        relation, words = steps[0]
        path.insert(0, relation)
