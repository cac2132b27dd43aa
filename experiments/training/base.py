"""The model that is trained, and its tokenizer, from a GGUF file; quantised weights are dequantised."""

from __future__ import annotations

import importlib.util
import io
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from trialogue.errors import DataError, MissingExtra
from trialogue.experiments.training.tokens import Tokenize

PACKAGES = ("torch", "transformers", "peft", "gguf")


def require_training() -> None:
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("training", package, "train")


@contextmanager
def quietly() -> Iterator[None]:
    """Keeps the libraries' progress bars and notes on their own future from the terminal; errors are raised."""
    with redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def metadata(path: Path) -> dict[str, Any]:
    """The header of a GGUF file, without its long lists."""
    from gguf import GGUFReader, GGUFValueType

    fields = GGUFReader(path).fields.items()
    return {key: field.contents() for key, field in fields if field.types and field.types[0] != GGUFValueType.ARRAY}


def load_model(path: Path, dtype: str, device: str) -> Any:
    """The model as a transformers ``LlamaForCausalLM``. Raises DataError for another architecture."""
    import torch
    import transformers

    from trialogue.experiments.training.attention import register

    architecture = metadata(path).get("general.architecture")
    if architecture != "llama":
        raise DataError(f"{path} is of the architecture {architecture!r}; only 'llama' can be trained")
    settings: dict[str, Any] = {"dtype": getattr(torch, dtype), "attn_implementation": register()}
    if hasattr(transformers, "GgufConfig"):  # since 5.25, which can also compute with the quantised weights
        settings["quantization_config"] = transformers.GgufConfig(dequantize=True)
    with quietly():
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            str(path.parent), gguf_file=path.name, **settings
        )
    return model.to(device)


def quicker_dtype(device: str) -> str:
    """Measured, since no library tells of every processor whether it has instructions for bfloat16."""
    import torch

    def seconds(dtype: Any) -> float:
        a, b = torch.ones(256, 512, dtype=dtype, device=device), torch.ones(512, 512, dtype=dtype, device=device)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            (a @ b).sum().item()  # taking the value waits for the device
            times.append(time.perf_counter() - began)
        return min(times)

    return "bfloat16" if seconds(torch.bfloat16) <= seconds(torch.float32) else "float32"


def load_tokenizer(path: Path) -> Any:
    """The tokenizer of a GGUF file, as llama.cpp reads it (see :mod:`.comparison`, which checks it)."""
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    with quietly():
        tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    if metadata(path).get("tokenizer.ggml.pre") == "smollm":
        # transformers takes every byte-level tokenizer of a llama model for GPT-2's; this one splits digits first.
        digits = pre_tokenizers.Digits(individual_digits=True)
        words = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    return tokenizer


def tokenize_with(tokenizer: Any) -> Tokenize:
    def tokenize(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        told = tokenizer(text, return_offsets_mapping=True, verbose=False)
        return list(told["input_ids"]), [(begin, end) for begin, end in told["offset_mapping"]]

    return tokenize
