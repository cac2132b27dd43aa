"""What a lost household episode showed that helps in the next, as a text that can be read back."""

from __future__ import annotations

import re
from dataclasses import dataclass

_THING = r"[a-z]+ \d+"
_VAIN = "Nothing in: "


@dataclass(frozen=True)
class Lesson:
    """``vain``: receptacles that held nothing wanted; ``found``: wanted things, and where they lay at first."""

    vain: tuple[str, ...]
    found: tuple[tuple[str, str], ...]

    def told(self) -> str:
        """On one line; "" where there is nothing to tell."""
        sentences = [f"{thing} is at {place}." for thing, place in self.found]
        if self.vain:
            sentences.append(f"{_VAIN}{'; '.join(self.vain)}.")
        return " ".join(sentences)

    @classmethod
    def read(cls, text: str) -> Lesson:
        """What ``text`` tells of it; nothing for a text that tells nothing."""
        found = re.findall(rf"({_THING}) is at ({_THING})\.", text)
        vain = re.search(rf"{_VAIN}((?:{_THING}(?:; )?)+)\.", text)
        return cls(tuple(vain[1].split("; ")) if vain else (), tuple(found))
