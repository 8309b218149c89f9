"""A LoRA adapter extracted from a full fine-tune: what it keeps, its bytes, and where it loads."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from command import run
from examples import pay_example
from provegym.models import local
from provegym.models.extract import CONFIG, WEIGHTS, CannotExtract, Extracted, extract
from provegym.train.recipe import Grpo, Lora, Model, Recipe
from provegym.train.run import TrainError
from provegym.train.start import _check_adapter, held_lora, policy, save_adapter
from train.tiny import build_model, build_tokenizer

WHOLE = 1.0
IDS = torch.tensor([[5, 6, 7, 8, 9, 40, 41, 42]])
MATRICES = 14
# Of the weights of the tiny model that no adapter holds.
OUTSIDE = ("embed", "norm")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([pay_example()], size=400)


@pytest.fixture
def base(tokenizer: Any, tmp_path: Path) -> Path:
    """A model with random weights, and gains of norms that differ."""
    model = build_model(tokenizer, seed=1, width=32)
    for name, weights in model.named_parameters():
        weights.data *= 4.0
        if "norm" in name:
            weights.data = torch.rand_like(weights) / 2 + 0.5
    return save(model, tokenizer, tmp_path / "base")


def save(model: Any, tokenizer: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tuned(base: Path, tokenizer: Any, size: float = 0.05, outside: bool = False) -> Path:
    """The model after something has changed all of its weights, or those an adapter can hold."""
    model = LlamaForCausalLM.from_pretrained(base)
    torch.manual_seed(7)
    for name, weights in model.named_parameters():
        if outside or not any(each in name for each in OUTSIDE):
            # Some directions change more than others.
            falling = torch.logspace(0, -2, weights.shape[-1])
            weights.data += size * torch.randn_like(weights) * falling
    return save(model, tokenizer, base.parent / "full")


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model.eval()(IDS).logits


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def distance(base: Path, adapter: Path | None, full: Path) -> float:
    """How far the logits with an adapter are from the full model's, at most."""
    model, _ = local.load(base, adapter, "cpu")
    return (logits(model) - logits(local.load(full, None, "cpu")[0])).abs().max().item()


def test_with_room_for_all_ranks_it_is_the_full_model(base: Path, tokenizer: Any) -> None:
    """But for norms and embedding; factors are rounded to bfloat16."""
    full, out = tuned(base, tokenizer), base.parent / "out"
    found = extract(full, base, out, WHOLE)
    assert found == Extracted(
        bytes=size(out), matrices=MATRICES, lowest_rank=16, highest_rank=32, kept=1.0, left_out=0.0
    )
    assert distance(base, None, full) > 0.3
    assert distance(base, out, full) < 0.01
    merged = local.load(base, out, "cpu")[0].merge_and_unload()
    assert merged.lm_head.weight is merged.model.embed_tokens.weight
    plain = local.load(base, out, "cpu")[0]
    assert torch.allclose(logits(merged), logits(plain), atol=1e-4)


def test_what_no_adapter_holds_is_told(base: Path, tokenizer: Any) -> None:
    found = extract(tuned(base, tokenizer, outside=True), base, base.parent / "out", WHOLE)
    assert found.kept == 1.0
    assert 0.05 < found.left_out < 0.9


def test_a_difference_of_rank_one_is_found(base: Path, tokenizer: Any) -> None:
    """Whatever the budget is; the other matrices get the lowest rank, with nothing in it."""
    model = LlamaForCausalLM.from_pretrained(base)
    up, down = torch.linspace(-1, 1, 64)[:, None], torch.linspace(0.5, 1, 32)[None]
    model.model.layers[1].mlp.gate_proj.weight.data += up * down
    full, out = save(model, tokenizer, base.parent / "full"), base.parent / "out"
    found = extract(full, base, out, WHOLE)
    assert (found.lowest_rank, found.highest_rank, found.kept) == (1, 1, pytest.approx(1.0))
    assert distance(base, out, full) < 0.05
    layers = local.load(base, out, "cpu")[0].base_model.model.model.layers
    changes = [
        each.get_delta_weight("default").norm().item()
        for name, each in layers.named_modules()
        if name.endswith("_proj")
    ]
    assert sum(change > 0 for change in changes) == 1
    assert max(changes) == pytest.approx((up * down).norm().item(), rel=0.01)


@pytest.mark.parametrize("megabytes", [0.0171, 0.02, 0.0313, 0.05])
def test_a_budget_is_kept_and_used_up_to_a_rank(
    base: Path, tokenizer: Any, megabytes: float
) -> None:
    out = base.parent / "out"
    found = extract(tuned(base, tokenizer), base, out, megabytes)
    assert {file.name for file in out.iterdir()} == {WEIGHTS, CONFIG}
    # Another rank of the largest matrix takes 192 bytes, its names and numbers a few more.
    assert megabytes * 1e6 - 400 < found.bytes == size(out) <= megabytes * 1e6
    assert 0.5 < found.kept < 1.0


def test_more_bytes_never_keep_less(base: Path, tokenizer: Any) -> None:
    """Neither of the difference, nor of the weights as they are after rounding."""
    full = tuned(base, tokenizer)
    shares, residuals = [], []
    for at in range(12):
        out = base.parent / f"out{at}"
        shares.append(extract(full, base, out, 0.014 + 0.005 * at).kept)
        residuals.append(residual(base, out, full))
    assert shares == sorted(shares)
    assert shares[0] < 0.9 * shares[-1]
    assert all(more <= less * (1 + 1e-6) for less, more in pairwise(residuals))


def residual(base: Path, adapter: Path, full: Path) -> float:
    """The squared difference to the full model's weights."""
    merged = local.load(base, adapter, "cpu")[0].merge_and_unload()
    theirs = dict(local.load(full, None, "cpu")[0].named_parameters())
    pairs = ((weights, theirs[name]) for name, weights in merged.named_parameters())
    return sum((one - two).square().sum().item() for one, two in pairs)


def test_equal_models_give_equal_bytes(base: Path, tokenizer: Any) -> None:
    full = tuned(base, tokenizer)
    for name in ("one", "two"):
        extract(full, base, base.parent / name, 0.05)
    for file in (WEIGHTS, CONFIG):
        one, two = ((base.parent / name / file).read_bytes() for name in ("one", "two"))
        assert one == two


def test_nothing_changed_is_an_adapter_that_changes_nothing(base: Path) -> None:
    found = extract(base, base, base.parent / "out", WHOLE)
    assert (found.highest_rank, found.kept, found.left_out) == (1, 1.0, 0.0)
    assert distance(base, base.parent / "out", base) == 0.0


def test_it_can_be_trained_further(base: Path, tokenizer: Any) -> None:
    """All its ranks and scales are those it had, in the adapter that is saved again, too."""
    out = base.parent / "out"
    found = extract(tuned(base, tokenizer), base, out, 0.05)
    held = held_lora(Model(name=str(base), adapter=str(out)))
    assert held is not None
    assert found.lowest_rank < held.r == held.alpha < found.highest_rank
    assert set(held.targets) == set(Lora().targets)
    model, _ = policy(Model(name=str(base), adapter=str(out)), "cpu")
    trained = [weights for weights in model.parameters() if weights.requires_grad]
    assert len(trained) == 2 * MATRICES
    model(IDS, labels=IDS).loss.backward()
    torch.optim.SGD(trained, lr=0.1).step()
    save_adapter(model, base.parent / "again")
    again, _ = local.load(base, base.parent / "again", "cpu")
    assert (logits(again) - logits(model)).abs().max() < 0.05
    assert (logits(again) - logits(local.load(base, out, "cpu")[0])).abs().max() > 0.05


def test_a_recipe_cannot_ask_for_one_rank(base: Path, tokenizer: Any) -> None:
    out = base.parent / "out"
    extract(tuned(base, tokenizer), base, out, 0.05)
    held = held_lora(Model(adapter=str(out)))
    recipe = Recipe(model=Model(name=str(base), adapter=str(out), lora=held), grpo=Grpo())
    with pytest.raises(TrainError, match="its ranks differ from layer to layer"):
        _check_adapter(recipe)
    _check_adapter(msgspec.structs.replace(recipe, model=Model(adapter=str(out))))


def test_what_cannot_be_extracted_is_said_in_a_sentence(base: Path, tokenizer: Any) -> None:
    full, there = tuned(base, tokenizer), base.parent
    with pytest.raises(local.NoModel, match=r"none is no model folder: it has no config\.json"):
        extract(there / "none", base, there / "out", WHOLE)
    with pytest.raises(CannotExtract, match=r"adapter of rank 1 has [\d,]+ bytes, more than .* 10"):
        extract(full, base, there / "out", 0.00001)
    with pytest.raises(CannotExtract, match="more than the budget of nan"):
        extract(full, base, there / "out", float("nan"))
    assert not (there / "out").exists()
    wide = save(build_model(tokenizer, width=64), tokenizer, there / "wide")
    with pytest.raises(CannotExtract, match=r"not trained from .*/wide: .*\(400, 32\), and \(400"):
        extract(full, wide, there / "out", WHOLE)
    deep = LlamaConfig.from_pretrained(base, num_hidden_layers=3)
    save(LlamaForCausalLM(deep), tokenizer, there / "deep")
    with pytest.raises(CannotExtract, match=r"layers\.2.* is missing, and .* in the base"):
        extract(full, there / "deep", there / "out", WHOLE)
    extract(full, base, there / "out", WHOLE)
    with pytest.raises(CannotExtract, match="exists already; name another --out"):
        extract(full, base, there / "out", WHOLE)
    with pytest.raises(local.NoModel, match="is an adapter already"):
        extract(there / "out", base, there / "more", WHOLE)


def test_the_command_tells_what_it_wrote(base: Path, tokenizer: Any) -> None:
    full, out = tuned(base, tokenizer, outside=True), base.parent / "out"
    line = ("extract", str(full), "--base", str(base), "--megabytes", "0.05")
    done = run(*line, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "ranks" in done.stdout
    assert f"next: provegym eval heldout --model {base} --adapter {out}" in done.stderr
    again = run(*line, "--out", str(base.parent / "json"), "--json")
    told = msgspec.json.decode(again.stdout)
    assert told["bytes"] == size(out) == size(base.parent / "json")
    refused = run(*line, "--out", str(out))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1


def test_it_can_be_shipped(base: Path, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the adapter of the package: loaded by its name, and weakened for the quickstart."""
    from provegym.quickstart.lesson import weaken

    monkeypatch.setattr(local, "embedded", lambda: base)
    monkeypatch.setattr(local, "ADAPTER", base.parent / "out")
    full = tuned(base, tokenizer)
    extract(full, "embedded", base.parent / "out", WHOLE)
    config = msgspec.json.decode((base.parent / "out" / CONFIG).read_bytes())
    assert config["base_model_name_or_path"].endswith(local.EMBEDDED)
    assert str(base) not in str(config)
    near = logits(local.load("embedded", Path("shipped"), "cpu")[0])
    weaken(0.0, base.parent / "weak")
    weak = logits(local.load("embedded", base.parent / "weak", "cpu")[0])
    assert torch.allclose(weak, logits(local.load(base, None, "cpu")[0]))
    assert not torch.allclose(weak, near)
