"""More positions than a model has: near tokens look as before, and the setting is saved."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from examples import pay_example
from provegym.models import local
from train.tiny import build_model, build_tokenizer

HELD = 8_192


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = build_tokenizer([pay_example()])
    build_model(tokenizer, seed=1).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def frequencies(model: Any) -> Any:
    return model.model.rotary_emb.inv_freq


def test_slow_frequencies_turn_more_slowly_and_fast_ones_as_before(folder: Path) -> None:
    plain, _ = local.load(folder, None, "cpu")
    model, _ = local.load(folder, None, "cpu", positions=2 * HELD)
    assert model.config.max_position_embeddings == 2 * HELD
    ratio = frequencies(model) / frequencies(plain)
    assert ratio[0] == 1
    assert ratio[-1] == 0.5
    assert all(
        torch.equal(*pair) for pair in zip(model.parameters(), plain.parameters(), strict=True)
    )


def test_a_saved_model_keeps_its_positions(folder: Path, tmp_path: Path) -> None:
    model, tokenizer = local.load(folder, None, "cpu", positions=2 * HELD)
    model.save_pretrained(tmp_path / "saved")
    tokenizer.save_pretrained(tmp_path / "saved")
    again, _ = local.load(tmp_path / "saved", None, "cpu")
    assert torch.equal(frequencies(again), frequencies(model))
    with pytest.raises(local.NoModel, match=r"16,384 positions cannot become 20,000"):
        local.load(tmp_path / "saved", None, "cpu", positions=20_000)


def test_a_model_with_enough_positions_stays_as_it_is(folder: Path) -> None:
    plain, _ = local.load(folder, None, "cpu")
    model, _ = local.load(folder, None, "cpu", positions=100)
    assert model.config.max_position_embeddings == HELD
    assert torch.equal(frequencies(model), frequencies(plain))
