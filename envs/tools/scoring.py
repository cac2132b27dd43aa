"""How a numeric answer is scored.

An answer holds exactly one number: a sign, thousands in commas, a decimal point; words and units around it are left
aside ("1,204.50 crowns", "about 12 km"). It is right if it differs from the true value by at most 0.01, or by at most
one part in 10,000 of it, whichever is more: rounding to two decimals is right, and so are five significant digits.
"""

from __future__ import annotations

import re

ABSOLUTE, RELATIVE = 0.01, 1e-4
_NUMBER = re.compile(
    r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,2})?"
    r"(?![eE][+-]?\d|[.,]?\d)",  # else the beginning of 1,2345 or of 1.2.3 would be read as a number
    re.ASCII,
)


def number_in(answer: str) -> float | None:
    """The number of ``answer``; None if it holds none, or several."""
    found = _NUMBER.findall(answer[:1000].replace("−", "-"))
    return float(found[0].replace(",", "")) if len(found) == 1 else None


def right(given: float, gold: float) -> bool:
    """Whether ``given`` is close enough to ``gold``."""
    return abs(given - gold) <= max(ABSOLUTE, RELATIVE * abs(gold)) + 1e-9
