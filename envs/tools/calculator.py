"""Arithmetic on text. Nothing is evaluated as code: the expression is read by a grammar of its own.

    sum    = term  { ("+" | "-") term }
    term   = sign  { ("*" | "/" | "//" | "%") sign }
    sign   = { "+" | "-" } power
    power  = atom [ ("**" | "^") sign ]
    atom   = number | name "(" sum { "," sum } ")" | "(" sum ")"

Precedence and results are Python's, integers exact; ``^`` is a power here. Length, nesting, exponents and the size of
results are bounded.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from trialogue.envs.tools.tool import ToolFailure, echo

Number = int | float

LONGEST = 500  # characters of an expression
_DEEPEST = 50  # brackets and signs within each other
_MOST_BITS = 2048  # of an integer result
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(rf"\s*({_NUMBER}|[a-z]+|\*\*|//|[-+*/%^(),])", re.ASCII)
_SAME = {"×": "*", "÷": "/", "−": "-", "·": "*"}


class _Unreadable(ToolFailure):
    pass


def calculate(expression: str) -> Number:
    """The value of an arithmetic expression. Raises ToolFailure that says what is wrong with it."""
    if len(expression) > LONGEST:
        raise ToolFailure(f"an expression has at most {LONGEST} characters; this one has {len(expression)}")
    text = "".join(_SAME.get(character, character) for character in expression)
    try:
        return _checked(_Reading(text).value())
    except ZeroDivisionError:
        raise ToolFailure(f"division by zero in {echo(expression)}") from None
    except (OverflowError, ValueError) as error:
        raise ToolFailure(f"{echo(expression)} cannot be worked out: {error}") from None


def written(value: Number) -> str:
    """A result as text: integers in full, others with 12 significant digits."""
    return str(value) if isinstance(value, int) else format(value, ".12g")


class _Reading:
    """One pass over the tokens, from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._at, self._depth = text, _tokens(text), 0, 0

    def value(self) -> Number:
        value = self._sum()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return value

    def _sum(self) -> Number:
        return self._chain({"+": operator.add, "-": operator.sub}, self._term)

    def _term(self) -> Number:
        by = {"*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod}
        return self._chain(by, self._sign)

    def _chain(self, by: dict[str, Callable[[Number, Number], Number]], part: Callable[[], Number]) -> Number:
        value = part()
        while (token := self._peek()) in by:
            self._at += 1
            value = _checked(by[token](value, part()))
        return value

    def _sign(self) -> Number:
        if self._peek() not in ("+", "-"):
            return self._power()
        sign = self._take()
        value = self._within(self._sign)
        return -value if sign == "-" else value

    def _power(self) -> Number:
        base = self._atom()
        if self._peek() not in ("**", "^"):
            return base
        self._at += 1
        return _power(base, self._within(self._sign))

    def _atom(self) -> Number:
        part = self._take()
        if part == "(":
            value = self._within(self._sum)
            self._expect(")")
            return value
        if part in _FUNCTIONS:
            return self._function(part)
        if part[0].isdigit() or part[0] == ".":
            return int(part) if part.isdigit() else _checked(float(part))
        self._at -= 1
        raise self._unexpected()

    def _function(self, name: str) -> Number:
        self._expect("(")
        values = [self._within(self._sum)]
        while self._peek() == ",":
            self._at += 1
            values.append(self._within(self._sum))
        self._expect(")")
        return _FUNCTIONS[name](values)

    def _within(self, part: Callable[[], Number]) -> Number:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unreadable(f"nested deeper than {_DEEPEST} levels")
        value = part()
        self._depth -= 1
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise self._unexpected()
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise self._unexpected(f"; expected {token!r}")
        self._at += 1

    def _unexpected(self, more: str = "") -> _Unreadable:
        found = echo(self._peek()) if self._peek() else "the end"
        return _Unreadable(f"not an expression at {found}{more}: {echo(self._text)}")


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (match[1].isalpha() and match[1] not in _FUNCTIONS):
            found = text[at:].lstrip()[:20] if match is None else match[1]
            raise _Unreadable(
                f"not an expression at {echo(found)}; numbers, + - * / // % ^ ( ) and {', '.join(_FUNCTIONS)} are known"
            )
        tokens.append(match[1])
        at = match.end()
    return tokens


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        if base.bit_length() * abs(exponent) > _MOST_BITS and base not in (-1, 0, 1):
            raise ToolFailure("the result of a power is too large")
        whole: Number = base**exponent
        return whole
    value: float | complex = float(base) ** float(exponent)
    if isinstance(value, complex):
        raise ToolFailure("a power of a negative number has no real value here")
    return value


def _checked(value: Number) -> Number:
    if isinstance(value, int):
        if value.bit_length() > 2 * _MOST_BITS:
            raise ToolFailure("the result is too large")
    elif not math.isfinite(value):
        raise ToolFailure("the result is too large")
    return value


def _one(function: Callable[[Number], Number]) -> Callable[[list[Number]], Number]:
    def of_one(values: list[Number]) -> Number:
        if len(values) != 1:
            raise ToolFailure(f"expected one argument in a function; got {len(values)}")
        return function(values[0])

    return of_one


def _round(values: list[Number]) -> Number:
    if len(values) == 1:
        return round(values[0])
    digits = values[1]
    if len(values) > 2 or not isinstance(digits, int) or abs(digits) > 30:
        raise ToolFailure("round takes a number and, optionally, how many digits (at most 30)")
    return round(values[0], digits)


_FUNCTIONS: dict[str, Callable[[list[Number]], Number]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "round": _round,
    "abs": _one(abs),
    "sqrt": _one(math.sqrt),
}
