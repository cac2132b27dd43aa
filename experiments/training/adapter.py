"""A LoRA adapter as a GGUF file, as llama.cpp reads it (its ``convert_lora_to_gguf.py`` writes the same)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trialogue.errors import DataError

Matrix = NDArray[np.float32]

# A layer's name in transformers, and in a GGUF file of the architecture "llama".
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


@dataclass(frozen=True)
class AdapterInfo:
    """What the file tells of itself, and the heads of queries and of keys of the base."""

    name: str
    alpha: float
    heads: int
    key_heads: int
    base: str = ""
    license: str = ""


def write_adapter(path: Path, layers: Iterable[tuple[str, Matrix, Matrix]], info: AdapterInfo) -> None:
    """``layers``: name in transformers, A (rank, inputs), B (outputs, rank). Written as float16."""
    from gguf import GGUFWriter

    part = path.with_name(path.name + ".part")
    writer = GGUFWriter(part, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", info.alpha)
    writer.add_name(info.name)
    if info.license:
        writer.add_license(info.license)
    if info.base:
        writer.add_base_model_count(1)
        writer.add_base_model_name(0, info.base)
    for layer, a, b in layers:
        block, kind = _place(layer)
        heads = {"attn_q": info.heads, "attn_k": info.key_heads}.get(kind)
        b = b if heads is None else interleaved(b, heads)
        writer.add_tensor(f"blk.{block}.{kind}.weight.lora_a", np.ascontiguousarray(a, dtype=np.float16))
        writer.add_tensor(f"blk.{block}.{kind}.weight.lora_b", np.ascontiguousarray(b, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(path)


def interleaved(rows: Matrix, heads: int) -> Matrix:
    """The rows of queries or keys, in the order of a GGUF file of the architecture "llama".

    transformers rotates the first half of a head's rows with the second; llama.cpp rotates neighbours, and its files
    have the rows ordered for that.
    """
    outputs, rank = rows.shape
    return rows.reshape(heads, 2, outputs // heads // 2, rank).swapaxes(1, 2).reshape(outputs, rank)


def _place(layer: str) -> tuple[int, str]:
    found = re.fullmatch(r"model\.layers\.(\d+)\.(.+)", layer)
    if found is None or found[2] not in _NAMES:
        raise DataError(f"the layer {layer!r} has no place in a GGUF file of the architecture 'llama'")
    return int(found[1]), _NAMES[found[2]]
