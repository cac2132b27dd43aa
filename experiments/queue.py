"""Who plays what next. The order changes nothing in the records, only how much a server must read again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Job = TypeVar("Job")


class AffinityQueue(Generic[Job]):
    """Jobs in groups; a worker stays with its group while that lasts.

    Prompts of a group (one agent, one task type) begin with the same exemplars. A worker that stays with a group finds
    them in the prefix cache of the slot that it has just left; one that must change takes the group that the
    fewest others work on, the earliest of those.
    """

    def __init__(self, jobs: Iterable[Job], group: Callable[[Job], Hashable]) -> None:
        self._groups: dict[Hashable, deque[Job]] = {}
        for job in jobs:
            self._groups.setdefault(group(job), deque()).append(job)
        self._workers: Counter[Hashable] = Counter()

    def take(self, last: Hashable | None = None) -> tuple[Hashable, Job] | None:
        """The next job with its group, for a worker whose last job was of group ``last``; None when none is left."""
        self._workers[last] -= 1
        if not self._groups:
            return None
        group = last if last in self._groups else min(self._groups, key=lambda g: self._workers[g])
        self._workers[group] += 1
        job = self._groups[group].popleft()
        if not self._groups[group]:
            del self._groups[group]
        return group, job
