"""Configurations in YAML files: read, changed by KEY=VALUE, and refused with the nearest known key.

What an experiment and a training have in common; see :mod:`trialogue.experiments.config`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from trialogue.errors import UsageError, nearest


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Config = TypeVar("Config", bound=Section)


def read_mapping(path: Path, kind: str, keys: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The mapping in a ``kind`` of file (YAML, UTF-8), changed by ``overrides``.

    Raises UsageError saying what came; ``keys`` is what was expected.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the {kind} file {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path}: expected a mapping with {keys}, found {type(data).__name__}")
    for override in overrides:
        override_value(data, override)
    return data


def override_value(data: dict[str, Any], override: str) -> None:
    """Puts the value of ``KEY=VALUE``, read as YAML, into its place. Raises UsageError."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise UsageError(f"--set expects KEY=VALUE with dots in KEY (limits.steps=30), got {override!r}")
    *parents, last = path.split(".")
    place: Any = data
    for key in parents:
        if isinstance(place.get(key), str) and key == "model":
            place[key] = {"name": place[key]}
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise UsageError(f"--set {override}: {key!r} holds {place!r}, not a mapping")
    place[last] = yaml.safe_load(text)


def validated(
    config: type[Config], data: Mapping[str, Any], kind: str, source: str, sections: Mapping[str, type[Section]]
) -> Config:
    """``data`` as a ``config``. Raises UsageError that names each key, what came, and the nearest known.

    ``sections`` are the parts of it, by the key that they stand under.
    """
    try:
        return config.model_validate(data)
    except ValidationError as error:
        told = [_explain(one, config, sections) for one in error.errors()]
        raise UsageError("\n".join([f"{source} is not a valid {kind}:", *told])) from None


def _explain(error: Any, config: type[Section], sections: Mapping[str, type[Section]]) -> str:
    location = [str(part) for part in error["loc"] if part != "[key]"]
    where = ".".join(location)
    if error["type"] == "extra_forbidden":
        named = [part for part in location[:-1] if part in sections]
        known = list((sections[named[-1]] if named else config).model_fields)
        near = nearest(location[-1], known)
        hint = f" Did you mean {near!r}?" if near else ""
        return f"  {where}: unknown key.{hint} Known here: {', '.join(known)}."
    if error["type"] == "missing":
        return f"  {where}: missing."
    return f"  {where}: {error['msg']} (got {error['input']!r})"
