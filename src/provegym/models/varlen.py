"""Variable-length attention: many sequences in one row of tokens, without padding and masks."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

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
    """The same for the CPU: SDPA attention, sequence by sequence."""
    torch = need("torch")
    sdpa = torch.nn.functional.scaled_dot_product_attention
    seen = []
    for q_from, q_to, k_from, k_to in _spans(bounds):
        some = (query[q_from:q_to], key[k_from:k_to], value[k_from:k_to])
        mask = torch.ones(q_to - q_from, k_to - k_from, dtype=torch.bool)
        late = mask.tril(k_to - k_from - (q_to - q_from))
        # With a batch dimension, the kernel stores no attention weights: a tenth of the memory.
        parts = (each.transpose(0, 1)[None] for each in some)
        (made,) = sdpa(*parts, attn_mask=late, scale=scale, enable_gqa=True)
        seen.append(made.transpose(0, 1))
    return torch.cat(seen)


def _spans(bounds: Bounds) -> Iterator[tuple[int, int, int, int]]:
    """The first and last place of the queries and the keys of each sequence."""
    starts = bounds.keys.tolist()
    ends = starts[1:]
    if bounds.used is not None:
        ends = [start + used for start, used in zip(starts, bounds.used.tolist(), strict=False)]
    queries = pairwise(bounds.queries.tolist())
    for (q_from, q_to), k_from, k_to in zip(queries, starts, ends, strict=False):
        yield q_from, q_to, k_from, k_to
