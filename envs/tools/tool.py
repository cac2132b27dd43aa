"""A plain typed Python function as a tool: its name, signature and docstring are what a model is told."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, PydanticUserError, ValidationError, create_model

from trialogue.errors import UsageError

_LONGEST_ECHO = 200  # characters of a wrong value that are shown back


class ToolFailure(Exception):
    """Raised by a tool that cannot answer: its message is the observation, and the call counts as not accepted."""


class BadArguments(ValueError):
    """Arguments that do not fit a tool; the message is fit for the model. The tool has not been run."""


@dataclass(frozen=True)
class Tool:
    """``run`` is called with checked keyword arguments. ``dangerous`` calls must be confirmed.

    ``signature`` is told in the notation of a call: ``buy[option, count: int = 1]``. ``next`` is what to try when a
    result is empty.
    """

    name: str
    run: Callable[..., Any]
    manual: str
    signature: str
    arguments: type[BaseModel]
    next: str = ""
    dangerous: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], *, name: str = "", next: str = "", dangerous: bool = False) -> Tool:
        """The tool that ``function`` makes: each parameter annotated and nameable, with a docstring.

        Raises UsageError for a function that is not.
        """
        name = name or function.__name__
        signature = inspect.signature(function)
        manual = inspect.getdoc(function)
        if not name.isidentifier() or not manual:
            raise UsageError(f"the tool {name!r} needs a plain name and a docstring, which is its manual.")
        if inspect.iscoroutinefunction(function):
            raise UsageError(f"the tool {name!r} must be a plain function; got an async one.")
        arguments = _arguments(name, function, signature)
        shown = ", ".join(map(_shown, signature.parameters.values()))
        return cls(name, function, manual, f"{name}[{shown}]", arguments, next, dangerous)

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.arguments.model_fields)

    @property
    def template(self) -> str:
        """As a command: ``lookup[{table, row}]``. Several arguments are one text between the brackets."""
        return f"{self.name}[{{{', '.join(self.parameters)}}}]" if self.parameters else f"{self.name}[]"

    @property
    def schema(self) -> dict[str, Any]:
        """The tool in OpenAI's format for function calls (parameters as JSON Schema)."""
        parameters = self.arguments.model_json_schema() | {"additionalProperties": False}
        parameters.pop("title", None)
        function = {"name": self.name, "description": self.manual, "parameters": parameters}
        return {"type": "function", "function": function}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``given`` in the types that the function asks for. Raises BadArguments that names each one that is wrong."""
        try:
            checked = self.arguments.model_validate(dict(given))
        except ValidationError as error:
            faults = "; ".join(_fault(detail) for detail in error.errors()[:5])
            raise BadArguments(f"{self.signature}: {faults}") from None
        return {name: getattr(checked, name) for name in self.parameters}


def echo(value: Any, most: int = _LONGEST_ECHO) -> str:
    """A value as one line of printable text, cut at ``most`` characters."""
    text = repr(value[:most] if isinstance(value, str) else value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _arguments(name: str, function: Callable[..., Any], signature: inspect.Signature) -> type[BaseModel]:
    """The model that checks a call: nothing but the parameters, each of its type; a number will do for text."""
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    try:
        hints = typing.get_type_hints(function)
        fields = {p.name: (hints.get(p.name), _default(name, p, hints)) for p in signature.parameters.values()}
        model: type[BaseModel] = create_model(name, __config__=config, **fields)  # type: ignore[call-overload]
    except (NameError, TypeError, PydanticUserError) as error:
        raise UsageError(f"the tool {name!r} has a parameter that cannot be checked: {error}") from error
    return model


def _default(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    nameable = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    if not nameable or parameter.name not in hints or parameter.name.startswith("_"):
        raise UsageError(f"the tool {tool!r} needs plain parameters with a type each; got {str(parameter)!r}.")
    return ... if parameter.default is parameter.empty else parameter.default


def _shown(parameter: inspect.Parameter) -> str:
    """As in Python, but for the type of text, which needs no saying."""
    return str(parameter).replace("'", "").removesuffix(": str")


def _fault(detail: Any) -> str:
    place = ".".join(map(str, detail["loc"]))[:80]
    if detail["type"] == "missing":
        return f"{place} is missing"
    if detail["type"] == "extra_forbidden":
        return f"{place} is not a parameter"
    return f"{place}: {detail['msg'][:120]}, got {echo(detail['input'], 80)}"
