"""Rates of success over outcomes: of a run, trial by trial, and over several seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trialogue.experiments.results import Outcome, Run
from trialogue.experiments.statistics import Interval, bootstrap, pass_at_k, pass_hat_k, wilson


@dataclass(frozen=True)
class Rate:
    """``solved`` of ``n``, with the 95 per cent interval: Wilson's, or by task where tasks have several seeds."""

    solved: int
    n: int
    interval: Interval

    @property
    def value(self) -> float:
        return self.solved / self.n if self.n else float("nan")


@dataclass(frozen=True)
class TrialCount:
    """One trial of a run: episodes ``played``, those won, those lost, and the success up to and with this trial.

    ``trial`` counts from 0; ``with_memory`` of the episodes had lessons of earlier trials in their prompts. A task
    once solved stays solved, so that ``success`` never falls.
    """

    trial: int
    played: int
    new_wins: int
    failed: int
    with_memory: int
    success: Rate


@dataclass(frozen=True)
class Repeated:
    """Means over the tasks that were attempted at least ``k`` times with different seeds (``tasks`` of them).

    ``any`` is pass@k, at least one of k attempts solves the task; ``all`` is pass^k, each of them does.
    """

    k: int
    tasks: int
    any: float
    all: float


def finished(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.ending is not None]


def endings(outcomes: Sequence[Outcome]) -> Counter[str]:
    return Counter(outcome.ending or "unfinished" for outcome in outcomes)


def shared(a: Run, b: Run) -> list[tuple[Outcome, Outcome]]:
    """The outcomes of both runs at the same task and seed, where both have finished without an error."""
    of_b = {(o.task, o.seed): o for o in finished(b.outcomes) if not o.is_error}
    mine = [o for o in finished(a.outcomes) if not o.is_error]
    return [(o, of_b[o.task, o.seed]) for o in mine if (o.task, o.seed) in of_b]


def success(outcomes: Sequence[Outcome], *, errors_as_failures: bool, trial: int = -1) -> Rate:
    """The success rate of what has finished, up to and with ``trial``."""
    counted = [o for o in finished(outcomes) if errors_as_failures or not o.is_error]
    wins = [(o.task, o.wins[trial]) for o in counted]
    solved = sum(won for _, won in wins)
    by_task: dict[str, list[bool]] = {}
    for task, won in wins:
        by_task.setdefault(task, []).append(won)
    if len(by_task) == len(wins):
        return Rate(solved, len(wins), wilson(solved, len(wins)))
    return Rate(solved, len(wins), bootstrap([sum(values) / len(values) for values in by_task.values()]))


def by_trial(outcomes: Sequence[Outcome]) -> list[TrialCount]:
    """What each trial came to, over the tasks whose trials have all been played, errors left out."""
    counted = [o for o in finished(outcomes) if not o.is_error]
    rates = [success(counted, errors_as_failures=False, trial=t) for t in range(len(counted[0].wins) if counted else 0)]
    counts = []
    for trial, rate in enumerate(rates):
        new = rate.solved - (rates[trial - 1].solved if trial else 0)
        played = sum(o.played > trial for o in counted)
        remembered = sum(o.remembered[trial] for o in counted)
        counts.append(TrialCount(trial, played, new, played - new, remembered, rate))
    return counts


def repeated(outcomes: Sequence[Outcome]) -> list[Repeated]:
    """pass@k and pass^k for every k up to the number of seeds; [] with one seed. Errors and open episodes left out."""
    by_task: dict[str, list[bool]] = {}
    for outcome in finished(outcomes):
        if not outcome.is_error:
            by_task.setdefault(outcome.task, []).append(outcome.won)
    counts = [(len(wins), sum(wins)) for wins in by_task.values()]
    most = max((n for n, _ in counts), default=0)
    return [_repeated(k, counts) for k in range(1, most + 1)] if most > 1 else []


def _repeated(k: int, counts: Sequence[tuple[int, int]]) -> Repeated:
    some = [value for n, c in counts if (value := pass_at_k(n, c, k)) is not None]
    every = [value for n, c in counts if (value := pass_hat_k(n, c, k)) is not None]
    return Repeated(k, len(some), sum(some) / len(some), sum(every) / len(every))
