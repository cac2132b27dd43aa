"""Is an episode going round in circles? Decided from actions and observations alone."""

from __future__ import annotations

from collections.abc import Sequence


def is_stuck(pairs: Sequence[tuple[str, str]], *, cycle: int = 4, repeats: int = 3) -> bool:
    """Whether ``pairs`` (action, observation), oldest first, ends in a loop.

    A loop is a cycle of at most ``cycle`` pairs that came ``repeats`` times in a row, observations included: an
    action that is answered differently is no loop, and neither is looking twice. Raises ValueError
    when ``cycle`` is below 1 or ``repeats`` below 2 (everything would be a loop).
    """
    if cycle < 1 or repeats < 2:
        raise ValueError(f"expected cycle >= 1 and repeats >= 2, got cycle={cycle} and repeats={repeats}")
    return any(_repeats(pairs, length, repeats) for length in range(1, cycle + 1))


def _repeats(pairs: Sequence[tuple[str, str]], length: int, times: int) -> bool:
    span = length * times
    if len(pairs) < span:
        return False
    tail = pairs[len(pairs) - span :]
    return all(tail[index] == tail[index - length] for index in range(length, span))
