"""Questions and claims about generated encyclopedias: any number, from a seed, without any download.

A task id such as ``generated_eval/bridge/s1000007`` holds all that decides it: split, type and seed. Every question
is answered by stated facts (``support``); a claim that the pages leave open asserts a fact that is true and that no
page states (``unstated``), so nothing else on the pages can contradict it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from random import Random

from trialogue.envs import generated
from trialogue.envs.contract import Task
from trialogue.envs.wiki import world
from trialogue.envs.wiki.data import CLAIM, Question
from trialogue.envs.wiki.relations import CONTRASTS, RELATIONS, Contrast, Relation, mention
from trialogue.envs.wiki.scoring import LABELS, NOT_ENOUGH_INFO, REFUTES
from trialogue.envs.wiki.world import Fact, Thing, World

_ID = rf"(\w+)/(\w+)/s{generated.SEED}"


@dataclass(frozen=True)
class Asked:
    """A question with its answer, the stated facts that prove it, and the fact that no page states."""

    text: str
    answer: str
    support: tuple[Fact, ...]
    unstated: Fact | None = None


def parse(task_id: str, types: Sequence[str]) -> Task:
    """The task of an id. Raises UsageError (or UnknownName) if none of ``types`` can be made of it."""
    split, kind, seed = generated.read(task_id, _ID, f"generated_eval/{types[0]}/s1000007")
    generated.require_seed(split, int(seed))
    generated.require_type(kind, types)
    return _task(split, kind, int(seed))


def tasks(split: str, types: Sequence[str], count: int) -> tuple[Task, ...]:
    """The first ``count`` tasks of ``split``, types in turn, so that every prefix is balanced."""
    return tuple(
        _task(split, kind, seed) for kind, seed in zip(cycle(types), generated.seeds(split, count), strict=False)
    )


@lru_cache(maxsize=8)
def build(task: Task) -> tuple[Question, World, Asked]:
    """The question of a task, the world it is about, and the proof of its answer: the same on every machine."""
    random = Random(task.id.partition("/")[2])
    while True:
        about = world.build(random)
        asked = _ASK[task.type](about, random)
        if asked is not None:
            return Question(task, asked.text, asked.answer), about, asked


def _task(split: str, kind: str, seed: int) -> Task:
    return Task(f"{split}/{kind}/s{seed}", split, kind)


@dataclass(frozen=True)
class _Chain:
    """Stated facts that lead from thing to thing, then ``last``: asked of the thing where they end."""

    facts: tuple[Fact, ...]
    last: Relation
    end: Thing

    @property
    def key(self) -> tuple[str, str]:
        return self.end.title, self.last.name

    @property
    def subject(self) -> str:
        """What the question is about, in words: "the town where the author of the novel X was born"."""
        start = self.facts[0].subject if self.facts else self.end
        words = mention(start.kind, start.name)
        for fact in self.facts:
            words = fact.relation.phrase.format(x=words)
        return words


def _bridge(about: World, random: Random) -> Asked | None:
    """A question over two or three pages. None when the world has none whose answer it does not itself contain."""
    for chain in _chains(about, random, (1, 2)):
        fact = about.facts.get(chain.key)
        if fact is not None and not _mentioned(fact.value, chain.subject):
            return Asked(chain.last.question.format(x=chain.subject), fact.value, (*chain.facts, fact))
    return None


def _claim(about: World, random: Random) -> Asked | None:
    """A claim over one or two pages, its label drawn first."""
    label = random.choice(LABELS)
    known = about.unstated if label == NOT_ENOUGH_INFO else about.facts
    for chain in _chains(about, random, (0, 1)):
        fact = known.get(chain.key)
        if fact is not None and not _mentioned(fact.value, chain.subject):
            value = _other(about, fact, random) if label == REFUTES else fact.value
            words = chain.last.claim.format(x=chain.subject, o=value)
            stated = label != NOT_ENOUGH_INFO
            support = (*chain.facts, fact) if stated else chain.facts
            return Asked(words[:1].upper() + words[1:], label, support, None if stated else fact)
    return None


def _mentioned(value: str, words: str) -> bool:
    """Whether a question would give its answer away."""
    return value.casefold() in words.casefold()


def _other(about: World, fact: Fact, random: Random) -> str:
    """A value of the same sort that is not the fact's."""
    others = [thing for thing in about.things if thing != fact.subject]
    while True:
        value, _ = world.drawn(fact.relation, others, random)
        if value != fact.value:
            return value


def _chains(about: World, random: Random, lengths: Sequence[int]) -> list[_Chain]:
    """One chain for every sequence of relations that the stated facts allow, in random order."""
    found: dict[tuple[str, ...], list[_Chain]] = defaultdict(list)
    for path in _paths(about, max(lengths)):
        if len(path) in lengths:
            for chain in _endings(about, path):
                found[*(fact.relation.name for fact in path), chain.last.name].append(chain)
    chains = [random.choice(found[names]) for names in sorted(found)]
    random.shuffle(chains)
    return chains


def _paths(about: World, longest: int) -> Iterator[tuple[Fact, ...]]:
    """The ways from page to page along stated facts, none twice to one page; the empty way first."""
    paths: list[tuple[Fact, ...]] = [()]
    for _ in range(longest + 1):
        yield from paths
        paths = [(*path, step) for path in paths for step in _steps(about, path)]


def _steps(about: World, path: tuple[Fact, ...]) -> list[Fact]:
    """The stated facts that go on where ``path`` ends, to a page that it has not been on."""
    end = path[-1].thing if path else None
    facts = about.facts.values() if end is None else about.about(end)
    met = {fact.subject for fact in path}
    return [fact for fact in facts if fact.relation.phrase and fact.thing not in met]


def _endings(about: World, path: tuple[Fact, ...]) -> Iterator[_Chain]:
    """Everything that can be asked where ``path`` ends; the empty path ends anywhere."""
    for end in (path[-1].thing,) if path else about.things:
        for last in RELATIONS.values():
            if end is not None and last.kind == end.kind:
                yield _Chain(path, last, end)


def _comparison(about: World, random: Random) -> Asked | None:
    contrast = random.choice(CONTRASTS)
    facts = about.stated(contrast.relation)
    same = contrast.pick == "same" and random.random() < 0.5
    pairs = [(a, b) for a in facts for b in facts if a is not b and (a.value == b.value) == same]
    if not pairs:
        return None
    pair = random.choice(pairs)
    text = contrast.wording.format(a=pair[0].subject.name, b=pair[1].subject.name)
    return Asked(text, _picked(contrast, pair), pair)


def _picked(contrast: Contrast, pair: tuple[Fact, Fact]) -> str:
    if contrast.pick == "same":
        return "yes" if pair[0].value == pair[1].value else "no"
    ordered = sorted(pair, key=lambda fact: amount(fact.value))
    return ordered[0 if contrast.pick == "least" else 1].subject.name


def amount(value: str) -> int:
    """The number that a year or a count such as "12,480" stands for."""
    return int(value.replace(",", ""))


_ASK: Mapping[str, Callable[[World, Random], Asked | None]] = {
    "bridge": _bridge,
    "comparison": _comparison,
    CLAIM: _claim,
}
