"""The adapter that is trained: low-rank updates beside the linear layers (peft), with weights in full precision.

The layers compute in the model's own number format; what the optimiser changes are float32 copies, since a small step
would be lost in bfloat16's eight bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trialogue.experiments.training.base import quietly
from trialogue.experiments.training.config import LoraConfig


class Adapter:
    """``model`` (a transformers causal model) with an adapter; only the adapter's weights can be trained."""

    def __init__(self, model: Any, config: LoraConfig, seed: int) -> None:
        import peft
        import torch

        torch.manual_seed(seed)
        self.config = config
        settings = peft.LoraConfig(
            r=config.rank,
            lora_alpha=config.alpha,
            lora_dropout=config.dropout,
            target_modules=list(config.targets),
            task_type="CAUSAL_LM",
        )
        with quietly():
            self._peft = peft.get_peft_model(model, settings, autocast_adapter_dtype=False)
        self.model = self._peft.get_base_model()
        self._used = {_short(name): weight for name, weight in self._peft.named_parameters() if weight.requires_grad}
        self.weights: dict[str, Any] = {name: weight.detach().clone().float() for name, weight in self._used.items()}
        for weight in self.weights.values():
            weight.grad = torch.zeros_like(weight)

    def collect(self, scale: float) -> None:
        """Adds the gradients of the layers, times ``scale``, to those of the full weights."""
        for name, used in self._used.items():
            if used.grad is not None:
                self.weights[name].grad.add_(used.grad, alpha=scale)
                used.grad = None

    def spread(self) -> None:
        """Gives the full weights to the layers, and forgets the gradients."""
        for name, used in self._used.items():
            used.data.copy_(self.weights[name])
            used.grad = None
            self.weights[name].grad.zero_()

    def load(self, weights: dict[str, Any]) -> None:
        for name, weight in weights.items():
            self.weights[name].copy_(weight)
        self.spread()

    def layers(self) -> Iterator[tuple[str, Any, Any]]:
        """The name of each adapted layer, and its two matrices: (rank, inputs) and (outputs, rank), float32."""
        for name in self.weights:
            if name.endswith(".lora_A"):
                layer = name.removesuffix(".lora_A")
                yield layer, self.weights[name], self.weights[f"{layer}.lora_B"]

    def save_peft(self, folder: Path, base: str) -> None:
        """As a peft checkpoint of the model named ``base``."""
        self._peft.peft_config["default"].base_model_name_or_path = base
        self._peft.save_pretrained(str(folder), save_embedding_layers=False)  # "auto" would ask the hub for the base


def _short(name: str) -> str:
    """``model.layers.0.mlp.up_proj.lora_A`` of peft's longer name."""
    return name.removeprefix("base_model.model.").removesuffix(".weight").removesuffix(".default")
