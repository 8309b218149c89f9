"""Compressed models: the arithmetic of signs and levels, the file, and where it loads."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM

from command import run
from examples import pay_example
from provegym.models import change, local
from provegym.models.compress import CannotCompress, Compressed, compress
from provegym.models.local import NoModel
from train.tiny import build_model, build_tokenizer

IDS = torch.tensor([[5, 6, 7, 8, 9, 40, 41, 42]])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([pay_example()], size=400)


def save(model: Any, tokenizer: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def base(tokenizer: Any, tmp_path: Path) -> Path:
    return save(build_model(tokenizer, seed=1, width=32), tokenizer, tmp_path / "base")


@pytest.fixture
def full(base: Path, tokenizer: Any, tmp_path: Path) -> Path:
    """The model after something has changed all of its weights."""
    model = LlamaForCausalLM.from_pretrained(base)
    torch.manual_seed(7)
    for weights in model.parameters():
        weights.data += 0.02 * torch.randn_like(weights)
    return save(model, tokenizer, tmp_path / "full")


def logits(name: Path) -> Any:
    with torch.no_grad():
        return local.load(name, None, "cpu")[0].eval()(IDS).logits


# Signs and levels


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (8, 8), (7, 64), (64, 65), (5, 128)])
def test_a_change_of_equal_sizes_comes_back_whole(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    whole = torch.randint(-1, 2, shape).float() * 0.25
    signed = change.sign(whole)
    assert (signed.signs.dtype, signed.levels.dtype) == (torch.uint8, torch.bfloat16)
    assert torch.equal(change.unsign(signed, whole), whole)
    groups = -(-whole.numel() // change.GROUP)
    assert len(signed.signs) == -(-groups * change.GROUP // 5)


def test_no_other_signs_with_the_same_levels_are_nearer() -> None:
    """Brute force: of the three values of each weight, the nearest was taken."""
    torch.manual_seed(1)
    whole = torch.randn(40, 64)
    signed = change.sign(whole)
    level = signed.levels.float()[:, None]
    nearest = torch.stack([whole + level, whole, whole - level]).abs().amin(0)
    assert torch.equal((whole - change.unsign(signed, whole)).abs(), nearest)


def test_what_is_lost_of_a_normal_distribution() -> None:
    """Three levels lose 19 % of the square of a normal distribution, as theory says."""
    torch.manual_seed(2)
    whole = torch.randn(400, 64)
    lost = (whole - change.unsign(change.sign(whole), whole)).square().sum() / whole.square().sum()
    assert 0.16 < lost < 0.195


def test_a_matrix_of_another_size_is_refused() -> None:
    signed = change.sign(torch.ones(8, 64))
    with pytest.raises(change.OtherModel, match="another size"):
        change.unsign(signed, torch.ones(9, 64))


# The file


def test_a_compressed_model_is_near_the_full_one_and_small(
    base: Path, full: Path, tmp_path: Path
) -> None:
    out = tmp_path / "small"
    found = compress(full, str(base), out)
    size = (out / change.FILE).stat().st_size
    assert found.bytes == size < 0.4 * found.weights
    assert 0.1 < found.lost < 0.2
    near, far = (logits(each) - logits(full) for each in (out, base))
    assert near.square().sum() < 0.4 * far.square().sum()


def test_an_unchanged_model_comes_back_to_the_last_bit(base: Path, tmp_path: Path) -> None:
    found = compress(base, str(base), tmp_path / "small")
    assert found.lost == 0
    wanted = dict(LlamaForCausalLM.from_pretrained(base).named_parameters())
    model, _ = local.load(tmp_path / "small", None, "cpu")
    for name, weights in model.named_parameters():
        assert torch.equal(weights, wanted[name].bfloat16().float())


def test_two_runs_write_the_same_bytes(base: Path, full: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        compress(full, str(base), tmp_path / name)
    one, two = ((tmp_path / name / change.FILE).read_bytes() for name in ("one", "two"))
    assert one == two


def test_it_is_used_like_a_folder_of_a_model(base: Path, full: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    compress(full, str(base), out)
    assert local.configuration(str(out))["hidden_size"] == 32
    assert local.load_tokenizer(out).chat_template
    unpacked = Path(local.source(out))
    assert (unpacked / "config.json").exists()
    written = (unpacked / "model.safetensors").stat().st_mtime_ns
    local.load(out, None, "cpu")
    assert (unpacked / "model.safetensors").stat().st_mtime_ns == written
    # Another change in the same folder is another model.
    compress(base, str(base), tmp_path / "other")
    (tmp_path / "other" / change.FILE).replace(out / change.FILE)
    assert Path(local.source(out)) != unpacked
    assert local.source(base) == str(base)


# What cannot be done


def test_errors_are_sentences(base: Path, full: Path, tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoModel, match=r"no model folder: it has no config\.json"):
        compress(tmp_path / "empty", str(base), tmp_path / "small")
    with pytest.raises(CannotCompress, match="exists already; name another --out"):
        compress(full, str(base), tmp_path / "empty")
    wide = save(build_model(tokenizer, seed=1, width=64), tokenizer, tmp_path / "wide")
    with pytest.raises(CannotCompress, match=r"was not trained from .*; name its base with --base"):
        compress(full, str(wide), tmp_path / "small")
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    with pytest.raises(NoModel, match="is an adapter, which is small already"):
        compress(tmp_path / "adapter", str(base), tmp_path / "small")
    assert not (tmp_path / "small").exists()


def test_a_model_that_is_not_a_number_is_refused(
    base: Path, tokenizer: Any, tmp_path: Path
) -> None:
    model = LlamaForCausalLM.from_pretrained(base)
    next(model.parameters()).data[0, 0] = float("nan")
    broken = save(model, tokenizer, tmp_path / "broken")
    with pytest.raises(CannotCompress, match="too large, or not a number"):
        compress(broken, str(base), tmp_path / "small")
    assert not (tmp_path / "small").exists()


def test_a_damaged_or_foreign_file_is_refused(base: Path, full: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    compress(full, str(base), out)
    whole = (out / change.FILE).read_bytes()
    (out / change.FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NoModel, match="cannot unpack the compressed model"):
        local.load(out, None, "cpu")
    (out / change.FILE).write_bytes(whole.replace(b"change 2", b"change 9"))
    with pytest.raises(NoModel, match="its format is not"):
        local.load(out, None, "cpu")


def test_every_wrong_bit_is_noticed(base: Path, full: Path, tmp_path: Path) -> None:
    """In the header, in signs, levels and vectors; one bit of a level would make it 10^36."""
    out = tmp_path / "small"
    compress(full, str(base), out)
    whole = (out / change.FILE).read_bytes()
    header = int.from_bytes(whole[:8], "little") + 8
    bits = [*range(64, 8 * header, 97), *range(8 * header, 8 * len(whole), 397)]
    weights = dict(LlamaForCausalLM.from_pretrained(base).named_parameters())
    damaged = tmp_path / "damaged"
    for bit in bits:
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        damaged.write_bytes(content)
        try:
            is_other_base = change.base_of(damaged) != str(base)
            change.apply(damaged, weights)
        except (change.OtherModel, SafetensorError):
            continue
        assert is_other_base, bit


@pytest.mark.parametrize("seed", [1, 2])
def test_another_model_in_the_place_of_the_base_is_refused(
    seed: int, base: Path, full: Path, tokenizer: Any, tmp_path: Path
) -> None:
    out = tmp_path / "small"
    compress(full, str(base), out)
    save(build_model(tokenizer, seed=seed, width=64 if seed == 1 else 32), tokenizer, base)
    with pytest.raises(NoModel, match="has other weights here than when it was made"):
        local.load(out, None, "cpu")
    save(build_model(tokenizer, seed=1, width=32), tokenizer, base)
    assert local.load(out, None, "cpu")


def test_a_change_must_have_what_its_base_has(base: Path, full: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    compress(full, str(base), out)
    weights = lambda: dict(LlamaForCausalLM.from_pretrained(base).named_parameters())  # noqa: E731
    kept = load_file(out / change.FILE)
    with safe_open(out / change.FILE, "pt") as file:
        told = msgspec.json.decode(file.metadata()[change.FORMAT], type=change.Told)
    name = min(each for each in kept if each.endswith(change.LEVELS))
    wrong = {
        "it has no": {key: value for key, value in kept.items() if key != name},
        "another size": {**kept, name: kept[name][:, None].contiguous()},
        "its base has no": {**kept, "more": torch.ones(2)},
    }
    for words, tensors in wrong.items():
        fitting = msgspec.structs.replace(told, checksum=change.checksum(tensors))
        metadata = {change.FORMAT: msgspec.json.encode(fitting).decode()}
        save_file(tensors, tmp_path / "wrong", metadata=metadata)
        with pytest.raises(change.OtherModel, match=words):
            change.apply(tmp_path / "wrong", weights())


def test_other_settings_and_words_are_refused(
    base: Path, full: Path, tokenizer: Any, tmp_path: Path
) -> None:
    model = LlamaForCausalLM.from_pretrained(full)
    model.config.pad_token_id = 7
    assert compress(save(model, tokenizer, tmp_path / "ids"), str(base), tmp_path / "fine")
    model.config.rms_norm_eps = 0.01
    with pytest.raises(CannotCompress, match="has another rms_norm_eps than"):
        compress(save(model, tokenizer, tmp_path / "norm"), str(base), tmp_path / "small")
    other = build_tokenizer([pay_example()], size=400)
    other.chat_template = "{{ tools }} other"
    model = LlamaForCausalLM.from_pretrained(full)
    with pytest.raises(CannotCompress, match="has another chat template than"):
        compress(save(model, other, tmp_path / "words"), str(base), tmp_path / "small")


def test_models_with_missing_or_cut_weights_are_refused(
    base: Path, full: Path, tmp_path: Path
) -> None:
    file = full / "model.safetensors"
    whole, content = load_file(file), file.read_bytes()
    name = "model.layers.0.mlp.up_proj.weight"
    save_file({k: v for k, v in whole.items() if k != name}, file, metadata={"format": "pt"})
    with pytest.raises(NoModel, match=f"its weights lack {name}"):
        compress(full, str(base), tmp_path / "small")
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(NoModel, match="cannot load"):
        compress(full, str(base), tmp_path / "small")


def test_a_compressed_model_cannot_be_compressed(base: Path, full: Path, tmp_path: Path) -> None:
    compress(full, str(base), tmp_path / "small")
    with pytest.raises(NoModel, match="is compressed already"):
        compress(tmp_path / "small", str(base), tmp_path / "smaller")


def test_the_command(base: Path, full: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    done = run("compress", str(full), "--base", str(base), "--out", str(out), "--json")
    assert done.returncode == 0
    told = msgspec.json.decode(done.stdout)
    assert told.pop("folder") == str(out)
    assert msgspec.convert(told, Compressed).bytes == (out / change.FILE).stat().st_size
    again = run("compress", str(full), "--base", str(base), "--out", str(out))
    assert (again.returncode, "name another --out" in again.stderr) == (2, True)
