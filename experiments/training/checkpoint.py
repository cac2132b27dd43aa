"""Going on with a training: its state in a file, with what it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialogue.errors import DataError, UsageError


def save(path: Path, record: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """``record`` says what the state belongs to. The file is replaced as a whole."""
    import torch

    part = path.with_name(path.name + ".part")
    torch.save({"record": dict(record), "state": dict(state)}, part)
    part.replace(path)


def load(path: Path, record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The state, if there is one. Raises UsageError where it belongs to something else, saying what differs."""
    import torch

    if not path.exists():
        return None
    try:
        told = torch.load(path, map_location="cpu", weights_only=True)
        found, state = told["record"], told["state"]
    except Exception as error:  # torch raises errors of several kinds; all mean that the file cannot be read
        raise DataError(f"{path} cannot be read ({error}). Remove it to begin anew") from error
    changed = differences(found, record)
    if changed:
        raise UsageError(
            f"{path.parent} holds a training with other settings:\n"
            + "".join(f"  {line}\n" for line in changed)
            + "Set them back to go on with it, or name another folder: --out FOLDER"
        )
    return dict(state)


def differences(old: Mapping[str, Any], new: Mapping[str, Any], within: str = "") -> list[str]:
    lines = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            lines += differences(a, b, f"{within}{key}.")
        elif a != b:
            lines.append(f"{within}{key}: {a!r} there, {b!r} now")
    return lines
