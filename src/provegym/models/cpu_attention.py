"""Causal attention in 16 bits on a CPU, as plain matrix products over blocks of queries.

Torch's flash attention for CPUs takes two to three times as long: its blocks are too small for the
matrix units. The scores of a block are kept for the softmax alone and computed again for gradients,
so memory grows with a block and not with a sequence. Scores are rounded to 16 bits, which flash
attention does not do; so keys are centred first, because large ones of one sign lose most.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from provegym.models.optional import need

BLOCK = 128


def attend(query: Any, key: Any, value: Any, scale: float | None) -> Any:
    """Attention of tokens x heads x width; the last query sees all keys.

    Heads may share keys (grouped-query attention).
    """
    count, heads, width = query.shape
    shared = key.shape[1]
    scale = width**-0.5 if scale is None else scale
    # The softmax does not change if all keys move by the same vector.
    key = (key - key.detach().float().mean(0)).to(value.dtype)
    grouped = (query * scale).view(count, shared, heads // shared, width).permute(1, 2, 0, 3)
    keys, values = (each.transpose(0, 1).contiguous() for each in (key, value))
    out = _blocks().apply(grouped.contiguous(), keys, values)
    return out.permute(2, 0, 1, 3).reshape(count, heads, width)


@cache
def _blocks() -> Any:
    torch = need("torch")

    def weights(query: Any, key: Any) -> Any:
        """The softmax of a block's scores: shared x (group and query) x seen."""
        shared, group, count, _ = query.shape
        scores = query.flatten(1, 2) @ key.transpose(1, 2)
        late = torch.ones(count, count, dtype=torch.bool).triu(1)
        scores.view(shared, group, count, -1)[..., -count:].masked_fill_(late, -torch.inf)
        return scores.softmax(-1)

    class Blocks(need("torch").autograd.Function):  # type: ignore[misc]
        """Queries are shared x group x tokens x width, keys and values shared x tokens x width."""

        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any) -> Any:
            ctx.save_for_backward(query, key, value)
            out = torch.empty_like(query)
            for start, end, seen in _spans(query, key):
                some = weights(query[:, :, start:end], key[:, :seen]) @ value[:, :seen]
                out[:, :, start:end] = some.view_as(out[:, :, start:end])
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            query, key, value = ctx.saved_tensors
            d_query = torch.empty_like(query)
            d_key, d_value = (torch.zeros_like(each, dtype=torch.float32) for each in (key, value))
            for start, end, seen in _spans(query, key):
                some, keys, values = query[:, :, start:end], key[:, :seen], value[:, :seen]
                shown = weights(some, keys)
                above = grad[:, :, start:end].flatten(1, 2)
                d_value[:, :seen] += shown.transpose(1, 2) @ above
                d_shown = above @ values.transpose(1, 2)
                d_scores = torch.ops.aten._softmax_backward_data(d_shown, shown, -1, shown.dtype)
                d_query[:, :, start:end] = (d_scores @ keys).view_as(some)
                d_key[:, :seen] += d_scores.transpose(1, 2) @ some.flatten(1, 2)
            return d_query, d_key.to(key.dtype), d_value.to(value.dtype)

    return Blocks


def _spans(query: Any, key: Any) -> Iterator[tuple[int, int, int]]:
    """The first and last query of each block, and how many keys the block sees."""
    count, earlier = query.shape[2], key.shape[1] - query.shape[2]
    for start in range(0, count, BLOCK):
        end = min(count, start + BLOCK)
        yield start, end, earlier + end
