"""A model on vLLM, which plays hundreds of tasks at once where there is a GPU."""

import os
from pathlib import Path
from typing import Any

from provegym.policies.local import Sampled, embedded, load, need

MEMORY = 0.4


class Vllm:
    """An engine that samples one model, and after it others of the same shape."""

    def __init__(self, name: str, longest: int, temperature: float, seed: int = 0) -> None:
        # New weights are handed to the model itself, so it must live in this process.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        self.vllm = need("vllm")
        self.name, self.temperature = name, temperature
        self.engine: Any = self.vllm.LLM(
            model=str(embedded() if name == "embedded" else name),
            dtype="bfloat16",
            max_model_len=longest,
            gpu_memory_utilization=MEMORY,
            seed=seed,
        )

    def wear(self, adapter: Path) -> None:
        """Take on the weights of the base with an adapter merged in."""
        merged = load(self.name, adapter, "cpu")[0].merge_and_unload()
        weights = [(name, value.data.bfloat16()) for name, value in merged.named_parameters()]

        def put(model: Any) -> None:
            model.load_weights(weights)

        self.engine.apply_model(put)
        self.engine.reset_prefix_cache()

    def generate(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        """One continuation of each context."""
        params = self.vllm.SamplingParams(temperature=self.temperature, max_tokens=most, logprobs=0)
        prompts = [{"prompt_token_ids": context} for context in contexts]
        outputs = self.engine.generate(prompts, params, use_tqdm=False)
        return [_sampled(output.outputs[0]) for output in outputs]


def _sampled(output: Any) -> Sampled:
    ids = list(output.token_ids)
    pairs = zip(ids, output.logprobs, strict=True)
    return Sampled(ids, [step[token].logprob for token, step in pairs])
