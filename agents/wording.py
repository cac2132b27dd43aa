"""What is said to a model: texts from ``wording.yaml``, rendered strictly."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from trialogue.agents.notation import NotationName
from trialogue.errors import DataError

_FIELDS = {
    "commands": {"commands"},
    "trial": {"number", "text"},
    "goal": {"goal"},
    "admissible": {"commands"},
    "thought_refused": {"example"},
    "recall": {"number", "text"},
    "shortened": {"count"},
    "left_out": {"count"},
    "summary": {"count", "text"},
    "reflect": {"ending"},
    "question": {"question"},
    "plan_missing": {"example"},
    "evidence": {"name", "text"},
}


class Replies(BaseModel):
    """How to answer in one notation, by how thoughts are placed, and how a thought is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    none: str
    sparse: str
    due: str
    thought_due: str


class Wording(BaseModel):
    """The texts for one environment. ``notation`` is the one that its papers use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    notation: NotationName
    instruction: str
    commands: str
    replies: dict[NotationName, Replies]
    examples: str
    memory: str
    trial: str
    attempt: str
    task: str
    goal: str
    admissible: str
    thought_answer: str
    thought_refused: str
    repetition: str
    recall: str
    shortened: str
    left_out: str
    summary: str
    summarise: str
    plan: str
    reflect: str
    reflection: str
    goal_opening: str
    question: str
    answer_task: str
    answer_plain: str
    answer_reasoned: str
    unanswered: str
    plan_ahead: str
    plan_examples: str
    plan_missing: str
    evidence: str
    solve: str

    @model_validator(mode="after")
    def _fields_are_known(self) -> Wording:
        for name, text in self._texts():
            fields = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
            if fields != _FIELDS.get(name, set()):
                raise ValueError(f"{name} must hold the fields {sorted(_FIELDS.get(name, ()))}, got {sorted(fields)}")
        return self

    def _texts(self) -> Iterator[tuple[str, str]]:
        for name, value in self:
            if isinstance(value, str):
                yield name, value


def wording_for(env: str) -> Wording:
    """The texts for ``env``: the default ones, and its own in their place."""
    return _wordings().get(env) or _wordings()["default"]


def wording_digest() -> str:
    """Twelve hexadecimal digits that change with any text: results under different wordings are not compared."""
    return hashlib.sha256(_source().encode()).hexdigest()[:12]


@cache
def _source() -> str:
    return resources.files("trialogue.agents").joinpath("wording.yaml").read_text(encoding="utf-8")


@cache
def _wordings() -> dict[str, Wording]:
    data: dict[str, dict[str, Any]] = yaml.safe_load(_source())
    try:
        return {env: Wording.model_validate({**data["default"], **own}) for env, own in data.items()}
    except ValueError as error:
        raise DataError(f"trialogue/agents/wording.yaml: {error}") from error
