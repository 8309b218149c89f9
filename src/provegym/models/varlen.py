"""Variable-length attention: many sequences in one row of tokens, without padding and masks."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from provegym.models import cpu_attention
from provegym.models.optional import need


class Bounds(NamedTuple):
    """Where the sequences of a row are.

    `queries` and `keys` are int32 tensors: the places where the sequences begin, and the end. With
    `used`, a sequence has only so many keys, and the rest of its room is not looked at.
    """

    queries: Any
    keys: Any
    longest_query: int
    longest_key: int
    used: Any = None


def attention(query: Any, key: Any, value: Any, bounds: Bounds, scale: float | None) -> Any:
    """Causal attention of each sequence, on tensors of tokens x heads x width.

    The last query of a sequence sees all its keys.
    """
    made = _flash if query.device.type == "cuda" else _plain
    return made(query, key, value, bounds, scale)


def _flash(query: Any, key: Any, value: Any, bounds: Bounds, scale: float | None) -> Any:
    return need("torch").ops.aten._flash_attention_forward(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        bounds.queries,
        bounds.keys,
        bounds.longest_query,
        bounds.longest_key,
        0.0,
        True,
        False,
        scale=scale,
        seqused_k=bounds.used,
    )[0]


def _plain(query: Any, key: Any, value: Any, bounds: Bounds, scale: float | None) -> Any:
    """The same for the CPU, sequence by sequence."""
    torch = need("torch")
    attend = cpu_attention.attend if value.dtype == torch.bfloat16 else _sdpa
    spans = _spans(bounds)
    return torch.cat([attend(query[q], key[k], value[k], scale) for q, k in spans])


def _sdpa(query: Any, key: Any, value: Any, scale: float | None) -> Any:
    torch = need("torch")
    earlier = len(key) - len(query)
    # Without a mask, the kernel skips what no query sees: a third of the time.
    late = torch.ones(len(query), len(key), dtype=torch.bool).tril(earlier) if earlier else None
    # With a batch dimension, the kernel stores no attention weights: a tenth of the memory.
    parts = (each.transpose(0, 1)[None] for each in (query, key, value))
    (made,) = torch.nn.functional.scaled_dot_product_attention(
        *parts, attn_mask=late, is_causal=not earlier, scale=scale, enable_gqa=True
    )
    return made.transpose(0, 1)


def _spans(bounds: Bounds) -> Iterator[tuple[slice, slice]]:
    """The places of the queries and the keys of each sequence."""
    starts = bounds.keys.tolist()
    ends = starts[1:]
    if bounds.used is not None:
        ends = [start + used for start, used in zip(starts, bounds.used.tolist(), strict=False)]
    queries = pairwise(bounds.queries.tolist())
    for (q_from, q_to), k_from, k_to in zip(queries, starts, ends, strict=False):
        yield slice(q_from, q_to), slice(k_from, k_to)
