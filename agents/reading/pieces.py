"""Cuts a reply into pieces by its labels: thought, action, action input, observation, answer, or none ("loose").

Read are ``Thought 1: …`` / ``Action 1: …``, ``> think: …`` and ``think[…]`` (the formats of ReAct, Yao et al. 2023),
and such labels in markdown, in quoted lines, with full-width colons or in Chinese; also in the middle of a line, where
a sentence ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

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
_LABEL = re.compile(
    rf"(?:>\s{{0,8}}){{0,8}}[*_#\s]{{0,16}}(?:{_ANY}){_NUMBER}[:：][*_]{{0,4}}(?P<rest>.*)", re.I | re.S
)
_HEADING = re.compile(rf"(?:#{{1,6}}\s{{0,8}}[*_]{{0,4}}|\*\*|__)(?:{_ANY}){_NUMBER}(?P<rest>)", re.I)
_PLAIN = re.compile(r"(?:> ?)?(?:think|(?:Thought|Action|Action Input|Observation|Final Answer)(?: \d+)?):")
_INLINE = re.compile(
    r"(?:(?<=\s)|(?<=[。！？]))(?=\*{0,2}(?:(?:Thought|Action(?: Input)?|Observation|Final Answer)|思考|行动|观察)"
    r"[\s*]{0,3}\d{0,4}[\s*]{0,3}[:：])"
)
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？", "]", ")", '"', "”")
_THINK = re.compile(r"(?:>\s{0,8}){0,8}think\s?\[(.*)\]\W{0,4}", re.I)
_FENCE = re.compile(r"\s*(?:```|~~~)\s*[\w+-]*\s*")
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


def pieces_of(text: str) -> list[Piece]:
    """The pieces of ``text`` in order, empty loose lines and fences left out."""
    return [piece for line, fenced in _lines(text) for piece in _pieces_of_line(line, fenced)]


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether they stand in a fence; what follows an introduced example, to its end, is left out."""
    fenced = quoted = False
    before = ""
    for line in re.split(r"\r\n|\r|\n", text):
        fence = _FENCE.fullmatch(line) is not None
        if quoted and (fence or not line.strip()):
            quoted = fence and not fenced
        elif not quoted:
            quoted = bool(line.strip()) and before.endswith(":") and _EXAMPLE.fullmatch(before) is not None
        fenced = fenced != fence
        if not quoted and not fence and line.strip():
            yield line, fenced
        before = line.strip() or before


def _pieces_of_line(line: str, fenced: bool) -> Iterator[Piece]:
    starts = [match.start() for match in _INLINE.finditer(line) if _may_begin(line, match.start())]
    for start, end in zip([0, *starts], [*starts, len(line)], strict=True):
        part = line[start:end].strip()
        if part:
            yield _piece(part, fenced)


def _may_begin(line: str, position: int) -> bool:
    """Whether a label in the middle of a line is meant: after a sentence or in a labelled line, and not in quotes."""
    before = line[:position].rstrip()
    quoted = before.count('"') % 2 or before.count("`") % 2 or before.count("“") > before.count("”")
    return bool(before) and not quoted and (before.endswith(_SENTENCE_END) or _LABEL.match(before) is not None)


def _piece(part: str, fenced: bool) -> Piece:
    found = _LABEL.fullmatch(part) or _HEADING.fullmatch(part)
    if found is None:
        thought = _THINK.fullmatch(part)
        return Piece("thought", thought[1], "think[]") if thought else Piece("loose", part, fenced=fenced)
    kind = next(kind for kind in _WORDS if found[kind] is not None)
    rest = found["rest"].strip()
    if kind == "action" and (_LABEL.match(rest) or _THINK.fullmatch(rest)):
        return _piece(rest, fenced)
    label = part[: found.start("rest")].strip()
    return Piece(kind, rest, label, _PLAIN.match(part) is not None, fenced)


def is_thought(text: str) -> bool:
    """Whether ``text`` is a thought by its own label: it must never reach an environment."""
    return _piece(text.strip(), False).kind == "thought"
