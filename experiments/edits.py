"""What a fork puts in the place of what its parent said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from trialogue.agents.notation import THINK

EditKind = Literal["thought", "action"]


@dataclass(frozen=True)
class Edit:
    """What is put where: ``call`` is the reply of the parent whose reading gives way, ``step`` the step it is of."""

    step: int
    call: int
    kind: EditKind
    text: str

    @property
    def said(self) -> str:
        """As a person would type it in a review."""
        return f"{THINK} {self.text}" if self.kind == "thought" else self.text

    def record(self) -> dict[str, Any]:
        """As the column ``fork`` of a run holds it."""
        return {"step": self.step, "call": self.call, self.kind: self.text}

    @classmethod
    def of(cls, fork: str) -> Edit:
        told = json.loads(fork)
        kind: EditKind = "thought" if "thought" in told else "action"
        return cls(told["step"], told["call"], kind, told[kind])

    def __str__(self) -> str:
        return f"step {self.step}: {self.kind} {self.text!r}"
