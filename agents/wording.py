"""What is said to a model: texts from ``wording.yaml``, rendered strictly."""

from __future__ import annotations

import hashlib
import string
from functools import cache
from importlib import resources

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from trialogue.errors import DataError

_FIELDS = {
    "commands": {"commands"},
    "trial": {"number", "text"},
    "goal": {"goal"},
    "admissible": {"commands"},
    "thought_refused": {"example"},
}


class Wording(BaseModel):
    """The texts for one environment. ``reply_…`` tell a chat model how to answer, by how thoughts are placed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instruction: str
    commands: str
    reply_none: str
    reply_sparse: str
    reply_due: str
    examples: str
    memory: str
    trial: str
    task: str
    goal: str
    admissible: str
    thought_due: str
    thought_answer: str
    thought_refused: str

    @model_validator(mode="after")
    def _fields_are_known(self) -> Wording:
        for name, text in self:
            fields = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
            if fields != _FIELDS.get(name, set()):
                raise ValueError(f"{name} must hold the fields {sorted(_FIELDS.get(name, ()))}, got {sorted(fields)}")
        return self


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
    data = yaml.safe_load(_source())
    try:
        return {env: Wording.model_validate({**data["default"], **own}) for env, own in data.items()}
    except ValueError as error:
        raise DataError(f"trialogue/agents/wording.yaml: {error}") from error
