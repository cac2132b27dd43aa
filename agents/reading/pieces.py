"""Cuts a reply into pieces by its labels: thought, action, action input, observation, answer, or none ("loose").

Read are ``Thought 1: …`` / ``Action 1: …``, ``> think: …`` and ``think[…]`` (the formats of ReAct, Yao et al. 2023),
and such labels in markdown, in quoted lines, with full-width colons or in Chinese; also in the middle of a line, where
a sentence ended.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from trialogue.agents.reading.language import closing

PieceKind = Literal["thought", "action", "input", "observation", "answer", "loose"]

_WORDS: dict[PieceKind, str] = {
    "input": r"action[ _]?input|(?:行动|动作)输入",
    "thought": r"thoughts?|think(?:ing)?|思考|想法",
    "action": r"action|行动|动作",
    "observation": r"observations?|观察结果|观察|观测",
    "answer": r"(?:final[ _])?answer|最终答案|答案",
}
_ANY = "|".join(f"(?P<{kind}>{words})" for kind, words in _WORDS.items())
_NUMBER = r"[\s*_]{0,8}(?:[#(]?\d{1,4}\)?)?[\s*_]{0,8}"
_LABEL = re.compile(rf"(?:>\s{{0,8}}){{0,8}}[*_#\s]{{0,16}}(?:{_ANY}){_NUMBER}[:：](?P<rest>.*)", re.I | re.S)
_HEADING = re.compile(rf"(?:#{{1,6}}\s{{0,8}}[*_]{{0,4}}|\*\*|__)(?:{_ANY}){_NUMBER}(?P<rest>)", re.I)
_PLAIN = re.compile(r"(?:> ?)?(?:think|(?:Thought|Action|Action Input|Observation|Final Answer)(?: \d+)?):")
_INLINE = re.compile(
    r"(?:(?<=\s)|(?<=[。！？]))(?=\*{0,2}(?:(?:Thought|Action(?: Input)?|Observation|Final Answer)|思考|行动|观察)"
    r"[\s*]{0,3}\d{0,4}[\s*]{0,3}[:：])"
)
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？", "]", ")", '"', "”")
_THINK = re.compile(r"(?:>\s{0,8}){0,8}think\s{0,8}\[", re.I)
_FENCE = re.compile(r"(?:```|~~~)\s*[\w+-]*")
_EXAMPLE = re.compile(r"(?:.*\b(?:for example|for instance|such as|e\.g\.)|\W*examples?)[\s:,*]*", re.I)


@dataclass(frozen=True)
class Piece:
    """One line, or what a label stands before in it. ``plain`` labels are written just as the formats define them."""

    kind: PieceKind
    text: str
    label: str = ""
    plain: bool = True
    fenced: bool = False

    @property
    def marked(self) -> bool:
        """Whether the line begins with the prompt's ``>`` and so is a new command of an invented episode."""
        return self.kind == "loose" and self.text.lstrip().startswith(">")


def pieces_of(text: str, most: int) -> list[Piece]:
    """The first ``most`` pieces of ``text`` in order, empty loose lines and fences left out."""
    pieces = (piece for line, fenced in _lines(text) for piece in _pieces_of_line(line, fenced))
    return list(itertools.islice(pieces, most))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether they stand in a fence; what follows an introduced example, to its end, is left out."""
    fenced = quoted = False
    before = ""
    for line in re.split(r"\r\n|\r|\n", text):
        fence = _FENCE.fullmatch(line.strip()) is not None
        if quoted and (fence or not line.strip()):
            quoted = fence and not fenced
        elif not quoted:
            quoted = bool(line.strip()) and before.endswith(":") and _EXAMPLE.fullmatch(before) is not None
        fenced = fenced != fence
        if not quoted and not fence and line.strip():
            yield line, fenced
        before = line.strip() or before


def _pieces_of_line(line: str, fenced: bool) -> Iterator[Piece]:
    starts = list(_starts(line))
    for start, end in zip([0, *starts], [*starts, len(line)], strict=True):
        thought, part = _thinking(line[start:end].strip())
        if thought:
            yield thought
        if part:
            yield _piece(part, fenced)


def _thinking(part: str) -> tuple[Piece | None, str]:
    """The thought that ``part`` begins with, if that is written ``think[…]`` (it may not be closed), and the rest."""
    begun = _THINK.match(part)
    if begun is None:
        return None, part
    end = closing(part, begun.end())
    rest = part[end + 1 :].strip()
    return Piece("thought", part[begun.end() : end].strip(), "think[]"), rest if re.search(r"\w", rest) else ""


def _starts(line: str) -> Iterator[int]:
    """Where a label in the middle of ``line`` is meant: after a sentence or in a labelled line, never in quotes."""
    label = _LABEL.match(line)
    quotes, last, last_bracket = _Quotes(), 0, line.rfind("]")
    for found in _INLINE.finditer(line):
        quotes.read(line[last : found.start()])
        last = found.start()
        before = line[:last].rstrip()
        ended = before.endswith(_SENTENCE_END) or (label is not None and label.start("rest") <= last)
        if before and ended and not quotes.open(closed_later=last < last_bracket):
            yield last


class _Quotes:
    """Whether the end of what was read stands in quotation marks, in code marks or in square brackets."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def read(self, text: str) -> None:
        for mark in ('"', '\\"', "`", "“", "”", "[", "]"):
            self._counts[mark] += text.count(mark)

    def open(self, *, closed_later: bool) -> bool:
        counts = self._counts
        straight = (counts['"'] - counts['\\"']) % 2 or counts["`"] % 2
        return bool(straight) or counts["“"] > counts["”"] or (closed_later and counts["["] > counts["]"])


def _piece(part: str, fenced: bool) -> Piece:
    while True:
        found = _LABEL.match(part) or _HEADING.fullmatch(part)
        if found is None:
            return _thinking(part)[0] or Piece("loose", part, fenced=fenced)
        label, rest = _undressed(part[: found.start("rest")], found["rest"])
        if found["action"] is None or not (_LABEL.match(rest) or _THINK.match(rest)):
            break
        part = rest  # "Action: Thought: …" is a thought
    kind = next(kind for kind in _WORDS if found[kind] is not None)
    return Piece(kind, rest, label, _PLAIN.match(part) is not None, fenced)


def _undressed(label: str, rest: str) -> tuple[str, str]:
    """A label and what follows it; the end of emphasis that begins in the label (``**Thought:** …``) goes with it."""
    bare = re.sub(r"^[*_]{1,4}", "", rest) if re.search(r"[*_]", label) else rest
    return (label + rest[: len(rest) - len(bare)]).strip(), bare.strip()


def is_thought(text: str) -> bool:
    """Whether ``text`` is a thought by its own label: it must never reach an environment."""
    return _piece(text.strip(), False).kind == "thought"
