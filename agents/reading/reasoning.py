"""Takes the reasoning of a reasoning model out of its reply: nothing inside is ever an action.

Such blocks are written ``<think>…</think>`` (DeepSeek-R1, Qwen3), ``<thinking>``, ``<reasoning>``, ``<thought>``,
``[THINK]…[/THINK]`` (Magistral; only in capitals, for ``search[think]`` is a command) or ``◁think▷…◁/think▷`` (Kimi).
The opening mark may have stood in the prompt, and the closing one may never have come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = "think|thinking|reasoning|reason|thought|thoughts|reflection|scratchpad|analysis"
_GAP = r"[ \t]{0,8}"  # a mark stands on one line
_MARK = re.compile(
    rf"[<◁]{_GAP}(?P<close>/)?{_GAP}(?:{_NAMES})(?:[ \t][^<>\r\n]{{0,80}})?{_GAP}[>▷]|\[(?P<square>/)?(?-i:THINK)\]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Visible:
    """``text`` is what remains outside reasoning, ``reasoning`` what was inside."""

    text: str
    reasoning: str


def strip_reasoning(reply: str) -> Visible:
    """Parts ``reply`` into what was said and what was only reasoned.

    Text before a closing mark without an opening one is reasoning, and so is all text after an opening mark that
    is not closed. Marks may be nested.
    """
    said: list[str] = []
    reasoned: list[str] = []
    depth, start = 0, 0
    for mark in _MARK.finditer(reply):
        piece, start = reply[start : mark.start()], mark.end()
        closing = bool(mark["close"] or mark["square"])
        if closing and depth == 0:
            reasoned += [*said, piece]
            said = []
        else:
            (reasoned if depth else said).append(piece)
        depth = max(depth - 1, 0) if closing else depth + 1
    (reasoned if depth else said).append(reply[start:])
    # A space, so that what stood before a block and after it does not become one word.
    return Visible(" ".join(said), "".join(reasoned).strip())
