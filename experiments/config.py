"""The configuration of an experiment: agents x tasks x seeds x trials, read from YAML.

Unknown keys are refused with the nearest known one; ``--set a.b=value`` replaces one value, read as YAML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, field_validator

from trialogue.errors import UsageError
from trialogue.experiments.config_file import Section, override_value, read_mapping, validated
from trialogue.experiments.hosts import Where

Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=80)]


class ModelConfig(Section):
    """``name`` as in ``openai:gpt-4o`` or ``local:smollm2-135m``; ``settings`` are those of its kind."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)


class AgentConfig(Section):
    """``agent`` is one of ``trialogue agents``; without ``model`` the experiment's own is used.

    ``exemplars`` is a file of exemplars to show instead of the bundled ones, as ``trialogue exemplars import`` prints.
    """

    agent: str
    model: ModelConfig | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    exemplars: Path | None = None

    @field_validator("model", mode="before")
    @classmethod
    def _model_by_name(cls, value: Any) -> Any:
        return _model_by_name(value)


class TasksConfig(Section):
    """A task set: the tasks of ``split``, or just ``ids``; then ``types``, ``per_type`` of each, the first ``limit``.

    ``settings`` are the environment's own.
    """

    env: str
    split: str | None = None
    ids: list[str] | None = None
    types: list[str] | None = None
    per_type: int | None = Field(default=None, ge=1)
    limit: int | None = Field(default=None, ge=1)
    settings: dict[str, Any] = Field(default_factory=dict)


class Limits(Section):
    """Bounds of one episode: executed actions and unreadable turns (``steps``), agent calls (``turns``),
    unreadable turns in a row (``unreadable``), tokens read and written (``tokens``), money (``cost``, where the model
    has prices), seconds (``seconds``); and of one reset or step of its environment (``step_seconds``)."""

    steps: int = Field(default=50, ge=1)
    turns: int = Field(default=150, ge=1)
    unreadable: int = Field(default=5, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    step_seconds: float | None = Field(default=300.0, gt=0)


class Budget(Section):
    """Bounds of the whole experiment: money and tokens, those of interrupted runs included; seconds of this run; and
    the share of this run's episodes that may end in an error, looked at once ``errors_after`` have ended.

    When one is reached, no other turn is taken: what has finished stays, and a higher bound lets the run go on.
    """

    cost: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    error_rate: float | None = Field(default=None, gt=0, le=1)
    errors_after: int = Field(default=10, ge=1)


class StuckConfig(Section):
    """An episode ends as ``stuck`` when a cycle of at most ``cycle`` steps came ``repeats`` times unchanged."""

    cycle: int = Field(default=4, ge=1)
    repeats: int = Field(default=4, ge=2)


class ExperimentConfig(Section):
    """The whole experiment. Every agent plays every task of every task set with every seed.

    ``environments`` live in "threads" of this process, in "processes" of their own, or in "ray" actors; ``concurrency``
    episodes are played at once, each with an environment.
    """

    name: Label
    agents: dict[Label, AgentConfig] = Field(min_length=1)
    tasks: dict[Label, TasksConfig] = Field(min_length=1)
    model: ModelConfig | None = None
    seeds: list[int] = Field(default=[0], min_length=1)
    trials: int = Field(default=1, ge=1)
    limits: Limits = Limits()
    stuck: StuckConfig | None = StuckConfig()
    budget: Budget = Budget()
    environments: Where = "threads"
    concurrency: int = Field(default=4, ge=1)

    @field_validator("model", mode="before")
    @classmethod
    def _model_by_name(cls, value: Any) -> Any:
        return _model_by_name(value)

    @field_validator("seeds")
    @classmethod
    def _seeds_differ(cls, value: list[int]) -> list[int]:
        if len(set(value)) != len(value):
            raise ValueError("the seeds must differ from each other")
        return value

    def record(self) -> dict[str, Any]:
        """What decides the records: all but where, how many at once, and until when episodes are played."""
        return self.model_dump(mode="json", exclude={"concurrency", "environments", "budget"})


def load_config(path: Path, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """Reads an experiment file (YAML, UTF-8). Raises UsageError naming the key, what came, and the nearest known."""
    return parse_config(read_mapping(path, "experiment", "name, agents and tasks", overrides), source=str(path))


def parse_config(data: Mapping[str, Any], source: str = "configuration") -> ExperimentConfig:
    return validated(ExperimentConfig, data, "experiment", source, _SECTIONS)


def require_label(name: str) -> None:
    """Raises UsageError unless ``name`` can name a run, and so a file."""
    try:
        TypeAdapter(Label).validate_python(name)
    except ValidationError:
        raise UsageError(
            f"{name!r} cannot be a name: expected at most 80 letters, digits and . _ + -, the first a letter or digit"
        ) from None


def parse_settings(overrides: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` texts as a mapping, values read as YAML. Raises UsageError."""
    data: dict[str, Any] = {}
    for override in overrides:
        override_value(data, override)
    return data


def _model_by_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


_SECTIONS: dict[str, type[Section]] = {
    "model": ModelConfig,
    "limits": Limits,
    "budget": Budget,
    "stuck": StuckConfig,
    "agents": AgentConfig,
    "tasks": TasksConfig,
}
