"""One measured figure, with what it is compared with in the same run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """``value`` in ``unit``; ``reference`` is what it is measured against, None where there is nothing.

    ``ratio`` is how many times better than the reference it is, or, without one, None. ``aim`` says what was aimed at.
    """

    name: str
    value: float
    unit: str
    reference: float | None = None
    ratio: float | None = None
    aim: str = ""
    note: str = ""
