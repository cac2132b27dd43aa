"""The command language of the moment: templates, admissible commands, dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

_HOLE = re.compile(r"\{([^{}]*)\}")
_FIRST_WORD = re.compile(r"\W*(\w*).*", re.DOTALL)
_BRACKET = re.compile(r"[\[\]]")
_FINISH = "finish"
_LONGEST = 2000
_REWORDED = {"put", "move"}
"""Verbs that may be one act in two dialects."""


@dataclass(frozen=True)
class Template:
    """One form of command: ``go to {receptacle}`` or, bracketed, ``search[{query}]``.

    The argument of a bracketed form is any one-line text whose own brackets are balanced, also none; that of a
    plain form is any non-empty one-line text. Nothing longer than 2000 characters is a command with several arguments.
    """

    text: str

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(_HOLE.findall(self.text))

    @cached_property
    def bracketed(self) -> bool:
        return self.text.endswith("}]") and len(self.parameters) == 1

    @cached_property
    def head(self) -> str:
        """What stands before the first argument: ``go to``, ``search``."""
        return self.text.partition("{")[0].rstrip(" [")

    @cached_property
    def verb(self) -> str:
        return self.head.partition(" ")[0]

    def fill(self, *arguments: str) -> str:
        """The command with ``arguments`` in their places, one for each parameter."""
        values = iter(arguments)
        return _HOLE.sub(lambda _: next(values), self.text)

    def match(self, command: str) -> tuple[str, ...] | None:
        """The arguments of ``command``, whatever the case and spacing of the form's own words; None if it differs."""
        if len(command) > _LONGEST and len(self.parameters) > 1:
            return None
        found = self._pattern.fullmatch(command)
        if found is None or (self.bracketed and not balanced(found[1])):
            return None
        return found.groups()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        argument = r"([^\n]*)" if self.bracketed else r"(\S|\S[^\n]*\S)"
        words = [r"\s+".join(map(re.escape, part.split(" "))) for part in _HOLE.split(self.text)[::2]]
        own = argument.join(words)
        return re.compile(own.replace(r"\[", r"\s*\[", 1) if self.bracketed else own, re.IGNORECASE)


@dataclass(frozen=True)
class Language:
    """What may be said now. ``admissible`` is None where the environment cannot list its commands."""

    templates: tuple[str, ...]
    admissible: tuple[str, ...] | None = None
    dialect: str = ""

    @property
    def forms(self) -> tuple[Template, ...]:
        return _forms(self.templates)

    @property
    def functions(self) -> Mapping[str, Template]:
        """The forms as functions, by name."""
        return functions_of(self.templates)

    @property
    def finish(self) -> Template | None:
        """The form that ends an episode with an answer (``finish[{answer}]``), where the language has one."""
        return next((form for form in self.forms if form.verb == _FINISH and len(form.parameters) == 1), None)

    @property
    def plain(self) -> bool:
        """Whether some commands are plain words (``look``), not only ``verb[argument]``."""
        return any(not form.bracketed for form in self.forms)

    @cached_property
    def listed(self) -> Mapping[str, str]:
        """The admissible commands by their case-folded text; those that differ in case only are left out."""
        by_fold: dict[str, str | None] = {}
        for command in dict.fromkeys(self.admissible or ()):
            by_fold[command.casefold()] = None if command.casefold() in by_fold else command
        return {fold: command for fold, command in by_fold.items() if command is not None}

    def is_admissible(self, command: str) -> bool:
        return self.admissible is not None and command in self.admissible

    def admissible_form(self, command: str) -> str | None:
        """The admissible command that ``command`` is, in the environment's casing; None if it is none."""
        return command if self.is_admissible(command) else self.listed.get(command.casefold())

    def template_form(self, command: str) -> str | None:
        """``command`` in the casing and spacing of the template it fits, its arguments as they are; None if none."""
        folded = command.casefold()
        for form in self.forms:
            arguments = form.match(command) if form.verb.casefold() in folded else None
            if arguments is not None:
                return form.fill(*arguments)
        return None

    def could_mean(self, text: str) -> bool:
        """Whether the first word of any command stands in ``text``: where none does, no repair makes it one."""
        folded = text.casefold()
        return any(word in folded for word in self._first_words)

    @cached_property
    def _first_words(self) -> frozenset[str]:
        commands = [*(form.verb for form in self.forms), *(self.admissible or ())]
        return frozenset(_FIRST_WORD.sub(r"\1", command.casefold()) for command in commands) | _REWORDED

    def accepts(self, command: str) -> bool:
        """Whether ``command`` is admissible or fits a template exactly as it stands."""
        return self.is_admissible(command) or self.template_form(command) == command

    def has_verb(self, command: str) -> bool:
        """Whether ``command`` begins with the first word of a plain template, or with ``verb[`` of a bracketed one."""
        found = re.match(r"\s*([^\s\[]+)\s*(\[)?", command)
        if found is None:
            return False
        word, bracket = found[1].casefold(), bool(found[2])
        return any(word == form.verb.casefold() and bracket >= form.bracketed for form in self.forms)

    def example(self) -> str:
        """A form of command to show: the first with an argument. Never an admissible command, which would be a hint."""
        forms = [form.text for form in self.forms if form.parameters] or list(self.templates)
        return forms[0] if forms else "look"


@lru_cache(maxsize=256)
def _forms(templates: tuple[str, ...]) -> tuple[Template, ...]:
    return tuple(map(Template, templates))


@lru_cache(maxsize=256)
def functions_of(templates: tuple[str, ...]) -> Mapping[str, Template]:
    """The forms by the names of functions: their own words, with a number where two forms share them."""
    named: dict[str, Template] = {}
    for form in _forms(templates):
        words = re.findall(r"[A-Za-z0-9]+", _HOLE.sub(" ", form.text))
        name = "_".join(words)[:60] or "say"
        same = sum(known == name or known.startswith(f"{name}__") for known in named)
        named[f"{name}__{same + 1}" if same else name] = form
    return named


def balanced(text: str) -> bool:
    """Whether the square brackets of ``text`` are balanced."""
    return text.count("[") == text.count("]") and closing(text, 0) == len(text)


def closing(text: str, start: int) -> int:
    """The place of the bracket that closes one opened just before ``start``; the end of ``text`` where none does."""
    depth = 1
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found[0] == "[" else -1
        if depth == 0:
            return found.start()
    return len(text)
