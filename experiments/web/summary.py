"""What a report tells of each run: computed once, for its figures and its tables alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from trialogue.experiments.compare import flatten
from trialogue.experiments.failure_tags import KINDS, Tag
from trialogue.experiments.rates import Rate, TrialCount, by_trial, endings, finished, success
from trialogue.experiments.results import Outcome, Run
from trialogue.experiments.statistics import Interval, bootstrap
from trialogue.experiments.store import Store
from trialogue.experiments.tagging import Tagged, of_run

SAMPLES = 2  # episodes shown of each tag


@dataclass(frozen=True)
class Sample:
    """One episode that shows a tag; ``run`` is the number of its run in the report, from 0."""

    run: int
    episode: int
    tag: Tag


@dataclass(frozen=True)
class Summary:
    """One run. ``rate`` leaves errors out, ``strict`` counts them as failures.

    ``score`` is a mean with its bootstrap interval, errors left out; None where scores only repeat the successes.
    ``spent`` is the mean per task, in money or in tokens; None where it is not known. ``tags`` counts episodes by
    kind, of the ``looked_at`` that were played to an end.
    """

    run: Run
    rate: Rate
    strict: Rate
    score: tuple[float, Interval] | None
    by_type: Mapping[str, Rate]
    trials: tuple[TrialCount, ...]
    endings: Counter[str]
    spent: float | None
    looked_at: int
    tags: Mapping[str, int]


def letter(run: int) -> str:
    """What stands for the ``run``-th run in figures and in the heads of tables: A to Z, then A2 and so on."""
    round, at = divmod(run, len(ascii_uppercase))
    return ascii_uppercase[at] + (str(round + 1) if round else "")


def summarise(runs: Sequence[Run]) -> tuple[list[Summary], dict[str, list[Sample]], bool]:
    """Each run, the samples of every tag that was found, and whether what was spent is money (or else tokens)."""
    outcomes = [o for run in runs for o in run.outcomes]
    graded = any(o.score not in (0.0, 1.0) for o in finished(outcomes))
    priced = any(o.cost is not None for o in outcomes)
    summaries, samples = [], dict[str, list[Sample]]()
    for number, run in enumerate(runs):
        counts, looked_at = Counter[str](), 0
        for episode in _tagged(run):
            looked_at += 1
            for tag in episode.tags:
                counts[tag.kind] += 1
                _sample(samples.setdefault(tag.kind, []), Sample(number, episode.episode, tag))
        summaries.append(_summary(run, counts, looked_at, graded, _cost if priced else _tokens))
    return summaries, {kind: samples[kind] for kind in KINDS if kind in samples}, priced


def _summary(
    run: Run, tags: Mapping[str, int], looked_at: int, graded: bool, spent: Callable[[Outcome], float]
) -> Summary:
    types = sorted({o.type for o in run.outcomes})
    of_type = {t: [o for o in run.outcomes if o.type == t] for t in types}
    scores = [o.score for o in finished(run.outcomes) if not o.is_error] if graded else []
    done = [] if run.is_imported else finished(run.outcomes)
    return Summary(
        run=run,
        rate=success(run.outcomes, errors_as_failures=False),
        strict=success(run.outcomes, errors_as_failures=True),
        score=(sum(scores) / len(scores), bootstrap(scores)) if scores else None,
        by_type={t: success(some, errors_as_failures=False) for t, some in of_type.items()} if len(types) > 1 else {},
        trials=tuple(by_trial(run.outcomes)),
        endings=endings(run.outcomes),
        spent=sum(map(spent, done)) / len(done) if done else None,
        looked_at=looked_at,
        tags=tags,
    )


def _tagged(run: Run) -> Iterator[Tagged]:
    """Its episodes with their tags; of imported results nothing is known that could tell."""
    if run.source is None or run.is_imported:
        return
    path, number = run.source
    with Store.read(path) as store:
        for row in store.runs(forks=True):
            if row["id"] == number:
                yield from of_run(store, row)


def _sample(known: list[Sample], sample: Sample) -> None:
    """Keeps the first episodes that show a tag: one of each run before a second of any."""
    if len(known) < SAMPLES:
        known.append(sample)
    elif all(one.run == known[0].run for one in known) and sample.run != known[0].run:
        known[-1] = sample


def _cost(outcome: Outcome) -> float:
    return outcome.cost or 0.0


def _tokens(outcome: Outcome) -> float:
    return outcome.prompt_tokens + outcome.completion_tokens


def common_conditions(runs: Sequence[Run]) -> tuple[dict[str, object], dict[str, list[object]]]:
    """What all runs share, by dotted name, and of the rest each one's own, None where it has none."""
    flat = [dict(flatten(run.conditions)) for run in runs]
    keys = sorted({key for one in flat for key in one})
    common = {key: flat[0][key] for key in keys if all(key in one and one[key] == flat[0].get(key) for one in flat)}
    return common, {key: [one.get(key) for one in flat] for key in keys if key not in common}
