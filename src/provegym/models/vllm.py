"""vLLM in this process: continuous batching of hundreds of conversations on a GPU."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provegym.models.local import configuration, load, source
from provegym.models.optional import need
from provegym.models.sizes import ModelSizes
from provegym.models.source import Sampled, Source

MEMORY = 0.4
NOT_ASKED = float("nan")
TOGETHER = 8


class Continuous(Source):
    """Continuous batching with an engine of vLLM in this process.

    `settings` are vLLM's sampling parameters. Log-probabilities are NaN unless `logprobs=0` is set.
    """

    def __init__(self, model: Any, **settings: Any) -> None:
        self.engine = model.llm_engine
        self.passes = 0
        self.make = need("vllm").SamplingParams
        kind = need("vllm.sampling_params").RequestOutputKind.FINAL_ONLY
        # The codec decodes the tokens, so vLLM need not.
        self.settings = {"detokenize": False, "output_kind": kind, **settings}

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Put a request in the engine's queue."""
        prompt = {"type": "token", "prompt_token_ids": context}
        self.engine.add_request(str(seat), prompt, self.make(max_tokens=most, **self.settings))

    def take(self) -> Mapping[int, Sampled]:
        """Step the engine until some requests are finished; return only every few steps.

        A step that also reads new prompts cannot run as one CUDA graph, so new requests should
        arrive together.
        """
        ended: dict[int, Sampled] = {}
        while self.engine.has_unfinished_requests():
            found = [output for output in self.engine.step() if output.finished]
            ended |= {int(each.request_id): _sampled(each.outputs[0]) for each in found}
            self.passes += 1
            if ended and self.passes % TOGETHER == 0:
                return ended
        if not ended:
            raise RuntimeError("take was called, but vLLM has no unfinished requests")
        return ended


def _sampled(output: Any) -> Sampled:
    ids = list(output.token_ids)
    if output.logprobs is None:
        return Sampled(ids, [NOT_ASKED] * len(ids))
    pairs = zip(ids, output.logprobs, strict=True)
    return Sampled(ids, [step[token].logprob for token, step in pairs])


def _sized(name: str, together: int, longest: int, memory: float) -> dict[str, int]:
    """Settings for so many conversations at once. With them vLLM does not measure free memory."""
    card = need("torch").cuda.get_device_properties(0).total_memory
    needed = together * longest * ModelSizes.of(configuration(name)).cache_bytes
    return {"kv_cache_memory_bytes": min(needed, int(memory * card)), "max_num_seqs": together}


class Vllm:
    """A vLLM engine for one model, whose weights can be replaced; `source` samples from it."""

    def __init__(
        self,
        name: str,
        longest: int,
        temperature: float,
        *,
        seed: int = 0,
        memory: float = MEMORY,
        together: int = 0,
        **settings: Any,
    ) -> None:
        """Start an engine with a share of the GPU's memory; `settings` are for sampling.

        If at most `together` conversations are played at once, it takes no more than they need.
        """
        # `load` writes new weights into the model, so the model must run in this process.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        self.name = name
        self.engine: Any = need("vllm").LLM(
            model=source(name),
            dtype="bfloat16",
            max_model_len=longest,
            gpu_memory_utilization=memory,
            seed=seed,
            **(_sized(name, together, longest, memory) if together else {}),
        )
        self.source = Continuous(self.engine, temperature=temperature, **settings)

    def wear(self, adapter: Path) -> None:
        """Replace the weights by those of the base model with a LoRA adapter merged in."""
        merged = load(self.name, adapter, "cpu")[0].merge_and_unload()
        self.load([(name, value.data.bfloat16()) for name, value in merged.named_parameters()])

    def load(self, weights: list[tuple[str, Any]]) -> None:
        """Replace the weights."""

        def put(model: Any) -> None:
            model.load_weights(weights)

        self.engine.apply_model(put)
        self.engine.reset_prefix_cache()
