"""The live display of a training: steps, loss, tokens a second, time left."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console

from trialogue.experiments.progress import PLAIN_INTERVAL_S, bar
from trialogue.experiments.training.loop import Step


class TrainingDisplay:
    """A bar on a terminal; elsewhere (a log file) one line every ``PLAIN_INTERVAL_S`` seconds."""

    def __init__(self, console: Console, steps: int, done: int, tokens_left: int) -> None:
        self._console = console
        self._bar = bar(console)
        self._task = self._bar.add_task("steps", total=steps, completed=done, facts="")
        self._steps, self._done, self._left = steps, done, tokens_left
        self._read = 0
        self._seconds = 0.0
        self._held_out = ""
        self._said = time.monotonic()

    def __enter__(self) -> TrainingDisplay:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def held_out(self, loss: float) -> None:
        self._held_out = f"  held-out loss {loss:.3f}"
        if not self._console.is_terminal:
            self.say(f"after step {self._done}: held-out loss {loss:.4f}")

    def stepped(self, step: Step, seconds: float) -> None:
        self._done += 1
        self._read += step.tokens
        self._left -= step.tokens
        self._seconds += seconds
        rate = self._read / self._seconds
        facts = f"loss {step.loss:.3f}{self._held_out}  {rate:.0f} tokens/s  {_clock(self._left / rate)} left"
        if self._console.is_terminal:
            self._bar.update(self._task, completed=self._done, facts=facts)
        elif time.monotonic() - self._said >= PLAIN_INTERVAL_S or self._done == self._steps:
            self._said = time.monotonic()
            self.say(f"step {self._done}/{self._steps}  {facts}")

    def say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False)


def _clock(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"
