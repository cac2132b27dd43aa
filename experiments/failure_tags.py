"""Why an episode failed: tags that are told from its record alone, each with the step that shows it.

They refine the success and failure modes that ReAct counts by hand (Yao et al. 2023, section 3.3 and table 2:
hallucination, reasoning error, search result error). A tag is a finding, not a verdict: an episode may have several,
and people may label it otherwise (:mod:`trialogue.experiments.labels`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trialogue.agents.stuck import is_stuck
from trialogue.experiments.endings import Ending
from trialogue.experiments.records import StepRecord

LATE = 5  # steps: what is new among the last so many says that a longer episode might have gone on


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
    steps: tuple[StepRecord, ...]


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
    """The tags of an episode, in the order of :data:`KINDS`. A solved one can only be ``lucky``."""
    if facts.won:
        unsupported = _answer_unsupported(facts)
        return [Tag("lucky", unsupported.step, unsupported.evidence)] if unsupported else []
    found = {tag.kind: tag for rule in _RULES if (tag := rule(facts)) is not None}
    return [found[kind] for kind in KINDS if kind in found]


def _repetition(facts: Facts) -> Tag | None:
    pairs: list[tuple[str, str]] = []
    for step in _executed(facts):
        pairs.append((step.action or "", step.observation))
        if is_stuck(pairs):
            return Tag("repetition", step.step, _quote(step))
    return None


def _object_not_found(facts: Facts) -> Tag | None:
    """Only where things are numbered (``mug 1``): there the text says what was seen."""
    places = {kind for kind, _ in _things(facts.observation)}
    seen = {kind for step in facts.steps for kind, _ in _things(step.observation)}
    if not places or not facts.steps:
        return None
    missing = [word for word in _nouns(facts.goal) if word not in places | seen]
    if not missing:
        return None
    return Tag("object_not_found", facts.steps[-1].step, f"never seen: {', '.join(missing)}")


def _wrong_object(facts: Facts) -> Tag | None:
    words = set(_words(facts.goal))
    for step in _executed(facts):
        taken = re.match(r"(?:take|pick up|get) ([a-z][a-z-]*) \d+\b", step.action or "")
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
    readable = facts.unreadable == 0
    if facts.ending == Ending.NO_ACTION and readable:
        return Tag("gave_up", last.step if last else 0, "it ended the episode")
    return None


def _answer_unsupported(facts: Facts) -> Tag | None:
    last = facts.steps[-1] if facts.steps else None
    answer = _answer(last)
    if last is None or not answer or _LABEL.fullmatch(answer.strip().casefold()):
        return None
    seen = " ".join(_words(" ".join([facts.goal, facts.observation, *(s.observation for s in facts.steps[:-1])])))
    wanted = " ".join(_words(answer))
    return None if not wanted or f" {wanted} " in f" {seen} " else Tag("answer_unsupported", last.step, _quote(last))


def _search_found_nothing(facts: Facts) -> Tag | None:
    searches = [step for step in _executed(facts) if re.match(r"(?:search|lookup|find)\b", step.action or "", re.I)]
    empty = [step for step in searches if _NOTHING.search(step.observation)]
    if not empty or 2 * len(empty) < len(searches):
        return None
    return Tag("search_found_nothing", empty[0].step, f"{len(empty)} of {len(searches)}; first: {_quote(empty[0])}")


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
    new = [step for step in late if step.valid and step.observation not in met]
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

_UNKNOWN = re.compile(r"|unknown|none|n/?a|i (?:do not|don't) know|not (?:found|known)|(?:cannot|can't|could not) .*")
_LABEL = re.compile(r"yes|no|supports|refutes|not enough info")
_NOTHING = re.compile(r"could not find|no more results|total results: 0\b|found nothing|no results|no rows?\b", re.I)
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the some two one in on to of at with it and then put find look examine under place clean heat cool hot "
        "cold cooled heated cleaned your task is goal them both into",
    )
)


def _executed(facts: Facts) -> Iterator[StepRecord]:
    return (step for step in facts.steps if step.action is not None)


def _things(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"\b(?!loc )([a-z][a-z-]*) (\d+)\b", text.lower()))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+(?:[.,]\d+)*", text.casefold())


def _nouns(goal: str) -> list[str]:
    """The words of a goal that may name things; numbers and words of the goal's own language left out."""
    return [word for word in dict.fromkeys(_words(goal)) if word not in _SMALL and not word.isdigit()]


def _answer(step: StepRecord | None) -> str | None:
    found = re.fullmatch(r"finish\[(.*)\]", step.action or "", re.I | re.S) if step else None
    return found[1] if found else None


def _quote(step: StepRecord, most: int = 120) -> str:
    text = " ".join(f"{step.action} -> {step.observation}".split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count_tags(episodes: Sequence[Sequence[Tag]]) -> dict[str, int]:
    """How many episodes have each tag, in the order of :data:`KINDS`; those that none has are left out."""
    counts = {kind: sum(any(tag.kind == kind for tag in tags) for tags in episodes) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}
