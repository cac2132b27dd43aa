"""Text that can be stored, sent and shown."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """``text`` with surrogate pairs joined; a lone surrogate, which no encoding takes, becomes U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """``text`` with each run of white space, line breaks included, as one space."""
    return " ".join(text.split())
