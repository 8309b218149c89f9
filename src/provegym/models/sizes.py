"""The sizes of a model from its configuration: parameters, and bytes per token in memory.

They hold for dense decoder-only transformers with gated layers, such as Llama, Qwen and Granite.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from provegym.models.local import configuration

KEY_AND_VALUE = TWO_BYTES = 2
FOUR_BYTES = 4
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


class ModelSizes(msgspec.Struct, frozen=True):
    """The sizes of a model. `inner` is the width of its gated layers, `width` that of a head."""

    layers: int
    hidden: int
    inner: int
    heads: int
    kept: int
    width: int
    vocabulary: int
    is_tied: bool = False

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "ModelSizes":
        """The sizes in a configuration of transformers."""
        heads = config["num_attention_heads"]
        return cls(
            config["num_hidden_layers"],
            config["hidden_size"],
            config["intermediate_size"],
            heads,
            config.get("num_key_value_heads") or heads,
            config.get("head_dim") or config["hidden_size"] // heads,
            config["vocab_size"],
            bool(config.get("tie_word_embeddings")),
        )

    @property
    def parameters(self) -> int:
        """The number of parameters, without biases."""
        matrices = sum(into * out for into, out in self.linear.values())
        embeddings = self.vocabulary * self.hidden * (1 if self.is_tied else 2)
        return self.layers * (matrices + 2 * self.hidden) + embeddings + self.hidden

    @property
    def linear(self) -> dict[str, tuple[int, int]]:
        """The sizes of the linear layers of a block, by the names that adapters use."""
        hidden, inner = self.hidden, self.inner
        query, key = self.heads * self.width, self.kept * self.width
        return {
            "q_proj": (hidden, query),
            "k_proj": (hidden, key),
            "v_proj": (hidden, key),
            "o_proj": (query, hidden),
            "gate_proj": (hidden, inner),
            "up_proj": (hidden, inner),
            "down_proj": (inner, hidden),
        }

    @property
    def cache_bytes(self) -> int:
        """The bytes of a token in the KV cache, in 16 bits."""
        return self.layers * self.kept * self.width * KEY_AND_VALUE * TWO_BYTES

    def activation_bytes(self, checkpointing: bool) -> int:
        """About how many bytes of a token are kept for the backward pass.

        Counted for layers that compute in 16 bits with norms in 32. It gives 806 kB for the
        embedded model; 711 kB were measured, with an adapter. With checkpointing, only the input of
        each layer is kept, and the activations of one layer at a time.
        """
        norms = 2 * (2 * FOUR_BYTES + TWO_BYTES) * self.hidden
        attention = 2 * TWO_BYTES * (self.heads + self.kept) * self.width
        gated = 4 * TWO_BYTES * self.inner
        layer = norms + attention + gated
        return (
            self.layers * FOUR_BYTES * self.hidden + layer if checkpointing else self.layers * layer
        )


# Models of the paper, for machines that do not have their configuration.
QWEN = 151_936
PUBLISHED = {
    "Qwen/Qwen3-4B-Instruct-2507": ModelSizes(36, 2560, 9728, 32, 8, 128, QWEN, is_tied=True),
    "Qwen/Qwen3-8B": ModelSizes(36, 4096, 12_288, 32, 8, 128, QWEN),
    "Qwen/Qwen2.5-7B-Instruct": ModelSizes(28, 3584, 18_944, 28, 4, 128, 152_064),
}


def find_sizes(name: str) -> ModelSizes | None:
    """The sizes of a model; None if its configuration is not here, or of another kind."""
    try:
        config = configuration(name)
        return None if any(config.get(key) for key in EXPERTS) else ModelSizes.of(config)
    except (OSError, ValueError):
        return PUBLISHED.get(name)
    except KeyError:
        return None
