"""A :class:`Constraint` in the languages that servers take: GBNF, a regular expression or choice list, a JSON schema.

The grammar must let a reply end: nothing may follow the line break in ``root ::= ("look" | "think: " [^\\n]+) "\\n"``.
A bound such as ``{1,300}`` on the free part would make llama.cpp's grammar engine take minutes; max_tokens bounds it.
Format of GBNF: llama.cpp, grammars/README.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from trialogue.agents.models.contract import Constraint
from trialogue.errors import UsageError


def check_constraint(constraint: Constraint) -> None:
    """Raises UsageError for a constraint that no reply, or no one-line reply, could meet."""
    texts = [*constraint.choices, *([] if constraint.free_prefix is None else [constraint.free_prefix])]
    if not texts:
        raise UsageError("a constraint needs at least one choice or a free_prefix; it has neither")
    for text in texts:
        if not text.strip() or "\n" in text or "\r" in text:
            raise UsageError(f"a constraint's choices must be single, non-empty lines; got {text!r}")


def permits(constraint: Constraint, text: str) -> bool:
    """Whether ``text`` (without surrounding white space) is what ``constraint`` allows."""
    if text in constraint.choices:
        return True
    return constraint.free_prefix is not None and text.startswith(constraint.free_prefix.strip()) and "\n" not in text


def gbnf(constraint: Constraint) -> str:
    """A grammar for llama.cpp. One leading space is allowed: after ``>`` models write ``" look"``, a single token."""
    options = [_tree(sorted(set(constraint.choices)))] if constraint.choices else []
    if constraint.free_prefix is not None:
        options.append(f"{_literal(constraint.free_prefix)} [^\\n]+")
    return f'root ::= " "? ({" | ".join(options)}) "\\n"'


def regular_expression(constraint: Constraint) -> str:
    """For vLLM's ``structured_outputs.regex``."""
    options = [re.escape(choice) for choice in constraint.choices]
    if constraint.free_prefix is not None:
        options.append(re.escape(constraint.free_prefix) + r"[^\n]+")
    return f"({'|'.join(options)})"


def structured_outputs(constraint: Constraint) -> dict[str, object]:
    """vLLM's ``structured_outputs`` field (0.12 and later, where ``guided_choice`` and ``guided_regex`` are gone)."""
    if constraint.free_prefix is None:
        return {"choice": list(constraint.choices)}
    return {"regex": regular_expression(constraint)}


def response_format(constraint: Constraint) -> dict[str, object]:
    """The OpenAI API's ``response_format``: an object whose ``line`` is a choice or, as ``{"rest": …}``, free text."""
    options: list[dict[str, object]] = []
    if constraint.choices:
        options.append({"type": "string", "enum": list(constraint.choices)})
    if constraint.free_prefix is not None:
        options.append(_object({"rest": {"type": "string"}}))
    line = options[0] if len(options) == 1 else {"anyOf": options}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": _object({"line": line})}}


def unwrap(constraint: Constraint, text: str) -> str | None:
    """The line inside a reply to :func:`response_format`; None when the reply is not such an object."""
    try:
        line = json.loads(text)["line"]
        rest = line["rest"] if isinstance(line, dict) else None
    except (ValueError, TypeError, KeyError):
        return None
    if isinstance(rest, str) and constraint.free_prefix is not None:
        return constraint.free_prefix + " ".join(rest.split())
    return line if isinstance(line, str) else None


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _tree(choices: Sequence[str]) -> str:
    """Alternatives with shared beginnings written once: the engine then follows one branch, not every choice."""
    groups: dict[str, list[str]] = {}
    for choice in choices:
        groups.setdefault(choice[:1], []).append(choice)
    return " | ".join(_branch(group) for group in groups.values())


def _branch(group: Sequence[str]) -> str:
    shared = _common_prefix(group)
    rests = [choice[len(shared) :] for choice in group]
    if len(rests) == 1:
        return _literal(shared)
    longer = [rest for rest in rests if rest]
    optional = "?" if len(longer) < len(rests) else ""
    return f"{_literal(shared)} ({_tree(longer)}){optional}"


def _common_prefix(group: Sequence[str]) -> str:
    first, last = group[0], group[-1]  # sorted: these two differ earliest
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
