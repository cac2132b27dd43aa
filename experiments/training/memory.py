"""Memory that a training gives back and takes again with every layer is kept by the process."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt(3); malloc.h
_BIG = 1 << 30


def keep_memory() -> None:
    """glibc returns each big block to the system, which clears it before it gives it out again: a tenth of a training's
    time on a processor. Does nothing with another C library."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _BIG)
    mallopt(_TRIM_THRESHOLD, _BIG)
