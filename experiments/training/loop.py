"""The training itself: one episode after the other forwards and backwards, and a step of the optimiser for several.

An episode by itself needs neither padding nor a mask; episodes are long enough (hundreds of tokens) to keep a
processor's matrix products as quick as batches would. Only where a token is learnt are all its rivals (the whole
vocabulary) computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trialogue.experiments.training.config import TrainingConfig
from trialogue.experiments.training.lora import Adapter
from trialogue.experiments.training.tokens import Tokens


@dataclass(frozen=True)
class Step:
    """What one step came to. ``loss`` is the mean over its learnt tokens (natural logarithm)."""

    loss: float
    learning_rate: float
    tokens: int
    targets: int
    gradient: float


class Training:
    """Steps taken one by one; ``state`` and ``restore`` let it go on in another process."""

    def __init__(self, adapter: Adapter, config: TrainingConfig, steps: Sequence[Sequence[Tokens]]) -> None:
        import torch

        self.adapter = adapter
        self.steps = steps
        self.done = 0
        self._config = config
        self._weights = list(adapter.weights.values())
        self._optimiser = torch.optim.AdamW(self._weights, lr=config.learning_rate, weight_decay=0.0)

    def step(self, check: Callable[[], None] = lambda: None) -> Step:
        """``check`` is called before every episode; what it raises leaves the training as before the step."""
        import torch

        episodes = self.steps[self.done]
        targets = sum(episode.targets for episode in episodes)
        total = 0.0
        try:
            for episode in episodes:
                check()
                loss = loss_of(self.adapter.model, episode)
                loss.backward()
                self.adapter.collect(1 / targets)
                total += loss.item()
        except BaseException:
            self.adapter.spread()
            raise
        norm = torch.nn.utils.clip_grad_norm_(self._weights, self._config.clip)
        rate = learning_rate(self.done, len(self.steps), self._config)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.step()
        self.adapter.spread()
        self.done += 1
        return Step(total / targets, rate, sum(map(len, episodes)), targets, float(norm))

    def state(self) -> dict[str, Any]:
        import torch

        return {
            "done": self.done,
            "weights": {name: weight.detach() for name, weight in self.adapter.weights.items()},
            "optimiser": self._optimiser.state_dict(),
            "random": torch.get_rng_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        import torch

        self.done = state["done"]
        self.adapter.load(state["weights"])
        self._optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["random"])


def learning_rate(step: int, steps: int, config: TrainingConfig) -> float:
    """Of step number ``step`` (from 0) of ``steps``: a straight rise, then a cosine that ends at nothing."""
    rise = round(config.warm_up * steps)
    if step < rise:
        return config.learning_rate * (step + 1) / (rise + 1)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))


def loss_of(model: Any, episode: Tokens) -> Any:
    """The sum of the cross-entropies of the learnt tokens, as a tensor."""
    import torch
    import torch.nn.functional as functional

    places = [place for place, learnt in enumerate(episode.learnt) if learnt]
    ids = torch.tensor(episode.ids, device=model.device)
    # What follows the last learnt token is not read.
    hidden = model.model(input_ids=ids[None, : places[-1]], use_cache=False).last_hidden_state[0]
    at = torch.tensor(places, device=model.device)
    logits = model.lm_head(hidden[at - 1])
    return functional.cross_entropy(logits.float(), ids[at], reduction="sum")


def mean_loss(model: Any, episodes: Sequence[Tokens], check: Callable[[], None] = lambda: None) -> float:
    """The mean cross-entropy of the learnt tokens of ``episodes``, without learning from them."""
    import torch

    total = 0.0
    model.eval()
    with torch.inference_mode():
        for episode in episodes:
            check()
            total += float(loss_of(model, episode))
    model.train()
    return total / sum(episode.targets for episode in episodes)
