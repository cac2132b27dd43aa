"""PDDL's outer form: lists in lists, of words.

As in the Fast Downward translator, text is ASCII, letters are lower-cased and ``;`` starts a comment. Whatever is not
of this form raises Unreadable.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from trialogue.envs.household.rules.conditions import ROOT, Typed, Unreadable

Expression: TypeAlias = "str | list[Expression]"

_DEEPEST = 60
_WORD = re.compile(r"[()]|\??[^\s()?]+")
_COMMENT = re.compile(r";[^\n]*")


def nested(text: str) -> list[Expression]:
    """The one list that ``text`` holds."""
    bare = _COMMENT.sub("", text).lower()
    if not bare.isascii():
        raise Unreadable("a character that is not ASCII outside comments")
    outer: list[Expression] = []
    open_lists = [outer]
    for word in _WORD.findall(bare):
        if word == "(":
            inner: list[Expression] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
            if len(open_lists) > _DEEPEST:
                raise Unreadable(f"lists nested more than {_DEEPEST} deep")
        elif word != ")":
            open_lists[-1].append(word)
        elif len(open_lists) == 1:
            raise Unreadable("a ')' too many")
        else:
            open_lists.pop()
    if len(open_lists) > 1:
        raise Unreadable("a ')' is missing")
    if len(outer) != 1:
        raise Unreadable(f"expected one list; found {len(outer)}")
    return list_of(outer[0])


def typed_list(expression: Expression) -> tuple[Typed, ...]:
    """``a b - mug c`` are two of type mug and one of type object."""
    words = [word_of(entry) for entry in list_of(expression)]
    found: list[Typed] = []
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word != "-":
            names.append(word)
            continue
        kind = next(rest, "")
        found += [Typed(name, kind) for name in names]
        names = []
    return (*found, *(Typed(name, ROOT) for name in names))


def exactly(entry: list[Expression], length: int) -> list[Expression]:
    if len(entry) != length:
        raise Unreadable(f"{word_of(entry[0])} takes {length - 1} parts; found {len(entry) - 1}")
    return entry[1:]


def word_of(expression: Expression) -> str:
    if not isinstance(expression, str):
        raise Unreadable("expected a word; found a list")
    return expression


def list_of(expression: Expression) -> list[Expression]:
    if not isinstance(expression, list):
        raise Unreadable(f"expected a list; found {expression[:80]!r}")
    return expression
