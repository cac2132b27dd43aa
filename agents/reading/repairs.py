"""Repairs of one command. Each is recorded, and none changes the verb's meaning or the object.

A repair counts only if it makes the command admissible or, failing that, makes a command that fits no template fit one.
Otherwise the command goes to the environment as it is, which explains it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence

from trialogue.agents.contract import Liberty
from trialogue.agents.reading.language import Language, closing

Accept = Callable[[str], str | None]
"""Gives the accepted wording of a command (its case and spacing may differ), or None."""

Mend = Callable[[str], str]

_LONGEST = 2000  # characters; nothing longer is a command that could be mended
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」"}
_TRAILING = re.compile(r"(?:[.;,:!]\s|\s[(—–-]\s?|\s(?:because|since|so that|in order to)\s).*", re.I | re.S)
_THING = r"(\S|\S.*\S)"
_PUT_DOWN = tuple(
    re.compile(rf"{verb} {_THING} {to} {_THING}", re.I)
    for verb, to in (("put", "in/on"), ("move", "to"), ("put", "in"), ("put", "on"))
)
"""Wordings of one act in the household's dialects (json_2.1.1 and later) and what models make of them."""


def repair(command: str, language: Language) -> tuple[str, tuple[Liberty, ...]]:
    """``command`` as the language has it, and what was altered; unchanged when no repair makes it a command."""
    if language.is_admissible(command) or len(command) > _LONGEST or not language.could_mean(command):
        return command, ()
    repaired = _towards(language.admissible_form, _ALL, command) if language.admissible else None
    return repaired or _towards(language.template_form, _OUTER, command) or (command, ())


def _towards(accept: Accept, mends: Sequence[tuple[str, Mend]], command: str) -> tuple[str, tuple[Liberty, ...]] | None:
    liberties: list[Liberty] = []
    for kind, mend in mends:
        if accept(command) is not None:
            break
        mended = mend(command)
        if mended != command:
            again = bool(liberties) and liberties[-1].kind == kind
            before = liberties.pop().before if again else command
            liberties.append(Liberty(kind, before, mended))
            command = mended
    accepted = accept(command)
    if accepted is None:
        return None
    if accepted != command:
        kind = "case" if accepted.casefold() == command.casefold() else "white_space"
        liberties.append(Liberty(kind, command, accepted))
    return accepted, tuple(liberties)


def _prompt_mark(command: str) -> str:
    return re.sub(r"^(?:>\s*)+", "", command)


def _markdown(command: str) -> str:
    """Takes off emphasis, code marks and headings; not bullets, which would make a list of options a command."""
    return re.sub(r"^(?:[*_`]+(?=\S)|`+\s+|#+\s*)+", "", command).rstrip(f"{string.whitespace}*_`")


def _quotes(command: str) -> str:
    while len(command) > 1 and _QUOTES.get(command[0]) == command[-1]:
        command = command[1:-1].strip()
    return command


def _white_space(command: str) -> str:
    return " ".join(command.split())


def _full_stop(command: str) -> str:
    return command.rstrip(" .。!")


def _article(command: str) -> str:
    return command if "[" in command else re.sub(r"\b(?:the|an|a)\s+(?=\w)", "", command, flags=re.I)


def _numbering(command: str) -> str:
    """``mug1``, ``mug_1``, ``mug-1`` and ``mug #1`` are ``mug 1``."""
    return command if "[" in command else re.sub(r"(?<=[A-Za-z])(?:[_-]|\s?#)?(?=\d+(?:\s|$))", " ", command)


def _trailing_text(command: str) -> str:
    """Cuts after the first argument in brackets, or else after the first clause."""
    opening = command.find("[")
    if opening < 0:
        return _TRAILING.sub("", command)
    return command[: closing(command, opening + 1) + 1]


def _reworded(target: str) -> Mend:
    """The same act of putting down, worded as ``target``; any other command as it is."""

    def mend(command: str) -> str:
        for wording in _PUT_DOWN:
            found = wording.fullmatch(command)
            if found:
                return target.format(*found.groups())
        return command

    return mend


_LAYER: tuple[tuple[str, Mend], ...] = (("markdown", _markdown), ("quotes", _quotes), ("full_stop", _full_stop))
_DRESS = (("prompt_mark", _prompt_mark), *_LAYER, *_LAYER, *_LAYER)
_TRAIL = ("trailing_text", _trailing_text)
_DIALECT: tuple[tuple[str, Mend], ...] = (
    ("dialect", _reworded("put {} in/on {}")),
    ("dialect", _reworded("move {} to {}")),
)
_OUTER = (*_DRESS, _TRAIL, *_DIALECT)
"""Repairs that leave arguments alone: all that may be done where nothing lists the objects."""
_ALL = (
    *_DRESS,
    ("white_space", _white_space),
    _TRAIL,
    ("article", _article),
    ("numbering", _numbering),
    *_DIALECT,
)
