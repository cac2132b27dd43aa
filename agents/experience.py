"""What an agent has done so far, and what came of it: told from its own commands and their answers alone."""

from __future__ import annotations

from dataclasses import dataclass

from trialogue.agents.reading.text import one_line
from trialogue.agents.stuck import is_stuck

_LONGEST = 200  # characters of an answer that is told again


@dataclass(frozen=True)
class Known:
    """An earlier command: its number, from 1, and what it was answered, on one line."""

    number: int
    answer: str


class Experience:
    """One episode's commands and answers, in order."""

    def __init__(self) -> None:
        self._pairs: list[tuple[str, str]] = []
        self._pending: str | None = None
        self.heard_nothing = True

    def did(self, action: str) -> None:
        self._pending = action

    def heard(self, observation: str) -> Known | None:
        """Takes in the answer to the last command. Returns the latest time that the same was done before, if any."""
        self.heard_nothing = False
        action, self._pending = self._pending, None
        if action is None:
            return None
        before = self._before(action)
        self._pairs.append((action, observation))
        return before

    def is_repeating(self) -> bool:
        """Whether the last commands went round in circles, answers included (three times, so that looking twice is
        no circle)."""
        return is_stuck(self._pairs)

    def would_repeat(self, action: str | None) -> bool:
        """Whether ``action`` is the last command again, although its answer was the same twice."""
        if action is None or not self._pairs:
            return False
        return is_stuck([*self._pairs, (action, self._pairs[-1][1])], cycle=1)

    def _before(self, action: str) -> Known | None:
        for number in range(len(self._pairs), 0, -1):
            done, answer = self._pairs[number - 1]
            if done == action:
                told = one_line(answer)
                return Known(number, told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…")
        return None


def shortened(text: str, most: int | None, announcement: str) -> str:
    """``text``, cut after at most ``most`` characters, and the rest announced.

    It is cut at the end of a line or sentence if one ends in the second half, else between words, else anywhere.
    ``announcement`` holds ``{count}``, the number of characters left out.
    """
    if most is None or len(text) <= most:
        return text
    head = text[: most + 1]  # with the next one, which says whether a word ends there
    spaced = [head.rfind(mark) + 1 for mark in (". ", "! ", "? ")]
    end = max(head.rfind("\n"), *spaced, *(head.rfind(mark, 0, most) + 1 for mark in "。！？"))
    if end < most // 2:
        end = max(head.rfind(" "), head.rfind("\n"))
    kept = text[: end if end > 0 else most].rstrip()
    return f"{kept}\n{announcement.format(count=len(text) - len(kept))}"
