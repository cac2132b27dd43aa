"""Why an episode failed: tags that are told from its record alone, each with the step that shows it.

They refine the success and failure modes that ReAct counts by hand (Yao et al. 2023, section 3.3 and table 2:
hallucination, reasoning error, search result error). A tag is a finding, not a verdict: an episode may have several,
and people may label it otherwise (:mod:`trialogue.experiments.labels`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from trialogue.agents.stuck import is_stuck
from trialogue.experiments.endings import ERRORS, Ending

REPEATS = 3  # times in a row: what is a repetition
LATE = 5  # steps: what is new among the last so many says that a longer episode might have gone on


class Step(Protocol):
    """What tags need of a step: some fields of a :class:`~trialogue.experiments.records.StepRecord`."""

    @property
    def step(self) -> int: ...

    @property
    def action(self) -> str | None: ...

    @property
    def observation(self) -> str: ...

    @property
    def valid(self) -> int: ...

    @property
    def reason(self) -> str: ...

    @property
    def score(self) -> float: ...


@dataclass(frozen=True)
class Facts:
    """What a record tells of one episode that has ended. ``unreadable`` counts turns of which no action was read."""

    goal: str
    observation: str
    ending: str
    won: bool
    turns: int
    unreadable: int
    step_limit: int
    steps: Sequence[Step]


@dataclass(frozen=True)
class Tag:
    """``step`` is the first that shows it, 0 where none does; ``evidence`` quotes it, on one line."""

    kind: str
    step: int
    evidence: str


KINDS = {
    "repetition": "the same commands, answered the same, came three times in a row",
    "object_not_found": "a thing that the goal names was never seen",
    "wrong_object": "a thing was taken that the goal does not name",
    "invalid_actions": "at least a third of the commands were not accepted",
    "gave_up": "it ended itself without an answer, or with one that says that it does not know",
    "answer_unsupported": "the answer stands in no observation",
    "search_found_nothing": "at least half of the searches found nothing",
    "format": "at least a quarter of the turns could not be read",
    "cap_too_short": "the step limit came while there was still something new",
    "lucky": "it won, though the answer stands in no observation (the paper's false positive)",
}
"""Every tag, and when it is given."""


def tags_of(facts: Facts) -> list[Tag]:
    """The tags of an episode, in the order of :data:`KINDS`.

    A solved one can only be ``lucky``; one that ended in an error of the model or the environment has none.
    """
    if facts.ending in ERRORS:
        return []
    if facts.won:
        unsupported = _answer_unsupported(facts)
        return [Tag("lucky", unsupported.step, unsupported.evidence)] if unsupported else []
    found = {tag.kind: tag for rule in _RULES if (tag := rule(facts)) is not None}
    return [found[kind] for kind in KINDS if kind in found]


def _repetition(facts: Facts) -> Tag | None:
    pairs = [(step.action or "", step.observation) for step in _executed(facts)]
    often = {pair for pair, times in Counter(pairs).items() if times >= REPEATS}
    if often:
        for count, step in enumerate(_executed(facts), start=1):
            if pairs[count - 1] in often and is_stuck(pairs[:count], repeats=REPEATS):
                return Tag("repetition", step.step, _quote(step))
    return None


def _object_not_found(facts: Facts) -> Tag | None:
    """Only where a room is told by its numbered things (``you see a desk 1``): there the text says what was seen."""
    if not facts.steps or _NUMBERED_ROOM.search(facts.observation) is None:
        return None
    seen = set(_THING.findall("\n".join([facts.observation, *(step.observation for step in facts.steps)])))
    missing = [word for word in _nouns(facts.goal) if word not in seen]
    if not missing:
        return None
    return Tag("object_not_found", facts.steps[-1].step, f"never seen: {', '.join(missing)}")


def _wrong_object(facts: Facts) -> Tag | None:
    words = set(_words(facts.goal))
    for step in _executed(facts):
        taken = _TAKEN.match(step.action or "")
        if taken and step.valid and taken[1] not in words:
            return Tag("wrong_object", step.step, _quote(step))
    return None


def _invalid_actions(facts: Facts) -> Tag | None:
    executed = list(_executed(facts))
    invalid = [step for step in executed if not step.valid]
    if not invalid or 3 * len(invalid) < len(executed):
        return None
    return Tag("invalid_actions", invalid[0].step, f"{len(invalid)} of {len(executed)}; first: {_quote(invalid[0])}")


def _gave_up(facts: Facts) -> Tag | None:
    last = facts.steps[-1] if facts.steps else None
    answer = _answer(last)
    if last is not None and answer is not None and _UNKNOWN.fullmatch(answer.strip(" .'\"").casefold()):
        return Tag("gave_up", last.step, _quote(last))
    # A turn that gives up costs a step without a command, as an unreadable one does.
    silent = sum(step.action is None for step in facts.steps)
    if facts.ending == Ending.NO_ACTION and silent > facts.unreadable:
        return Tag("gave_up", last.step if last else 0, (last.reason if last else "") or "it ended the episode")
    return None


def _answer_unsupported(facts: Facts) -> Tag | None:
    last = facts.steps[-1] if facts.steps else None
    answer = _answer(last)
    if last is None or not answer or _LABEL.fullmatch(answer.strip(" .").casefold()):
        return None
    told = " ".join([facts.goal, facts.observation, *(step.observation for step in facts.steps[:-1])])
    wanted = " ".join(_content(answer))
    supported = not wanted or f" {wanted} " in f" {' '.join(_content(told))} " or _is_rounded(answer, told)
    return None if supported else Tag("answer_unsupported", last.step, _quote(last))


def _search_found_nothing(facts: Facts) -> Tag | None:
    """A look-up that has shown all it found is not empty: it says that there is no more."""
    searches, empty, before = 0, [], ""
    for step in _executed(facts):
        command = step.action or ""
        if not step.valid or not _SEARCH.match(command):
            continue
        searches += 1
        nothing = _NOTHING.search(step.observation) is not None
        if nothing and command != before:
            empty.append(step)
        before = "" if nothing else command
    if not empty or 2 * len(empty) < searches:
        return None
    return Tag("search_found_nothing", empty[0].step, f"{len(empty)} of {searches}; first: {_quote(empty[0])}")


def _format(facts: Facts) -> Tag | None:
    if not facts.unreadable or 4 * facts.unreadable < facts.turns:
        return None
    first = next((step for step in facts.steps if step.action is None), None)
    reason = first.reason if first else ""
    return Tag("format", first.step if first else 0, f"{facts.unreadable} of {facts.turns} turns; first: {reason}")


def _cap_too_short(facts: Facts) -> Tag | None:
    if facts.ending != Ending.STEP_LIMIT or len(facts.steps) <= LATE:
        return None
    before, late = facts.steps[:-LATE], facts.steps[-LATE:]
    gained = late[-1].score > before[-1].score
    met = {step.observation for step in before} | {facts.observation}
    new = {step.observation for step in late if step.valid} - met
    if gained or 2 * len(new) > LATE:
        return Tag("cap_too_short", late[-1].step, f"of the last {LATE} steps, {len(new)} brought something new")
    return None


_RULES: tuple[Callable[[Facts], Tag | None], ...] = (
    _repetition,
    _object_not_found,
    _wrong_object,
    _invalid_actions,
    _gave_up,
    _answer_unsupported,
    _search_found_nothing,
    _format,
    _cap_too_short,
)

_UNKNOWN = re.compile(
    r"|unknown|none|nothing|n/?a|no answer|(?:i )?(?:do not|don't) know"
    r"|not (?:found|known|available|mentioned|specified)"
    r"|(?:cannot|can't|could not|unable to) (?:be )?(?:determined?|found|find|answer|tell|say)\b.*|insufficient .*"
)
_LABEL = re.compile(r"yes|no|true|false|support(?:s|ed)?|refute[sd]?|not enough info(?:rmation)?|nei")
_SEARCH = re.compile(r"(?:search|lookup|look_up|find)\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"^\W*(?:could not find|no (?:more )?(?:results?|matches|rows?)\b|(?:\w+ )?found nothing|nothing (?:was )?found)"
    r"|\btotal results: 0\b",
    re.IGNORECASE,
)
"""What the environments say of a search without a result: Could not find [X]. No more results. find found nothing; …"""
_NUMBERED_ROOM = re.compile(r"you see an? [a-z]+ \d")
_TAKEN = re.compile(r"take ([a-z][a-z-]*) \d+\b")
_THING = re.compile(r"a(?<!\wa)n? ([a-z][a-z-]*) \d")  # twice as fast as with \b first: its first letter is sought
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_ARTICLES = frozenset({"a", "an", "the"})
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the some any two one in on to of at with it and then put place find look examine under clean heat cool "
        "hot cold cooled heated cleaned them both into inside using your task is",
    )
)
"""What goals of households say beside the names of things."""


def _executed(facts: Facts) -> Iterator[Step]:
    return (step for step in facts.steps if step.action is not None)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+(?:[.,]\d+)*", text.casefold())


def _content(text: str) -> list[str]:
    return [word for word in _words(text) if word not in _ARTICLES]


def _is_rounded(answer: str, told: str) -> bool:
    """Whether ``answer`` is one number, which some number that was told rounds to."""
    number = _NUMBER.fullmatch(answer.strip())
    if number is None:
        return False
    digits = len(number[0].partition(".")[2])
    value = float(number[0].replace(",", ""))
    return any(round(float(seen.replace(",", "")), digits) == value for seen in _NUMBER.findall(told))


def _nouns(goal: str) -> list[str]:
    """The words of a goal that may name things; numbers and words of the goal's own language left out."""
    return [word for word in dict.fromkeys(_words(goal)) if word not in _SMALL and not word.isdigit()]


def _answer(step: Step | None) -> str | None:
    found = re.fullmatch(r"finish\[(.*)\]", step.action or "", re.I | re.S) if step else None
    return found[1] if found else None


def _quote(step: Step, most: int = 120) -> str:
    text = " ".join(f"{step.action} -> {step.observation}".split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count_tags(episodes: Sequence[Sequence[Tag]]) -> dict[str, int]:
    """How many episodes have each tag, in the order of :data:`KINDS`; those that none has are left out."""
    counts = {kind: sum(any(tag.kind == kind for tag in tags) for tags in episodes) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}
