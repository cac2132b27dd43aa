"""Causal attention of one sequence, for training on processors.

torch's own (a flash kernel) takes a third of a training's time there. Products of blocks of queries with all the keys
before them take half of that, since a processor's matrix product is that much quicker. What it costs is memory: the
weights are kept for the way back (about 11 MB a layer for 1000 tokens and 9 heads in bfloat16).
"""

from __future__ import annotations

from functools import cache
from typing import Any

NAME = "blockwise_causal"
BLOCK = 128  # queries; of 128 to 512 the quickest with 9 heads of 64 and 400 to 1200 tokens


def register() -> str:
    """Makes the attention known to transformers. Returns its name there."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attention)
    return NAME


def attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **unused: Any
) -> tuple[Any, None]:
    """``query`` is (1, heads, tokens, width); ``key`` and ``value`` have fewer heads where several queries share one.

    Returns (1, tokens, heads, width). On other devices than processors, and for the tokens of a generation, torch's own
    attention is used.
    """
    import torch.nn.functional as functional

    length, shared = query.shape[2], key.shape[1]
    if attention_mask is None and query.device.type == "cpu" and query.shape[0] == 1 and length == key.shape[2]:
        grouped = query[0].unflatten(0, (shared, -1))
        return _blockwise().apply(grouped * scaling, key[0], value[0]).flatten(0, 1).transpose(0, 1).unsqueeze(0), None
    out = functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        is_causal=attention_mask is None and length > 1,
        scale=scaling,
        enable_gqa=shared != query.shape[1],
    )
    return out.transpose(1, 2), None


@cache
def _blockwise() -> Any:
    """The function with its derivative; made when it is needed, since torch is imported then."""
    import torch

    class Blockwise(torch.autograd.Function):  # type: ignore[misc]
        """softmax(q k^T) v with q (shared, group, tokens, width), k and v (shared, tokens, width)."""

        @staticmethod
        def forward(context: Any, q: Any, k: Any, v: Any) -> Any:
            shared, group, length, width = q.shape
            out = torch.empty_like(q, memory_format=torch.contiguous_format)
            kept = []
            for begin, end in _blocks(length):
                scores = torch.bmm(_flat(q, begin, end), k[:, :end].transpose(1, 2)).view(shared, group, -1, end)
                # Of the keys that are read, only those of the block itself may come after a query.
                later = torch.ones(end - begin, end - begin, dtype=torch.bool).triu_(1)
                scores[..., begin:].masked_fill_(later, float("-inf"))
                weights = torch.softmax(scores, -1)
                read = torch.bmm(weights.view(shared, -1, end), v[:, :end])
                out[:, :, begin:end] = read.view(shared, group, -1, width)
                kept.append(weights)
            context.save_for_backward(q, k, v, *kept)
            return out

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            q, k, v, *kept = context.saved_tensors
            shared, group, length, width = q.shape
            dq = torch.empty_like(q, memory_format=torch.contiguous_format)
            dk, dv = torch.zeros_like(k), torch.zeros_like(v)
            for (begin, end), weights in zip(_blocks(length), kept, strict=True):
                above = _flat(gradient, begin, end)
                dweights = torch.bmm(above, v[:, :end].transpose(1, 2)).view_as(weights)
                dscores = torch._softmax_backward_data(dweights, weights, -1, weights.dtype).view(shared, -1, end)
                dv[:, :end] += torch.bmm(weights.view(shared, -1, end).transpose(1, 2), above)
                dk[:, :end] += torch.bmm(dscores.transpose(1, 2), _flat(q, begin, end))
                dq[:, :, begin:end] = torch.bmm(dscores, k[:, :end]).view(shared, group, -1, width)
            return dq, dk, dv

    return Blockwise


def _blocks(length: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + BLOCK, length)) for begin in range(0, length, BLOCK)]


def _flat(x: Any, begin: int, end: int) -> Any:
    """A block of (shared, group, tokens, width) as (shared, group * tokens, width)."""
    return x[:, :, begin:end].flatten(1, 2)
