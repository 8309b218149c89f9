"""A model on vLLM, which plays hundreds of tasks at once where there is a GPU."""

import os
from pathlib import Path
from typing import Any

from provegym.policies.local import embedded, load, need
from provegym.train.continuous import Continuous

MEMORY = 0.4


class Vllm:
    """An engine that samples one model, and after it others of the same shape; see `source`."""

    def __init__(self, name: str, longest: int, temperature: float, seed: int = 0) -> None:
        # New weights are handed to the model itself, so it must live in this process.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        self.name = name
        self.engine: Any = need("vllm").LLM(
            model=str(embedded() if name == "embedded" else name),
            dtype="bfloat16",
            max_model_len=longest,
            gpu_memory_utilization=MEMORY,
            seed=seed,
        )
        self.source = Continuous(self.engine, temperature=temperature)

    def wear(self, adapter: Path) -> None:
        """Take on the weights of the base with an adapter merged in."""
        merged = load(self.name, adapter, "cpu")[0].merge_and_unload()
        weights = [(name, value.data.bfloat16()) for name, value in merged.named_parameters()]

        def put(model: Any) -> None:
            model.load_weights(weights)

        self.engine.apply_model(put)
        self.engine.reset_prefix_cache()
