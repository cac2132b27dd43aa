"""What the generated encyclopedia can say: kinds of things, and relations with every wording for them.

The writer of pages and the expert that reads them share these wordings, as a writer and a reader share a language.
In a wording, {s} is the subject as a sentence calls it, {o} the value, and {x} the subject as a question calls it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

KINDS = ("person", "town", "region", "river", "lake", "novel", "company")

_MENTIONS = {
    "person": "{x}",
    "town": "the town of {x}",
    "region": "the region of {x}",
    "river": "the river {x}",
    "lake": "{x}",
    "novel": "the novel {x}",
    "company": "the company {x}",
}
"""How a question names a thing of each kind; lakes are told from persons by their first word."""

_NAME = r"[A-Z][a-z]+(?: [A-Z][a-z]+)*"
_VALUES = {"year": r"\d{4}", "number": r"[\d,]+", "word": r"[a-z]+", "name": _NAME}


@dataclass(frozen=True)
class Relation:
    """One fact about things of ``kind``. Each thing has at most one value for it.

    ``value`` is a kind of thing, or "year", "number", "word", "name" (a name without a page). Each of ``sentences``
    holds the ``keyword``, so that a look-up finds it. ``question`` asks for the value, ``claim`` asserts one,
    ``phrase`` stands for the value in a longer question ("" where it would not), and ``back`` is said on the
    value's own page.
    """

    name: str
    kind: str
    value: str
    keyword: str
    sentences: tuple[str, ...]
    question: str
    claim: str
    phrase: str = ""
    back: str = ""

    def read(self, sentence: str) -> str | None:
        """The value that ``sentence`` states, or None when it does not state this relation."""
        for pattern in self._sentence_patterns:
            if match := pattern.fullmatch(sentence):
                return match["o"]
        return None

    def read_question(self, question: str) -> str | None:
        """What ``question`` asks about, if it asks for this relation."""
        match = _pattern(self.question).fullmatch(question)
        return match["x"] if match else None

    def read_phrase(self, phrase: str) -> str | None:
        """What ``phrase`` starts from, if it goes along this relation."""
        match = _pattern(self.phrase).fullmatch(phrase) if self.phrase else None
        return match["x"] if match else None

    def read_claim(self, claim: str) -> tuple[str, str] | None:
        """What ``claim`` is about and the value it asserts, if it asserts this relation."""
        match = _pattern(self.claim, self._value_pattern).fullmatch(claim)
        return (re.sub(r"^The ", "the ", match["x"]), match["o"]) if match else None

    @cached_property
    def _sentence_patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_pattern(wording, self._value_pattern) for wording in self.sentences)

    @property
    def _value_pattern(self) -> str:
        return _VALUES.get(self.value, _NAME)


@cache
def _pattern(wording: str, value: str = _NAME) -> re.Pattern[str]:
    parts = re.split(r"(\{[sox]\})", wording)
    slots = {"{s}": ".+", "{o}": f"(?P<o>{value})", "{x}": "(?P<x>.+)"}
    return re.compile("".join(slots.get(part, re.escape(part)) for part in parts))


def mention(kind: str, name: str) -> str:
    """How a question names a thing."""
    return _MENTIONS[kind].format(x=name)


def read_mention(kind: str, text: str) -> str:
    """The name in a mention of a thing of ``kind``."""
    return text.removeprefix(_MENTIONS[kind].format(x=""))


RELATIONS = {
    relation.name: relation
    for relation in (
        Relation(
            name="profession",
            kind="person",
            value="word",
            keyword="profession",
            sentences=("{s} was a {o} by profession.", "By profession {s} was a {o}."),
            question="What was the profession of {x}?",
            claim="{x} made a living as a {o}.",
        ),
        Relation(
            name="birthplace",
            kind="person",
            value="town",
            keyword="born",
            sentences=("{s} was born in the town of {o}.", "{s} was born in {o} as the youngest of several children."),
            question="In which town was {x} born?",
            claim="{x} was born in {o}.",
            phrase="the town where {x} was born",
            back="Among the people who come from here is {s}.",
        ),
        Relation(
            name="birth",
            kind="person",
            value="year",
            keyword="born",
            sentences=("{s} was born in {o}.", "{s} was born in the winter of {o}."),
            question="In what year was {x} born?",
            claim="{x} was born in the year {o}.",
        ),
        Relation(
            name="teacher",
            kind="person",
            value="person",
            keyword="learned",
            sentences=("{s} learned the trade from {o}.", "For several years {s} learned from {o}."),
            question="Who taught {x}?",
            claim="{x} was taught by {o}.",
            phrase="the teacher of {x}",
            back="Among the pupils was {s}.",
        ),
        Relation(
            name="author",
            kind="novel",
            value="person",
            keyword="written",
            sentences=("{s} was written by {o}.", "{s} was written within one year by {o}."),
            question="Who wrote {x}?",
            claim="{o} wrote {x}.",
            phrase="the author of {x}",
            back="The novel {s} is still read today.",
        ),
        Relation(
            name="publication",
            kind="novel",
            value="year",
            keyword="published",
            sentences=("{s} was published in {o}.", "{s} was first published in {o}."),
            question="In what year was {x} published?",
            claim="{x} came out in the year {o}.",
        ),
        Relation(
            name="setting",
            kind="novel",
            value="town",
            keyword="set in",
            sentences=("{s} is set in the town of {o}.", "{s} is set in {o} during a long winter."),
            question="In which town is {x} set?",
            claim="{x} takes place in {o}.",
            phrase="the town in which {x} is set",
            back="Readers know the place from the novel {s}.",
        ),
        Relation(
            name="founder",
            kind="company",
            value="person",
            keyword="founded",
            sentences=("{s} was founded by {o}.", "{s} was founded with borrowed money by {o}."),
            question="Who founded {x}?",
            claim="{o} founded {x}.",
            phrase="the founder of {x}",
            back="The company {s} honours its founder every autumn.",
        ),
        Relation(
            name="opening",
            kind="company",
            value="year",
            keyword="opened",
            sentences=("{s} opened for business in {o}.", "{s} opened its doors in {o}."),
            question="In what year did {x} open?",
            claim="{x} opened in the year {o}.",
        ),
        Relation(
            name="headquarters",
            kind="company",
            value="town",
            keyword="headquarters",
            sentences=("{s} has its headquarters in the town of {o}.", "The headquarters of {s} are in {o}."),
            question="In which town does {x} have its headquarters?",
            claim="{x} is run from {o}.",
            phrase="the town where {x} has its headquarters",
            back="Many families here work for the company {s}.",
        ),
        Relation(
            name="product",
            kind="company",
            value="word",
            keyword="makes",
            sentences=("{s} makes {o}.", "{s} makes mainly {o}."),
            question="What does {x} make?",
            claim="{x} produces {o}.",
        ),
        Relation(
            name="region",
            kind="town",
            value="region",
            keyword="region",
            sentences=("{s} belongs to the region of {o}.", "{s} lies in the region of {o}."),
            question="In which region does {x} lie?",
            claim="{x} is part of {o}.",
            phrase="the region in which {x} lies",
            back="One of its towns is {s}.",
        ),
        Relation(
            name="river",
            kind="town",
            value="river",
            keyword="on the river",
            sentences=("{s} stands on the river {o}.", "{s} was built on the river {o}."),
            question="On which river does {x} stand?",
            claim="{x} is crossed by the river {o}.",
            phrase="the river on which {x} stands",
            back="The river passes the town of {s}.",
        ),
        Relation(
            name="inhabitants",
            kind="town",
            value="number",
            keyword="inhabitants",
            sentences=("{s} has {o} inhabitants.", "At the last census {s} had {o} inhabitants."),
            question="How many inhabitants does {x} have?",
            claim="{x} is home to {o} people.",
        ),
        Relation(
            name="charter",
            kind="town",
            value="year",
            keyword="charter",
            sentences=("{s} received its charter in {o}.", "The charter of {s} was signed in {o}."),
            question="In what year did {x} receive its charter?",
            claim="{x} was given its charter in the year {o}.",
        ),
        Relation(
            name="capital",
            kind="region",
            value="town",
            keyword="capital",
            sentences=("The capital of {s} is {o}.", "{s} has its capital in {o}."),
            question="What is the capital of {x}?",
            claim="{x} is governed from {o}.",
            phrase="the capital of {x}",
            back="The governor of {s} resides here.",
        ),
        Relation(
            name="area",
            kind="region",
            value="number",
            keyword="square kilometres",
            sentences=("{s} covers {o} square kilometres.", "{s} has an area of {o} square kilometres."),
            question="How many square kilometres does {x} cover?",
            claim="{x} measures {o} square kilometres.",
        ),
        Relation(
            name="mouth",
            kind="river",
            value="lake",
            keyword="flows into",
            sentences=("{s} flows into {o}.", "After many bends {s} flows into {o}."),
            question="Into which lake does {x} flow?",
            claim="{x} ends in {o}.",
            phrase="the lake into which {x} flows",
            back="Its water comes from the river {s}.",
        ),
        Relation(
            name="length",
            kind="river",
            value="number",
            keyword="kilometres",
            sentences=("{s} is {o} kilometres long.", "From source to mouth {s} measures {o} kilometres."),
            question="How many kilometres long is {x}?",
            claim="{x} has a length of {o} kilometres.",
        ),
        Relation(
            name="source",
            kind="river",
            value="name",
            keyword="rises",
            sentences=("{s} rises in the {o}.", "{s} rises from a spring in the {o}."),
            question="In which hills does {x} rise?",
            claim="{x} comes from the {o}.",
        ),
        Relation(
            name="depth",
            kind="lake",
            value="number",
            keyword="metres deep",
            sentences=("{s} is {o} metres deep.", "In the middle {s} is {o} metres deep."),
            question="How many metres deep is {x}?",
            claim="{x} has a depth of {o} metres.",
        ),
    )
}
"""Every relation by name. Each is functional: a second value contradicts the first, so a claim can be refuted."""


@dataclass(frozen=True)
class Contrast:
    """A question that compares two things by ``relation``.

    ``pick`` is "least" or "most" (the answer is a name), or "same" (the answer is yes or no).
    """

    relation: str
    pick: str
    wording: str

    def read(self, question: str) -> tuple[str, str] | None:
        """The two names, if ``question`` is of this wording."""
        pattern = re.escape(self.wording).replace(r"\{a\}", "(.+)").replace(r"\{b\}", "(.+)")
        match = re.fullmatch(pattern, question)
        return (match[1], match[2]) if match else None


CONTRASTS = (
    Contrast("birth", "least", "Who was born first, {a} or {b}?"),
    Contrast("birth", "most", "Who was born later, {a} or {b}?"),
    Contrast("publication", "least", "Which novel was published first, {a} or {b}?"),
    Contrast("publication", "most", "Which novel was published later, {a} or {b}?"),
    Contrast("opening", "least", "Which company opened first, {a} or {b}?"),
    Contrast("inhabitants", "most", "Which town has more inhabitants, {a} or {b}?"),
    Contrast("inhabitants", "least", "Which town has fewer inhabitants, {a} or {b}?"),
    Contrast("length", "most", "Which river is longer, {a} or {b}?"),
    Contrast("length", "least", "Which river is shorter, {a} or {b}?"),
    Contrast("profession", "same", "Did {a} and {b} have the same profession?"),
    Contrast("birthplace", "same", "Were {a} and {b} born in the same town?"),
    Contrast("author", "same", "Were the novels {a} and {b} written by the same person?"),
    Contrast("headquarters", "same", "Do the companies {a} and {b} have their headquarters in the same town?"),
    Contrast("region", "same", "Do the towns of {a} and {b} lie in the same region?"),
    Contrast("mouth", "same", "Do the rivers {a} and {b} flow into the same lake?"),
)
