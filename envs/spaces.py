"""Spaces of text: what may be observed, and what may be done.

Gymnasium's own ``Text`` accepts letters and digits only by default, and its shared memory for vector
environments returns "000..." for ever (Farama-Foundation/Gymnasium#1164). These spaces derive from ``Space``
itself, so that a vector environment either copies text properly or refuses with a clear error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Space


class TextSpace(Space[str]):
    """Any text of at most ``max_length`` characters; empty text and every script included."""

    def __init__(self, max_length: int = 1_000_000, seed: int | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        size = int(self.np_random.integers(0, min(80, self.max_length) + 1))
        return "".join(chr(int(c)) for c in self.np_random.integers(32, 127, size=size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace) and self.max_length == other.max_length

    def __repr__(self) -> str:
        return f"TextSpace({self.max_length})"


@dataclass(frozen=True)
class Explanation:
    """Why a command is not possible now (``reason``, "" if it is possible), and the nearest one that is."""

    reason: str
    nearest: str | None


Explain = Callable[[str], str]


class ActionSpace(Space[str]):
    """Commands written as text.

    ``templates`` describe the command language (``go to {receptacle}``, ``search[{query}]``): a word in braces
    stands for one non-empty argument. ``admissible`` lists the commands of the moment where the
    environment can list them, else None. ``contains`` is true for text that is a command of the
    language; an environment still decides at each step whether it is possible now.
    """

    def __init__(self, templates: Iterable[str], seed: int | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)
        self._speak(templates)
        self.admissible: tuple[str, ...] | None = None
        self._explain: Explain | None = None

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def update(
        self, admissible: Sequence[str] | None, explain: Explain | None = None, templates: Sequence[str] | None = None
    ) -> None:
        """Called by the environment after each step: the commands of the moment, and who can explain others.

        ``templates`` is given where the command language depends on the task.
        """
        self.admissible = None if admissible is None else tuple(admissible)
        self._explain = explain
        if templates is not None and tuple(templates) != self.templates:
            self._speak(templates)

    def contains(self, x: Any) -> bool:
        if not isinstance(x, str):
            return False
        if self.admissible is not None and x in self.admissible:
            return True
        return any(pattern.fullmatch(x) for pattern in self._patterns)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """An admissible command, uniformly; before the first reset, or without a list, a filled template."""
        if self.admissible:
            return self.admissible[int(self.np_random.integers(len(self.admissible)))]
        template = self.templates[int(self.np_random.integers(len(self.templates)))]
        return re.sub(r"\{[^{}]*\}", "something", template)

    def explain(self, command: str) -> Explanation:
        """Why ``command`` is not possible now, and the nearest admissible command."""
        if self.admissible is not None and command in self.admissible:
            return Explanation("", command)
        near = difflib.get_close_matches(command, self.admissible or (), n=1, cutoff=0.0)
        nearest = near[0] if near else None
        if self._explain is not None:
            return Explanation(self._explain(command), nearest)
        if not self.contains(command):
            return Explanation(f"not a command here; commands are: {', '.join(self.templates)}", nearest)
        return Explanation("" if self.admissible is None else "not possible now", nearest)

    def _speak(self, templates: Iterable[str]) -> None:
        self.templates = tuple(templates)
        self._patterns = [_pattern(template) for template in self.templates]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace) and self.templates == other.templates

    def __repr__(self) -> str:
        return f"ActionSpace({list(self.templates)!r})"


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^{}]*\}", template)
    return re.compile(r"(.+)".join(re.escape(part) for part in parts), re.DOTALL)
