"""What a model has read: the keys and values of its layers, with room for what is to come.

It stands in for the cache of transformers, which copies itself for every token and cannot be cut
into rows. Attention reads it as it lies there, without a copy for every head.
"""

from collections.abc import Sequence
from typing import Any

from provegym.models.optional import need

GROUPED = "provegym_grouped"
# What stands for plain attention over a cache: torch's, and ours for training.
ALIKE = ("sdpa", "provegym")


class Shelf:
    """Keys and values of a batch, layer by layer, each [rows, heads, room, size]."""

    is_compileable = False

    def __init__(self, room: int) -> None:
        self.room = room
        self.lengths: list[int] = []
        self.keys: list[Any] = []
        self.values: list[Any] = []

    @property
    def is_sliding(self) -> list[bool]:
        """No layer forgets."""
        return [False] * max(1, len(self.keys))

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return sum(part.nbytes for part in (*self.keys, *self.values))

    def update(self, keys: Any, values: Any, layer: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Put down what a layer has just read; all it knows so far."""
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
        """How much a layer has read."""
        return self.lengths[layer] if layer < len(self.lengths) else 0

    def get_query_offset(self, layer: int = 0) -> int:
        """Where the next token stands."""
        return self.get_seq_length(layer)

    def get_mask_sizes(self, query: int, layer: int = 0) -> tuple[int, int]:
        """How much there is to look at with so many new tokens, and from where."""
        return self.get_seq_length(layer) + query, 0

    def reorder_cache(self, rows: Any) -> None:
        """Keep these rows, in this order."""
        self.keys = [part[rows] for part in self.keys]
        self.values = [part[rows] for part in self.values]


def stack(shelves: Sequence[Shelf], spans: Sequence[tuple[int, int, int]], room: int) -> Shelf:
    """One span of a row of each shelf as rows of a new one, all with the same end."""
    made, width = Shelf(room), max(end - begin for _, begin, end in spans)
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
    """Tell transformers of an attention that shares keys among heads even where there is a mask.

    Its own repeats them for every head first, which on a CPU costs more than attention does.
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
