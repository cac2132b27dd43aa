"""The configuration of a training, read from YAML. Unknown keys are refused with the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from trialogue.experiments.config import Label
from trialogue.experiments.config_file import Section, read_mapping, validated

Target = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TARGETS: tuple[Target, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Limit(Section):
    """How much is trained on: the first ``episodes``, or those that come first and have ``tokens`` together."""

    episodes: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _one_of_them(self) -> Limit:
        if (self.episodes is None) is (self.tokens is None):
            raise ValueError("expected either episodes or tokens")
        return self


class Snapshots(Section):
    """When adapters are written on the way: after so many ``episodes``."""

    episodes: list[int] = Field(default_factory=list)


class LoraConfig(Section):
    """An update of rank ``rank``, weighed by ``alpha / rank``, of the linear layers ``targets``."""

    rank: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: list[Target] = Field(default=list(TARGETS), min_length=1)


class TrainingConfig(Section):
    """A training: the model ``base`` (as in ``local:BASE``) learns from the files ``data``
    (relative to the working directory, where ``trialogue export`` has put them).

    ``seed`` orders the episodes; ``held_out`` of them, with all others of the same tasks, are not trained on. An
    episode has at most ``max_tokens``: what comes after the last reply that ends within them is cut. ``passes`` go
    through the data, with an optimiser step for every ``batch_tokens``. The learning rate rises over the share
    ``warm_up`` of the steps and then falls as a cosine, to nothing. Gradients longer than ``clip`` are shortened to it.
    ``dtype`` is what the base computes in; "auto" takes the one that is quicker here: bfloat16 is half the work on
    processors made for it, and ten times the work on the others.
    ``threads`` None: as many as torch takes. ``checkpoint_minutes`` is how much work an interruption may cost.
    """

    name: Label
    base: str = "smollm2-135m"
    data: list[Path] = Field(min_length=1)
    limit: Limit | None = None
    held_out: int = Field(default=20, ge=0)
    seed: int = 0
    lora: LoraConfig = LoraConfig()
    learning_rate: float = Field(default=6e-4, gt=0)
    warm_up: float = Field(default=0.05, ge=0, lt=1)
    clip: float = Field(default=1.0, gt=0)
    passes: int = Field(default=1, ge=1)
    batch_tokens: int = Field(default=3000, ge=1)
    max_tokens: int = Field(default=2048, ge=16)
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    device: str = "auto"
    threads: int | None = Field(default=None, ge=1)
    checkpoint_minutes: float = Field(default=5.0, gt=0)
    snapshots: Snapshots = Snapshots()

    def record(self) -> dict[str, Any]:
        """What decides the result: all but where, how quickly and how safely it is computed."""
        return self.model_dump(mode="json", exclude={"device", "threads", "checkpoint_minutes"})


def load_training_config(path: Path, overrides: Sequence[str] = ()) -> TrainingConfig:
    """Reads a training file (YAML, UTF-8); ``overrides`` are KEY=VALUE.

    Raises UsageError naming the key, what came, and the nearest known.
    """
    return parse_training_config(read_mapping(path, "training", "name, base and data", overrides), source=str(path))


def parse_training_config(told: Mapping[str, Any], source: str = "configuration") -> TrainingConfig:
    return validated(TrainingConfig, told, "training", source, _SECTIONS)


_SECTIONS: dict[str, type[Section]] = {"limit": Limit, "lora": LoraConfig, "snapshots": Snapshots}
