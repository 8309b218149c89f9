"""Models on this machine: what they sample, and what is said where they are not installed."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provegym.models import gguf, local
from provegym.models.optional import NotInstalled, check, need
from provegym.models.sampler import Sampler


def test_what_is_missing_is_said_in_a_sentence() -> None:
    with pytest.raises(NotInstalled, match=r"no_such is missing: .* '\.\[train\]'"):
        need("no_such.module")
    with pytest.raises(NotInstalled, match=r"no_such is missing: .* '\.\[train\]'"):
        check("no_such")
    check("msgspec")


def test_a_package_that_is_there_and_broken_says_so_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("import what_it_lacks")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_lacks"):
        need("broken")


def test_nothing_of_the_extra_is_imported_before_a_model_is() -> None:
    modules = "provegym.models.local, provegym.players.local, provegym.train.trl, provegym.cli"
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
    from provegym.models.codec import Codec

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model, tokenizer = local.load("embedded", None, "cpu")
    made = (tmp_path / "provegym" / local.EMBEDDED / "config.json").stat().st_mtime_ns
    assert local.embedded() == tmp_path / "provegym" / local.EMBEDDED
    assert (tmp_path / "provegym" / local.EMBEDDED / "config.json").stat().st_mtime_ns == made
    codec = Codec(tokenizer, 512)
    assert tokenizer.decode([codec.end]) == local.END
    context = codec.open("You are a helpful assistant.", "What is the capital of France?", [])
    ids = Sampler(model, tokenizer, 0.0, 0).generate([context], 24)[0].ids
    assert "Paris" in codec.reply(ids).text
    assert ids[-1] == codec.end


def test_models_are_kept_where_a_user_keeps_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "provegym" / local.EMBEDDED).mkdir(parents=True)
    (tmp_path / "provegym" / local.EMBEDDED / "config.json").touch()
    assert local.embedded() == tmp_path / "provegym" / local.EMBEDDED


def test_an_adapter_that_was_not_shipped_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "ADAPTER", tmp_path)
    with pytest.raises(NotInstalled, match="came without its adapter"):
        local.shipped()
    (tmp_path / "adapter_config.json").touch()
    assert local.shipped() == tmp_path


def test_a_model_that_cannot_be_loaded_is_said_in_a_sentence(
    pair: tuple[Any, Any], tmp_path: Path
) -> None:
    """As what is not installed: every command that loads a model turns that into a line."""
    model, tokenizer = pair
    with pytest.raises(NotInstalled, match=rf"^cannot load {tmp_path}: Unrecognized model .*\.$"):
        local.load(tmp_path, None, "cpu")
    with pytest.raises(OSError, match=rf"^cannot load {tmp_path}: "):
        local.load_tokenizer(tmp_path, here=True)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(NotInstalled, match="no/such is no adapter: it has no adapter_config"):
        local.load(tmp_path, Path("no/such"), "cpu")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(NotInstalled, match=f"^cannot load {tmp_path}: "):
        local.load(tmp_path, tmp_path, "cpu")


def test_a_search_on_the_hub_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The hub's client warns twice for each retry."""
    retries = logging.getLogger("huggingface_hub.utils._http")
    before = retries.level

    def fail() -> None:
        assert not retries.isEnabledFor(logging.WARNING)
        raise OSError("no network\nmore")

    with (
        pytest.raises(local.NoModel, match="load no-such-model: no network"),
        local._loading("no-such-model"),
    ):
        fail()
    assert retries.level == before
    assert capsys.readouterr().err == (
        "no-such-model is no folder here; it is sought on the model hub\n"
    )


def test_a_model_that_can_be_shown_no_tools_is_said_in_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="a").save_pretrained(tmp_path)
    with pytest.raises(NotInstalled, match="has no chat template that shows tools"):
        local.load_tokenizer(tmp_path)


def test_the_shipped_adapter_is_put_on_by_its_name(
    pair: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peft import LoraConfig, PeftModel, get_peft_model

    model, tokenizer = pair
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    plain = type(model).from_pretrained(tmp_path / "base")
    config = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    get_peft_model(plain, config).save_pretrained(tmp_path / "adapter")
    told = tmp_path / "adapter" / "adapter_config.json"
    told.write_text(told.read_text().replace(str(tmp_path / "base"), "somebody/on-a-hub"))
    monkeypatch.setattr(local, "ADAPTER", tmp_path / "adapter")
    loaded, _ = local.load(tmp_path / "base", Path("shipped"), "cpu")
    assert isinstance(loaded, PeftModel)
    assert loaded.active_peft_config.base_model_name_or_path == str(tmp_path / "base")
    assert not isinstance(local.load(tmp_path / "base", None, "cpu")[0], PeftModel)


@pytest.mark.parametrize("own", ["", "7"])
def test_how_threads_wait_is_set_before_there_is_torch_unless_the_user_did(own: str) -> None:
    told = (
        "import os, sys, provegym.cli; print('torch' in sys.modules, os.environ['GOMP_SPINCOUNT'])"
    )
    given = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    env = given | ({"GOMP_SPINCOUNT": own} if own else {})
    done = subprocess.run([sys.executable, "-c", told], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["False", own or "1000"]


def test_a_model_that_another_process_made_meanwhile_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "provegym" / local.EMBEDDED

    def convert(_: Path, fresh: Path) -> None:
        (fresh / "config.json").write_text("ours")
        folder.mkdir()
        (folder / "config.json").write_text("theirs")

    monkeypatch.setattr(local, "weights", lambda: Path("weights.gguf"))
    monkeypatch.setattr(gguf, "convert", convert)
    assert local.embedded() == folder
    assert (folder / "config.json").read_text() == "theirs"
    assert list(folder.parent.iterdir()) == [folder]


def test_narrow_rounds_weights_and_leaves_rotary_frequencies(pair: tuple[Any, Any]) -> None:
    import torch

    from train.tiny import build_model

    model = build_model(pair[1], seed=1)
    before = model.model.rotary_emb.inv_freq.clone()
    assert local.narrow(model) is model
    assert {weights.dtype for weights in model.parameters()} == {torch.bfloat16}
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert torch.equal(model.model.rotary_emb.inv_freq, before)
    assert model.dtype == torch.bfloat16
