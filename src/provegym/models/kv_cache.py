"""A KV cache for a batch, allocated once at its full size.

It replaces the cache of transformers, which is copied for every new token and cannot be split into
rows. With grouped-query attention, heads share its keys and values without a copy for each head.
"""

from collections.abc import Sequence
from typing import Any

from provegym.models.optional import need

GROUPED = "provegym_grouped"
# Attention implementations that GROUPED can replace: torch's, and ours for training.
ALIKE = ("sdpa", "provegym")


class KVCache:
    """The KV cache: the keys and values of each layer, with shape [rows, heads, room, size]."""

    is_compileable = False

    def __init__(self, room: int) -> None:
        self.room = room
        self.lengths: list[int] = []
        self.keys: list[Any] = []
        self.values: list[Any] = []

    @property
    def is_sliding(self) -> list[bool]:
        """For transformers: no layer has a sliding window."""
        return [False] * max(1, len(self.keys))

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return sum(part.nbytes for part in (*self.keys, *self.values))

    def update(self, keys: Any, values: Any, layer: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Append new keys and values to a layer; return all keys and values of that layer."""
        if layer == len(self.keys):
            wide = (*keys.shape[:2], self.room, keys.shape[3])
            self.keys.append(keys.new_zeros(wide))
            self.values.append(values.new_zeros((*wide[:3], values.shape[3])))
            self.lengths.append(0)
        begin, end = self.lengths[layer], self.lengths[layer] + keys.shape[2]
        self.keys[layer][:, :, begin:end] = keys
        self.values[layer][:, :, begin:end] = values
        self.lengths[layer] = end
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]

    def get_seq_length(self, layer: int = 0) -> int:
        """The number of tokens in the cache of a layer."""
        return self.lengths[layer] if layer < len(self.lengths) else 0

    def get_query_offset(self, layer: int = 0) -> int:
        """The position of the next token."""
        return self.get_seq_length(layer)

    def get_mask_sizes(self, query: int, layer: int = 0) -> tuple[int, int]:
        """Length and offset of the attention mask for a number of new tokens."""
        return self.get_seq_length(layer) + query, 0

    def reorder_cache(self, rows: Any) -> None:
        """Keep only these rows, in this order."""
        self.keys = [part[rows] for part in self.keys]
        self.values = [part[rows] for part in self.values]


def stack(shelves: Sequence[KVCache], spans: Sequence[tuple[int, int, int]], room: int) -> KVCache:
    """Build a batch: copy a span (row, begin, end) of each cache into a row, aligned at the end."""
    made, width = KVCache(room), max(end - begin for _, begin, end in spans)
    for layer, (keys, values) in enumerate(zip(shelves[0].keys, shelves[0].values, strict=True)):
        shape = (len(spans), keys.shape[1], room)
        made.keys.append(keys.new_zeros((*shape, keys.shape[3])))
        made.values.append(values.new_zeros((*shape, values.shape[3])))
        made.lengths.append(width)
        for at, (shelf, (row, begin, end)) in enumerate(zip(shelves, spans, strict=True)):
            place = slice(width - (end - begin), width)
            made.keys[layer][at, :, place] = shelf.keys[layer][row, :, begin:end]
            made.values[layer][at, :, place] = shelf.values[layer][row, :, begin:end]
    return made


def register() -> None:
    """Register grouped-query attention that shares keys among heads also when there is a mask.

    The attention of transformers repeats the keys for every head first. On a CPU that copy takes
    more time than the attention.
    """
    need("transformers").AttentionInterface.register(GROUPED, _attend)
    masks = need("transformers.masking_utils")
    masks.AttentionMaskInterface.register(GROUPED, masks.sdpa_mask)


def _attend(
    _: Any, query: Any, key: Any, value: Any, attention_mask: Any, **settings: Any
) -> tuple[Any, None]:
    attention = need("torch").nn.functional.scaled_dot_product_attention
    seen = attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        scale=settings.get("scaling"),
        is_causal=attention_mask is None and query.shape[2] > 1,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return seen.transpose(1, 2).contiguous(), None
