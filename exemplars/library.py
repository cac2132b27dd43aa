"""Reads exemplars from YAML.

One file holds the exemplars of one environment and task type: ``ENV/TYPE.yaml``, a mapping with

* ``env``, ``type``, ``dialect`` (the one its texts are written in),
* ``exemplars``: a list of mappings with ``id``, ``task`` ("" or left out where it is not known, as in exemplars from
  elsewhere, which cannot be replayed then), ``goal``, ``observation`` and ``steps``; optionally ``reasoning`` (text)
  and ``plan``, a list of mappings with ``thought`` and ``action``, in the file's own dialect.

A file of one's own (:func:`read_documents`) may hold several such documents, and the type ``any``.

A step has ``action``, ``observation``, optionally ``thought`` (text, or a list), ``event``, and ``in``: other dialects,
by name, each with the ``action`` and ``observation`` that are worded differently there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from trialogue.errors import DataError, UsageError
from trialogue.exemplars.contract import Exemplar, ExemplarStep, PlannedStep

ANY_TYPE = "any"
"""The type of exemplars that serve for every task type of their environment."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Wording(_Entry):
    """How a step reads in another dialect; None where it reads the same."""

    action: str | None = None
    observation: str | None = None


class StepEntry(_Entry):
    action: str
    observation: str
    thought: tuple[str, ...] = ()
    event: str = ""
    wordings: dict[str, Wording] = Field(default_factory=dict, alias="in")

    @field_validator("thought", mode="before")
    @classmethod
    def _one_thought(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    def step(self, dialect: str) -> ExemplarStep:
        wording = self.wordings.get(dialect, Wording())
        action = self.action if wording.action is None else wording.action
        observation = self.observation if wording.observation is None else wording.observation
        return ExemplarStep(self.thought, action, observation, self.event)


class PlannedEntry(_Entry):
    thought: str
    action: str


class ExemplarEntry(_Entry):
    id: str
    task: str = ""
    goal: str
    observation: str
    reasoning: str = ""
    plan: tuple[PlannedEntry, ...] = ()
    steps: tuple[StepEntry, ...] = Field(min_length=1)

    def planned(self) -> tuple[PlannedStep, ...]:
        return tuple(PlannedStep(step.thought, step.action) for step in self.plan)


class ExemplarFile(_Entry):
    env: str
    type: str
    dialect: str = ""
    exemplars: tuple[ExemplarEntry, ...] = Field(min_length=1)

    def dialects(self) -> tuple[str, ...]:
        """The dialects in which every exemplar can be told, its own first."""
        others = {name for e in self.exemplars for step in e.steps for name in step.wordings}
        return (self.dialect, *sorted(others))

    def told(self, dialect: str) -> tuple[Exemplar, ...]:
        return tuple(
            Exemplar(
                id=entry.id,
                env=self.env,
                type=self.type,
                task=entry.task,
                goal=entry.goal,
                dialect=dialect,
                observation=entry.observation,
                steps=tuple(step.step(dialect) for step in entry.steps),
                reasoning=entry.reasoning,
                plan=entry.planned() if dialect == self.dialect else (),
            )
            for entry in self.exemplars
        )


def exemplars_for(env: str, type: str, dialect: str = "") -> tuple[Exemplar, ...]:
    """The exemplars of one task type, in the file's order; () where there are none in that dialect.

    Raises DataError when the file is there but broken.
    """
    file = _bundled(env, type)
    return file.told(dialect) if file is not None and dialect in file.dialects() else ()


def bundled_files(env: str | None = None) -> list[ExemplarFile]:
    """Every bundled file, or those of one environment, by name."""
    folders = [f for f in _root().iterdir() if f.is_dir() and env in (None, f.name) and not f.name.startswith("_")]
    paths = [path for folder in folders for path in folder.iterdir() if path.name.endswith(".yaml")]
    return [read_file(path) for path in sorted(paths, key=str)]


def read_file(path: Traversable) -> ExemplarFile:
    """Reads and checks one file. Raises DataError that names the file, the place and what was expected."""
    documents = read_documents(path)
    if len(documents) != 1:
        raise DataError(f"{path} holds {len(documents)} YAML documents; expected one.")
    return documents[0]


def read_documents(path: Traversable) -> tuple[ExemplarFile, ...]:
    """Reads a file of one or several documents, each of one type. Raises DataError as :func:`read_file` does."""
    try:
        found = [data for data in yaml.safe_load_all(path.read_text(encoding="utf-8")) if data is not None]
        return tuple(ExemplarFile.model_validate(data) for data in found)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"expected a file of exemplars at {path}: {error}") from error
    except yaml.YAMLError as error:
        raise DataError(f"{path} is not YAML: {error}") from error
    except ValidationError as error:
        places = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise DataError(f"{path} is not an exemplar file: {places}") from None


def exemplars_in(path: Traversable) -> Callable[[str, str, str], tuple[Exemplar, ...]]:
    """What :func:`exemplars_for` is for the bundled ones, for the file ``path``; those of type "any" come last.

    Raises DataError for a broken file, and UsageError when it is asked for what it does not hold: whoever names a file
    does not want to go on without.
    """
    files = read_documents(path)

    def lookup(env: str, type: str, dialect: str) -> tuple[Exemplar, ...]:
        fitting = [file for file in files if file.env == env and dialect in file.dialects()]
        found = [e for name in (type, ANY_TYPE) for file in fitting if file.type == name for e in file.told(dialect)]
        if not found:
            held = ", ".join(f"{f.env}/{f.type} {'|'.join(f.dialects())}".strip() for f in files) or "nothing"
            raise UsageError(f"{path} holds no exemplars for {env}/{type} {dialect}".rstrip() + f"; it holds: {held}")
        return tuple(found)

    return lookup


@cache
def _bundled(env: str, type: str) -> ExemplarFile | None:
    path = _root().joinpath(env, f"{type}.yaml")
    return read_file(path) if path.is_file() else None


def _root() -> Traversable:
    return resources.files("trialogue.exemplars")
