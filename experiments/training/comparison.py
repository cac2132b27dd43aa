"""Whether llama.cpp, which will use the adapter, reads and writes the same as the model that was trained.

The two never agree quite: llama.cpp computes with the quantised weights, and rounds differently.
"""

from __future__ import annotations

import asyncio
import json
import random
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialogue.agents.models.contract import Request
from trialogue.agents.models.llama_server import LlamaServer
from trialogue.agents.models.local_model import LocalModel
from trialogue.agents.models.settings import LocalSettings
from trialogue.errors import DataError
from trialogue.experiments.training.base import quietly
from trialogue.experiments.training.examples import Example
from trialogue.experiments.training.tokens import Tokenize

LONGEST_REPLY = 60  # tokens


@dataclass(frozen=True)
class Pair:
    """The two replies to one prompt, without the line break that ends them."""

    trained: str
    served: str


@dataclass(frozen=True)
class Agreement:
    """Of greedy replies of the trained model and of llama.cpp: how many are equal, wholly and token by token."""

    replies: int
    equal_replies: int
    tokens: int
    equal_tokens: int
    pairs: tuple[Pair, ...] = ()

    def __str__(self) -> str:
        return (
            f"{self.equal_replies} of {self.replies} replies equal, "
            f"{self.equal_tokens} of {self.tokens} tokens equal up to the first that differs"
        )


def differing_text(weights: Path, texts: Sequence[str], tokenize: Tokenize) -> str | None:
    """The first text that llama.cpp cuts into other tokens than ``tokenize``; None where there is none."""
    server = LlamaServer(weights, None, weights.stem, LocalSettings(context=256, parallel=1))
    try:
        for text in texts:
            # As the server reads a prompt: with the tokens that begin one, and with special tokens told as text.
            question = {"content": text, "add_special": True, "parse_special": True}
            request = urllib.request.Request(  # noqa: S310 (its own address)
                f"{server.address.url}/tokenize",
                json.dumps(question).encode(),
                {"Content-Type": "application/json", "Authorization": f"Bearer {server.address.key}"},
            )
            with urllib.request.urlopen(request) as reply:  # noqa: S310
                if json.load(reply)["tokens"] != tokenize(text)[0]:
                    return text
    finally:
        server.close()
    return None


def require_same_tokens(weights: Path, texts: Sequence[str], tokenize: Tokenize) -> None:
    """Raises DataError where llama.cpp would read any of ``texts`` otherwise than it is trained on."""
    text = differing_text(weights, texts, tokenize)
    if text is not None:
        raise DataError(
            f"llama.cpp and transformers cut this text into different tokens, so that {weights.name} would be trained "
            f"on what it will never read: {text[:200]!r}"
        )


def sampled_prompts(examples: Sequence[Example], count: int, seed: int) -> list[str]:
    """Prompts as they are sent: an example's text up to one of the replies. At most one of each example."""
    drawn = random.Random(f"prompts/{seed}")
    some = drawn.sample(list(examples), min(count, len(examples)))
    return [example.text[: drawn.choice(example.learnt())[0]] for example in some]


def compare(
    model: Any, tokenizer: Any, tokenize: Tokenize, weights: Path, adapter: Path | None, prompts: Sequence[str]
) -> Agreement:
    """Asks both for the line that follows each prompt."""
    served = asyncio.run(_served(weights, adapter, prompts))
    model.eval()
    trained = [_greedy_line(model, tokenizer, tokenize, prompt) for prompt in prompts]
    model.train()
    pairs = tuple(map(Pair, trained, served))
    equal = tokens = 0
    for pair in pairs:
        ours, theirs = tokenize(pair.trained)[0], tokenize(pair.served)[0]
        same = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
        equal += min(len(ours), len(theirs)) if same is None else same
        tokens += max(len(ours), len(theirs))
    return Agreement(len(pairs), sum(pair.trained == pair.served for pair in pairs), tokens, equal, pairs)


async def _served(weights: Path, adapter: Path | None, prompts: Sequence[str]) -> list[str]:
    name = str(weights) if adapter is None else f"{weights}+{adapter}"
    model = LocalModel(name, LocalSettings(parallel=1))
    try:
        requests = [Request(prompt, stop=("\n",), max_tokens=LONGEST_REPLY) for prompt in prompts]
        return [(await model.generate(request)).text for request in requests]
    finally:
        await model.close()


def _greedy_line(model: Any, tokenizer: Any, tokenize: Tokenize, prompt: str) -> str:
    import torch

    ids = torch.tensor([tokenize(prompt)[0]], device=model.device)
    with quietly():
        told = model.generate(
            ids, do_sample=False, max_new_tokens=LONGEST_REPLY, stop_strings="\n", tokenizer=tokenizer, temperature=None
        )
    text: str = tokenizer.decode(told[0, ids.shape[1] :], skip_special_tokens=True)
    return text.partition("\n")[0]
