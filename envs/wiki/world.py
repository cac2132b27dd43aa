"""A small encyclopedia of a country that does not exist: names, facts and pages, all from one seed.

Nobody can have read about it, so an answer can only come from its pages. What is true is drawn first; about one
fact in six stays unstated; pages are then written from the stated facts alone, between sentences that state
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from trialogue.envs.wiki.corpus import Corpus
from trialogue.envs.wiki.pages import Page
from trialogue.envs.wiki.relations import KINDS, RELATIONS, Relation

_COUNTS = {"person": 12, "town": 8, "region": 3, "river": 4, "lake": 3, "novel": 7, "company": 6}
_STATED = 0.85
_SENTENCES = 7
"""A page has at least this many, so that some facts come after the five that a search shows."""


@dataclass(frozen=True)
class Thing:
    """Something with a page. ``title`` differs from ``name`` where another page bears the same name."""

    name: str
    kind: str
    title: str


@dataclass(frozen=True)
class Fact:
    """``relation`` has ``value`` for ``subject``; ``thing`` is what the value names, if it has a page.

    ``inferable`` facts follow from others, so a page has to state them.
    """

    subject: Thing
    relation: Relation
    value: str
    thing: Thing | None
    inferable: bool = False


@dataclass(frozen=True)
class World:
    """``facts`` holds what ``pages`` state, by title and relation name; ``unstated`` what is true and on no page."""

    things: tuple[Thing, ...]
    facts: Mapping[tuple[str, str], Fact]
    unstated: Mapping[tuple[str, str], Fact]
    pages: Corpus

    def stated(self, relation: str) -> list[Fact]:
        return [fact for fact in self.facts.values() if fact.relation.name == relation]

    def about(self, thing: Thing) -> list[Fact]:
        """What the page of ``thing`` states of it."""
        keys = [(thing.title, name) for name in RELATIONS]
        return [self.facts[key] for key in keys if key in self.facts]


def build(random: Random) -> World:
    """The world of a random stream."""
    things = _things(random)
    facts: dict[tuple[str, str], Fact] = {}
    unstated: dict[tuple[str, str], Fact] = {}
    for fact in _Truth(things, random).facts():
        # A capital's region is always stated: what is not stated must not be there to be inferred.
        kept = fact.inferable or random.random() < _STATED
        (facts if kept else unstated)[fact.subject.title, fact.relation.name] = fact
    return World(things, facts, unstated, Corpus(_pages(things, facts.values(), random)))


_ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "k",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "sk",
    "t",
    "tr",
    "v",
    "z",
)
_VOWELS = ("a", "e", "i", "o", "u", "ei", "ou")
_CODAS = ("l", "n", "r", "sk", "th", "ld", "rn", "nt", "m", "x")
_GIVEN = {
    "he": ("Aldo", "Bram", "Cato", "Doran", "Emil", "Falk", "Joren", "Luka", "Milo", "Orso", "Rufus", "Tomas"),
    "she": ("Anka", "Birte", "Clea", "Dora", "Elin", "Greta", "Ilse", "Mara", "Nela", "Petra", "Selma", "Vera"),
}
_TITLES = (
    "The Lamps of {x}",
    "A Winter in {x}",
    "The Road to {x}",
    "Letters from {x}",
    "The Clock of {x}",
    "Return to {x}",
)
_FIRMS = ("{x} Works", "{x} Brothers", "{x} Mills", "{x} Foundry")


def _invented(random: Random) -> Iterator[str]:
    """Names of two syllables, none twice."""
    met: set[str] = set()
    while True:
        first = random.choice(_ONSETS) + random.choice(_VOWELS)
        name = (first + random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(_CODAS)).capitalize()
        if name not in met:
            met.add(name)
            yield name


def _things(random: Random) -> tuple[Thing, ...]:
    words = _invented(random)
    named: list[tuple[str, str]] = [
        (_named(kind, next(words), random), kind) for kind in KINDS for _ in range(_COUNTS[kind])
    ]
    named = _with_namesakes(named, random)
    names = [name for name, _ in named]
    return tuple(Thing(name, kind, f"{name} ({kind})" if names.count(name) > 1 else name) for name, kind in named)


def _named(kind: str, word: str, random: Random) -> str:
    if kind == "person":
        return f"{random.choice(_GIVEN['he'] + _GIVEN['she'])} {word}"
    if kind == "lake":
        return f"Lake {word}"
    wordings = {"novel": _TITLES, "company": _FIRMS}.get(kind, ("{x}",))
    return random.choice(wordings).format(x=word)


def _with_namesakes(named: list[tuple[str, str]], random: Random) -> list[tuple[str, str]]:
    """Names two of the towns after rivers, as towns often are; a search for such a name alone finds no page."""
    rivers = random.sample([name for name, kind in named if kind == "river"], 2)
    towns = random.sample([name for name, kind in named if kind == "town"], 2)
    renamed = dict(zip(towns, rivers, strict=True))
    return [(renamed.get(name, name), kind) for name, kind in named]


_PROFESSIONS = (
    *("baker", "bookbinder", "botanist", "cartographer", "clockmaker", "composer", "geologist", "glassblower"),
    *("lawyer", "painter", "physician", "potter", "printer", "sculptor", "surveyor", "teacher", "weaver"),
)
_PRODUCTS = (
    *("barrels", "bells", "bicycles", "bricks", "candles", "carpets", "clocks", "lamps", "paper", "pianos", "ropes"),
    *("sails", "saws", "scales", "stoves", "tiles", "umbrellas"),
)
_RANGES = {
    "birth": (1790, 1890),
    "publication": (1820, 1950),
    "opening": (1820, 1940),
    "charter": (1150, 1500),
    "inhabitants": (1_200, 90_000),
    "area": (800, 9_000),
    "length": (40, 700),
    "depth": (9, 300),
}


def drawn(relation: Relation, things: Sequence[Thing], random: Random) -> tuple[str, Thing | None]:
    """A value of the right sort for ``relation``, and the one of ``things`` that it names, if any."""
    if relation.value in KINDS:
        thing = random.choice([thing for thing in things if thing.kind == relation.value])
        return thing.name, thing
    if relation.value in ("year", "number"):
        number = random.randint(*_RANGES[relation.name])
        return (str(number) if relation.value == "year" else f"{number:,}"), None
    if relation.value == "word":
        return random.choice(_PROFESSIONS if relation.name == "profession" else _PRODUCTS), None
    return f"{next(_invented(random))} Hills", None


class _Truth:
    """Draws all that is true, free of contradictions: nobody writes before being born, capitals lie within."""

    def __init__(self, things: tuple[Thing, ...], random: Random) -> None:
        self.things, self.random = things, random
        self.births = {thing: random.randint(*_RANGES["birth"]) for thing in things if thing.kind == "person"}
        regions = [thing for thing in things if thing.kind == "region"]
        towns = random.sample([thing for thing in things if thing.kind == "town"], len(regions))
        self.capitals = dict(zip(regions, towns, strict=True))
        self.regions = dict(zip(towns, regions, strict=True))
        self.makers: dict[Thing, Thing | None] = {}

    def facts(self) -> Iterator[Fact]:
        for relation in RELATIONS.values():
            for subject in (thing for thing in self.things if thing.kind == relation.kind):
                yield from self._fact(subject, relation)

    def _fact(self, subject: Thing, relation: Relation) -> Iterator[Fact]:
        value, thing = drawn(relation, self.things, self.random)
        if relation.name == "birth":
            value = str(self.births[subject])
        elif relation.name == "teacher":
            thing = self._teacher(subject)
        elif relation.name == "capital":
            thing = self.capitals[subject]
        elif relation.name == "region":
            thing = self.regions.get(subject, thing)
        elif relation.name in ("author", "founder"):
            self.makers[subject] = thing
        elif relation.name in ("publication", "opening"):
            value = str(self._birth_of_maker(subject) + self.random.randint(22, 50))
        if relation.value not in KINDS:
            yield Fact(subject, relation, value, None)
        elif thing is not None:
            inferable = relation.name == "region" and subject in self.regions
            yield Fact(subject, relation, thing.name, thing, inferable)

    def _teacher(self, pupil: Thing) -> Thing | None:
        """Somebody older by 15 to 60 years, or nobody."""
        older = [other for other, birth in self.births.items() if 15 <= self.births[pupil] - birth <= 60]
        return self.random.choice(older) if older else None

    def _birth_of_maker(self, work: Thing) -> int:
        maker = self.makers[work]
        assert maker is not None
        return self.births[maker]


_OPENINGS: dict[str, tuple[str, ...]] = {
    "person": ("{n} is remembered in many local chronicles.", "{n} was a citizen of the Free Valleys."),
    "town": ("{n} is an old market town of the Free Valleys.", "{n} is a quiet town with a walled centre."),
    "region": ("{n} is a hilly part of the Free Valleys.", "{n} was one of the first members of the Free Valleys."),
    "river": ("{n} is a slow river of the Free Valleys.", "{n} is a river known for its clear water."),
    "lake": ("{n} is one of the cold lakes of the Free Valleys.", "{n} freezes over nearly every winter."),
    "novel": ("{n} is a novel in three parts.", "{n} is a novel that was long out of print."),
    "company": ("{n} is a family business of the Free Valleys.", "{n} is a company with a long tradition."),
}
_REMARKS: dict[str, tuple[str, ...]] = {
    "person": (
        "A bundle of letters was found in {y}.",
        "According to neighbours {s} was patient and a little vain.",
        "A street has borne the name since {y}.",
        "In every portrait {s} holds a walking stick.",
        "Much of the estate was lost in a fire in {y}.",
        "An early marriage did not last.",
        "Late in life {s} travelled a great deal.",
        "A small medal was struck in {y}.",
    ),
    "town": (
        "A fire destroyed the granary in {y}.",
        "The bridge was rebuilt in {y}.",
        "The market is held on the first day of each month.",
        "Its coat of arms shows a heron above two keys.",
        "The bell tower leans slightly to the east.",
        "A school for girls was added in {y}.",
        "In spring the lower streets are often flooded.",
    ),
    "region": (
        "Most of the land is used for sheep.",
        "The last wolf was seen in {y}.",
        "Its dialect has kept many old words.",
        "The first road was paved in {y}.",
        "Its flag shows three blue stripes.",
        "Snow closes the passes from late autumn on.",
    ),
    "river": (
        "Floods were recorded in {y}.",
        "The water is used by several mills.",
        "Trout are found along the upper course.",
        "A ferry was in use until {y}.",
        "An old song calls it the grey sister.",
        "The banks are lined with alders.",
    ),
    "lake": (
        "A steamer crossed it until {y}.",
        "Fishing is allowed from spring to autumn.",
        "A small island carries the ruin of a chapel.",
        "The shore was drained in part in {y}.",
        "Herons nest along the northern shore.",
        "Divers found a wooden boat in {y}.",
    ),
    "novel": (
        "Critics praised the slow opening chapter.",
        "A stage version failed in {y}.",
        "The second part is told by a servant.",
        "A new edition appeared with drawings in {y}.",
        "The manuscript has lost its last page.",
        "Its final scene is often quoted.",
    ),
    "company": (
        "A strike lasted for eleven weeks in {y}.",
        "The brand shows a running hare.",
        "A second hall was added in {y}.",
        "Apprentices are housed next to the yard.",
        "Part of the archive was sold in {y}.",
        "The whistle can be heard across the valley.",
    ),
}


def _pages(things: Iterable[Thing], facts: Iterable[Fact], random: Random) -> Iterator[Page]:
    own: dict[str, list[Fact]] = defaultdict(list)
    back: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        own[fact.subject.title].append(fact)
        if fact.thing is not None:
            back[fact.thing.title].append(fact)
    for thing in things:
        yield _page(thing, own[thing.title], back[thing.title], random)


def _page(thing: Thing, own: Sequence[Fact], back: Sequence[Fact], random: Random) -> Page:
    """An opening; then in any order facts about ``thing``, facts that lead to it (told from its side), and remarks."""
    calls = _calls(thing, random)
    body = [_said(random.choice(fact.relation.sentences), calls(), fact.value) for fact in own]
    body += [_said(fact.relation.back, fact.subject.name) for fact in back]
    remarks = random.sample(_REMARKS[thing.kind], min(len(_REMARKS[thing.kind]), max(2, _SENTENCES - 1 - len(body))))
    body += [_said(remark, calls(), year=random.randint(1951, 1990)) for remark in remarks]
    random.shuffle(body)
    return Page(thing.title, (random.choice(_OPENINGS[thing.kind]).format(n=thing.name), *body))


def _calls(thing: Thing, random: Random) -> Callable[[], str]:
    """The ways in which a page calls its subject after the first sentence."""
    if thing.kind == "person":
        given, surname = thing.name.split()
        ways = ["he" if given in _GIVEN["he"] else "she", surname]
        return lambda: ways[int(random.random() * 2)]
    return lambda: random.choice((thing.name, f"the {thing.kind}"))


def _said(wording: str, subject: str, value: str = "", year: int = 0) -> str:
    text = wording.format(s=subject, o=value, y=year)
    return text[:1].upper() + text[1:]
