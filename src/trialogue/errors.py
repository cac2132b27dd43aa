"""Every error that Trialogue raises on purpose.

    TrialogueError
    ├── UsageError            the caller asked for something that cannot be (exit code 2)
    │   └── UnknownName       a name that nothing answers to; carries the nearest known ones
    ├── DataError             games, catalogues, exemplars or stores that are missing or broken
    ├── MissingExtra          an optional dependency is not installed; says how to install it
    ├── EnvError              an environment failed by itself (not: an invalid action)
    ├── BudgetSpent           a run may cost no more; it can go on with a higher bound
    └── ModelError            a model gave no usable answer; ``kind`` says why
        └── ContextOverflow   the prompt does not fit the model's window

A message says what was expected, what came, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

ModelErrorKind = Literal[
    "timeout",
    "connection",
    "rate_limit",
    "quota",
    "auth",
    "not_found",
    "bad_request",
    "server",
    "malformed",
    "script",
    "context_overflow",
    "interrupted",
]


class TrialogueError(Exception):
    """Base of all errors that are raised on purpose."""


class UsageError(TrialogueError):
    """The caller asked for something that cannot be; the message says what would be possible."""


class UnknownName(UsageError):
    """``name`` is not a known ``kind``; the message offers the nearest of ``known``."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = sorted(known)
        near = nearest(name, self.known)
        hint = f" Did you mean {near!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {', '.join(self.known) or '(none)'}.")


class DataError(TrialogueError):
    """Data that is missing or broken; the message says what was looked for, where, and how to get it."""


class MissingExtra(TrialogueError):
    """``feature`` needs an optional dependency that is not installed. ``hint`` says how else to get it."""

    def __init__(self, feature: str, package: str, extra: str, hint: str = "") -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'trialogue[{extra}]'{f'. {hint}' if hint else ''}"
        )
        self.feature = feature
        self.extra = extra


class EnvError(TrialogueError):
    """An environment failed by itself. An invalid action is not an error: see ``info["valid"]``."""


class BudgetSpent(TrialogueError):
    """A bound of the whole run is reached. Nothing is lost: with a higher one, the same command goes on."""


class ModelError(TrialogueError):
    """A model gave no usable answer after the retries that ``kind`` allows."""

    def __init__(self, kind: ModelErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: ModelErrorKind = kind


class ContextOverflow(ModelError):
    """The prompt does not fit the model's window. Never retried: the answer cannot change."""

    def __init__(self, message: str) -> None:
        super().__init__("context_overflow", message)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, or None when none is close (difflib ratio below 0.6)."""
    matches = difflib.get_close_matches(name, list(known), n=1)
    return matches[0] if matches else None
