"""The vLLM player, against a stand-in for vLLM: what it asks for, and what it hands over."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from provegym.models import vllm
from provegym.models.source import Sampled
from provegym.models.vllm import Vllm


class Params(SimpleNamespace):
    """Sampling parameters, with vLLM's default where it is read."""

    logprobs = None


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
        self.llm_engine = Queue()

    def apply_model(self, function: Any) -> None:
        """Let a function have the model."""
        function(SimpleNamespace(load_weights=self.weights.extend))

    def reset_prefix_cache(self) -> None:
        """What was cached belongs to the weights of before."""
        self.resets += 1


class Queue:
    """Finishes one request per step, the last first, as an engine may."""

    def __init__(self) -> None:
        self.open: list[tuple[str, Any, Any]] = []
        self.steps = 0

    def add_request(self, name: str, prompt: Any, params: Any) -> None:
        """Keep a request."""
        self.open.append((name, prompt, params))

    def has_unfinished_requests(self) -> bool:
        """Whether something is left to do."""
        return bool(self.open)

    def step(self) -> list[Any]:
        """Nothing, then two tokens after a prompt, the second half as likely as the first."""
        self.steps += 1
        if self.steps % 2:
            return []
        name, prompt, self.params = self.open.pop()
        assert prompt["type"] == "token"
        ids = [prompt["prompt_token_ids"][-1] + 1, prompt["prompt_token_ids"][-1] + 2]
        told = [{token: SimpleNamespace(logprob=-float(at))} for at, token in enumerate(ids)]
        output = SimpleNamespace(
            token_ids=ids, logprobs=told if self.params.logprobs == 0 else None
        )
        return [SimpleNamespace(request_id=name, finished=True, outputs=[output])]


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Vllm:
    """A player over the stand-in."""
    monkeypatch.setitem(os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    kinds = SimpleNamespace(FINAL_ONLY="the end")
    fake = SimpleNamespace(LLM=Engine, SamplingParams=Params, RequestOutputKind=kinds)
    monkeypatch.setattr(vllm, "need", lambda _: fake)
    return Vllm("some/model", 4096, temperature=0.5, seed=3)


def test_replies_come_as_they_end_and_belong_to_who_asked(
    player: Vllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm, "TOGETHER", 1)
    player.source.ask(4, [1, 5], 40)
    player.source.ask(2, [7], 30)
    (seat, last), (other, first) = (*player.source.take().items(), *player.source.take().items())
    assert (seat, last.ids, other, first.ids) == (2, [8, 9], 4, [6, 7])
    assert all(value != value for value in first.logprobs)
    asked = player.engine.llm_engine.params
    assert (asked.temperature, asked.max_tokens, asked.output_kind) == (0.5, 40, "the end")
    with pytest.raises(RuntimeError, match="no unfinished requests"):
        player.source.take()


def test_what_ends_within_a_few_passes_comes_together(player: Vllm) -> None:
    for seat in range(6):
        player.source.ask(seat, [seat], 9)
    assert [sorted(player.source.take()) for _ in range(2)] == [[2, 3, 4, 5], [0, 1]]
    assert player.source.passes == vllm.TOGETHER + 4


def test_tokens_come_back_with_their_own_log_probabilities(player: Vllm) -> None:
    source = vllm.Continuous(player.engine, temperature=1.0, logprobs=0)
    source.ask(0, [7], 9)
    assert source.take() == {0: Sampled([8, 9], [0.0, -1.0])}


def test_the_engine_is_made_as_asked(player: Vllm) -> None:
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
