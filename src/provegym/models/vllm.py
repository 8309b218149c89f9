"""vLLM in this process: hundreds of conversations at once where there is a GPU."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provegym.models.local import embedded, load
from provegym.models.optional import need
from provegym.models.source import Sampled, Source

MEMORY = 0.4
NOT_ASKED = float("nan")
TOGETHER = 8


class Continuous(Source):
    """An engine of vLLM in this process.

    `settings` are vLLM's sampling parameters; log-probabilities are asked for by `logprobs=0`, and
    are no numbers otherwise.
    """

    def __init__(self, model: Any, **settings: Any) -> None:
        self.engine = model.llm_engine
        self.passes = 0
        self.make = need("vllm").SamplingParams
        kind = need("vllm.sampling_params").RequestOutputKind.FINAL_ONLY
        # Text is made of the tokens by the codec, and once is enough.
        self.settings = {"detokenize": False, "output_kind": kind, **settings}

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Put a request in the engine's queue."""
        prompt = {"type": "token", "prompt_token_ids": context}
        self.engine.add_request(str(seat), prompt, self.make(max_tokens=most, **self.settings))

    def take(self) -> Mapping[int, Sampled]:
        """Turn the engine until some requests are finished; look only every few passes.

        A pass that also reads new prompts is not one launch of a graph, as one that only goes on
        is, so what is asked next had better be asked together.
        """
        ended: dict[int, Sampled] = {}
        while self.engine.has_unfinished_requests():
            found = [output for output in self.engine.step() if output.finished]
            ended |= {int(each.request_id): _sampled(each.outputs[0]) for each in found}
            self.passes += 1
            if ended and self.passes % TOGETHER == 0:
                return ended
        if not ended:
            raise RuntimeError("vLLM has nothing left to do, and owes replies")
        return ended


def _sampled(output: Any) -> Sampled:
    ids = list(output.token_ids)
    if output.logprobs is None:
        return Sampled(ids, [NOT_ASKED] * len(ids))
    pairs = zip(ids, output.logprobs, strict=True)
    return Sampled(ids, [step[token].logprob for token, step in pairs])


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
