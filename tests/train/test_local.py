"""Models on this machine: what they sample, and what is said where they are not installed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provegym.policies import local
from provegym.policies.local import NotInstalled, Sampler, need


def test_what_is_missing_is_said_in_a_sentence() -> None:
    with pytest.raises(NotInstalled, match=r"no_such is missing: pip install 'provegym\[train\]'"):
        need("no_such.module")


def test_a_package_that_is_there_and_broken_says_so_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("import what_it_lacks")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_lacks"):
        need("broken")


def test_nothing_of_the_extra_is_imported_before_a_model_is() -> None:
    modules = "provegym.policies.local, provegym.train.engine, provegym.train.trl, provegym.cli"
    heavy = "{'torch', 'transformers', 'trl', 'peft', 'datasets'}"
    code = f"import sys, {modules}; print({heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.fixture(scope="module")
def pair() -> tuple[Any, Any]:
    pytest.importorskip("torch")
    from examples import pay_example
    from train.tiny import build_model, build_tokenizer

    tokenizer = build_tokenizer([pay_example()])
    return build_model(tokenizer, seed=1), tokenizer


CONTEXTS = [[5, 6, 7, 8, 9], [40, 41], [7] * 30]


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 1.5])
def test_log_probabilities_belong_to_the_sampled_tokens(
    pair: tuple[Any, Any], temperature: float
) -> None:
    import torch

    model, tokenizer = pair
    samples = Sampler(model, tokenizer, temperature, 3).generate(CONTEXTS, 12)
    for context, (ids, logprobs) in zip(CONTEXTS, samples, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([context + ids])).logits[0]
        scaled = (logits / (temperature or 1.0)).log_softmax(-1)
        expected = [scaled[len(context) - 1 + at, token].item() for at, token in enumerate(ids)]
        assert logprobs == pytest.approx(expected, abs=1e-4)


def test_the_seed_decides(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair

    def sample(seed: int) -> Any:
        return Sampler(model, tokenizer, 1.0, seed).generate(CONTEXTS, 12)

    assert sample(3) == sample(3)
    assert sample(3) != sample(4)


def test_a_sample_ends_with_the_turn_or_after_so_many_tokens(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair
    samples = Sampler(model, tokenizer, 5.0, 3).generate([[5]] * 200, 40)
    ends = tokenizer.eos_token_id
    assert {len(each.ids) for each in samples} != {40}
    for ids, logprobs in samples:
        assert len(ids) == len(logprobs) <= 40
        assert ends not in ids[:-1]
        assert len(ids) == 40 or ids[-1] == ends


def test_a_model_in_training_is_left_in_training(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair
    model.train()
    Sampler(model, tokenizer, 1.0, 3).generate([[5]], 2)
    assert model.training
    model.eval()
    Sampler(model, tokenizer, 1.0, 3).generate([[5]], 2)
    assert not model.training


@pytest.mark.filterwarnings("ignore")
def test_the_embedded_model_knows_its_capitals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gguf")
    pytest.importorskip("torch")
    from provegym.train.codec import Codec

    monkeypatch.setattr(local, "CACHE", tmp_path)
    model, tokenizer = local.load("embedded", None, "cpu")
    made = (tmp_path / local.EMBEDDED / "config.json").stat().st_mtime_ns
    assert local.embedded() == tmp_path / local.EMBEDDED
    assert (tmp_path / local.EMBEDDED / "config.json").stat().st_mtime_ns == made
    codec = Codec(tokenizer, 512)
    assert tokenizer.decode([codec.end]) == local.END
    context = codec.open("You are a helpful assistant.", "What is the capital of France?", [])
    ids = Sampler(model, tokenizer, 0.0, 0).generate([context], 24)[0].ids
    assert "Paris" in codec.reply(ids).text
    assert ids[-1] == codec.end
