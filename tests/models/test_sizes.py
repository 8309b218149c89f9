"""The sizes of models: parameters, KV cache and activations, from configurations."""

from typing import Any

import pytest

pytest.importorskip("transformers")

from provegym.models import sizes
from provegym.models.sizes import PUBLISHED, ModelSizes, find_sizes

EMBEDDED = {
    "num_hidden_layers": 30,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49_152,
    "tie_word_embeddings": True,
}


def test_the_embedded_model_is_counted_exactly() -> None:
    found = ModelSizes.of(EMBEDDED)
    assert found.parameters == 134_515_008
    assert found.cache_bytes == 23_040


def test_activations_are_near_what_was_measured() -> None:
    """On an H200, 32 more sequences of a packed pass, 22,500 tokens, took 16 GB more."""
    measured = 16e9 / 22_500
    found = ModelSizes.of(EMBEDDED)
    assert 0.8 < found.activation_bytes(checkpointing=False) / measured < 1.3
    assert found.activation_bytes(True) < found.activation_bytes(False) / 5


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("Qwen/Qwen3-4B-Instruct-2507", 4.02),
        ("Qwen/Qwen3-8B", 8.19),
        ("Qwen/Qwen2.5-7B-Instruct", 7.62),
    ],
)
def test_the_models_of_the_paper_have_the_parameters_that_are_published(
    name: str, billions: float
) -> None:
    assert PUBLISHED[name].parameters / 1e9 == pytest.approx(billions, abs=0.01)


def test_a_model_of_unknown_size_has_no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(name: str) -> dict[str, Any]:
        if name == "gone" or name in PUBLISHED:
            raise OSError
        return {"experts": {**EMBEDDED, "num_experts": 8}, "other": {}, "dense": EMBEDDED}[name]

    monkeypatch.setattr(sizes, "configuration", here)
    assert find_sizes("dense") == ModelSizes.of(EMBEDDED)
    assert find_sizes("Qwen/Qwen3-8B") == PUBLISHED["Qwen/Qwen3-8B"]
    assert [find_sizes(name) for name in ("gone", "experts", "other")] == [None] * 3
