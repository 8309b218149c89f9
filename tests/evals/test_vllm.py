"""The vLLM player, against a stand-in for vLLM: what it asks for, and what it hands over."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from provegym.evals import vllm
from provegym.evals.vllm import Vllm
from provegym.policies.local import Sampled


class Weight:
    """A tensor that only says how it was cast."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = self

    def bfloat16(self) -> str:
        """In 16 bits."""
        return f"{self.name} in 16 bits"


class Engine:
    """Counts up from the last token of every prompt, and remembers what it was given."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.weights: list[Any] = []
        self.resets = 0

    def generate(self, prompts: list[Any], params: Any, use_tqdm: bool) -> list[Any]:
        """Two tokens after each prompt, the second half as likely as the first."""
        self.params = params
        outputs = []
        for prompt in prompts:
            ids = [prompt["prompt_token_ids"][-1] + 1, prompt["prompt_token_ids"][-1] + 2]
            told = [{token: SimpleNamespace(logprob=-float(at))} for at, token in enumerate(ids)]
            outputs.append(SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, logprobs=told)]))
        return outputs

    def apply_model(self, function: Any) -> None:
        """Let a function have the model."""
        function(SimpleNamespace(load_weights=self.weights.extend))

    def reset_prefix_cache(self) -> None:
        """What was cached belongs to the weights of before."""
        self.resets += 1


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Vllm:
    """A player over the stand-in."""
    monkeypatch.setitem(os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    fake = SimpleNamespace(LLM=Engine, SamplingParams=SimpleNamespace)
    monkeypatch.setattr(vllm, "need", lambda _: fake)
    return Vllm("some/model", 4096, temperature=0.5, seed=3)


def test_tokens_come_back_with_their_own_log_probabilities(player: Vllm) -> None:
    samples = player.generate([[1, 5], [7]], most=40)
    assert samples == [Sampled([6, 7], [0.0, -1.0]), Sampled([8, 9], [0.0, -1.0])]
    asked = player.engine.params
    assert (asked.temperature, asked.max_tokens, asked.logprobs) == (0.5, 40, 0)
    assert player.engine.settings["model"] == "some/model"
    assert (player.engine.settings["max_model_len"], player.engine.settings["seed"]) == (4096, 3)


def test_an_adapter_is_merged_and_the_cache_of_the_old_weights_goes(
    player: Vllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = SimpleNamespace(named_parameters=lambda: [("a", Weight("a")), ("b", Weight("b"))])
    model = SimpleNamespace(merge_and_unload=lambda: merged)
    asked: list[Any] = []
    monkeypatch.setattr(vllm, "load", lambda *given: asked.append(given) or (model, None))
    player.wear(Path("adapter"))
    assert asked == [("some/model", Path("adapter"), "cpu")]
    assert player.engine.weights == [("a", "a in 16 bits"), ("b", "b in 16 bits")]
    assert player.engine.resets == 1
