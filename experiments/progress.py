"""The live display of a run: done, success so far, tokens a second, time left."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from trialogue.agents.models.contract import Reply
from trialogue.experiments.endings import ERRORS, Ending
from trialogue.experiments.recording import Observer
from trialogue.experiments.records import EndRecord

PLAIN_INTERVAL_S = 15.0


def bar(console: Console) -> Progress:
    """How far something came; "facts" says what else is known. Shown on terminals only."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[facts]}"),
        console=console,
        disable=not console.is_terminal,
    )


class ProgressDisplay(Observer):
    """A bar on a terminal; elsewhere (a log file) one line every ``PLAIN_INTERVAL_S`` seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = bar(console)
        self._task = self._bar.add_task("episodes", total=None, facts="")
        self._begun = time.monotonic()
        self._said = self._begun
        self._planned = self._before = self._done = self._tokens = self._errors = 0
        self._won: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()

    def __enter__(self) -> ProgressDisplay:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def started(self, planned: int, finished: int) -> None:
        self._planned, self._before = planned, finished
        self._begun = time.monotonic()
        if finished:
            self._console.print(f"resuming: {finished} of {planned} episodes had finished")
        self._show()

    def replied(self, reply: Reply) -> None:
        self._tokens += reply.usage.completion
        self._show()

    def ended(self, run: str, end: EndRecord) -> None:
        self._done += 1
        if end.ending in ERRORS:
            self._errors += 1
        elif end.ending != Ending.SOLVED_EARLIER:
            self._ended[run] += 1
            self._won[run] += end.won
        self._show()

    def facts(self) -> str:
        """Success so far by run, errors, tokens written a second, seconds left."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        rates = [f"{run} {self._won[run]}/{n}" for run, n in sorted(self._ended.items())]
        parts = [*rates, f"{self._tokens / seconds:.0f} tok/s"]
        if self._errors:
            parts.append(f"{self._errors} errors")
        if self._done:
            left = (self._planned - self._before - self._done) * seconds / self._done
            parts.append(f"{left:.0f} s left")
        return "  ".join(parts)

    def _show(self) -> None:
        done = self._before + self._done
        if self._console.is_terminal:
            self._bar.update(self._task, total=self._planned, completed=done, facts=self.facts())
        elif time.monotonic() - self._said >= PLAIN_INTERVAL_S or done == self._planned:
            self._said = time.monotonic()
            self._console.print(f"{done}/{self._planned} episodes  {self.facts()}", highlight=False)
