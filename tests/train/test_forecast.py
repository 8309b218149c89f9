"""The dry run: every recipe builds all but its weights, and what does not fit is a sentence."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("trl")

from command import run
from examples import pay_example
from provegym import recipes
from provegym.config import load_recipe
from provegym.models.codec import Codec
from provegym.models.local import ADAPTER, load_tokenizer
from provegym.players.local import Limits, opening
from provegym.trace import Example, read
from provegym.train import forecast as forecasting
from provegym.train.data import show
from provegym.train.forecast import OWN, find_tokenizer, forecast
from provegym.train.recipe import Data, Grpo, Lora, Model, Recipe, Sft
from provegym.train.run import Run, TrainError
from provegym.train.sft import encode
from provegym.train.start import adapter, check, held_lora
from train.tiny import build_model, build_tokenizer

ROOT = Path(__file__).parents[2]
RECIPES = sorted(path for path in recipes.FOLDER.glob("*.toml") if "reward" not in path.name)
PAPER = ("granite-4.1-8b", "qwen2.5-7b", "qwen3-4b", "qwen3-8b")


@pytest.fixture(scope="module", autouse=True)
def _each_tokenizer_is_loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecasting, "load_tokenizer", cache(load_tokenizer))
        yield


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Some of each server."""
    return list(read(ROOT / "tests" / "data", Example))[::8]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with its tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer([pay_example()])
    tokenizer.save_pretrained(folder)
    build_model(tokenizer).config.save_pretrained(folder)
    return folder


def told(recipe: Recipe, examples: Sequence[Example], tmp_path: Path) -> tuple[dict[str, str], str]:
    """The table of a recipe, and its notes."""
    shown = [show(example, recipe.data.limit) for example in examples]
    found = forecast(recipe, Run(tmp_path / "run", recipe), shown)
    return found.table, "\n".join(found.notes)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_builds_all_but_its_weights(
    path: Path, examples: list[Example], tmp_path: Path
) -> None:
    pytest.importorskip("gguf")
    recipe = load_recipe(path)
    table, notes = told(recipe, examples, tmp_path)
    assert f"the limit is {recipe.limits.prompt:,}" in table["prompt tokens"]
    assert ("a step" in table) == (recipe.grpo is not None)
    assert ("an update" in table) == (recipe.sft is not None)
    if path.stem in PAPER:
        assert table["too long, left out"].startswith("0.0%")
        assert "16 prompts of 16 rollouts = 256 sequences" in table["a step"]
        assert table["steps"] == "350: 5,600 prompts, 0.41 epochs"
    if recipe.model.name == "embedded":
        assert table["tokenizer"] == OWN
        assert "estimate" not in notes
        assert table["GPU"] == "80 GB are assumed; --card names another size"
    if recipe.model.name == "runs/embedded-full-sft/model":
        assert "because runs/embedded-full-sft/model is not on this" in table["memory and time"]


def test_the_table_says_what_a_run_takes_and_what_limits_a_step(
    examples: list[Example], tmp_path: Path
) -> None:
    pytest.importorskip("gguf")
    branches = ["grpo.credit=turn", "grpo.branches=4", "grpo.forks=2"]
    recipe = load_recipe("embedded-full", ["model.name=embedded", *branches])
    table, notes = told(recipe, examples, tmp_path)
    assert "16 rollouts (8 of them may be branches) = 256 sequences" in table["a step"]
    assert table["generation"].startswith("transformers in 1 engine process, lag 1: they play the")
    assert table["loss"] == "cispo, KL 0, importance weights of at most 2, lr 2e-05"
    assert "Adam's two moments in 32 bits" in table["memory of the trainer"]
    assert "all 256 conversations have a slot of the longest 4,096 tokens" in table["KV cache"]
    assert table["what limits a step"].startswith("the speed of the GPU")
    assert " on one H200: 150 steps of " in table["time"]
    assert "lower grpo.batch if the run stops for lack of memory" in notes


def test_a_model_that_is_not_here_is_estimated_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str, here: bool = False) -> Any:
        if name != "embedded":
            assert here
            raise OSError
        return "the embedded tokenizer"

    monkeypatch.setattr(forecasting, "load_tokenizer", load)
    tokenizer, whose = find_tokenizer("Qwen/Qwen3-8B")
    assert tokenizer == "the embedded tokenizer"
    assert "as an estimate: Qwen/Qwen3-8B is not on this machine" in whose


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"limits": Limits(1300, 2000)}, "prompts are longer than limits.prompt (1,300)"),
        ({"limits": Limits(prompt=6000, completion=20)}, "limits.completion (20), and can never"),
        (
            {"limits": Limits(prompt=9000, completion=9000)},
            "allow 18,000 tokens, and {folder} has 8,192 positions",
        ),
        (
            {"limits": Limits(9000, 9000), "model": Model(name="{folder}", positions=10_000)},
            "{folder} has 10,000 positions; lower one of them, or raise model.positions",
        ),
        ({"grpo": Grpo(use_vllm=True)}, "vLLM is not installed here"),
        (
            {"data": Data(corpus="given")},
            "4 examples fit, and a step takes 16; raise limits.prompt",
        ),
        ({"data": Data(gold=5)}, "0 examples fit, and a step takes 16; raise data.gold"),
        ({"model": Model(name="{folder}", adapter="gone")}, "there is no gone yet"),
        (
            {"grpo": None, "sft": Sft(max_tokens=1700)},
            "2 of 4 transcripts are longer than sft.max_tokens (1,700)",
        ),
    ],
)
def test_what_does_not_fit_is_a_sentence(
    changes: dict[str, Any], sentence: str, folder: Path, tmp_path: Path
) -> None:
    fitting = Recipe(
        model=Model(name=str(folder)),
        grpo=Grpo(use_vllm=False),
        limits=Limits(prompt=6000, completion=2000),
    )
    examples = list(read(ROOT / "tests" / "data" / "banking.jsonl", Example))[:4]
    assert told(fitting, examples, tmp_path)[1] == ""
    if isinstance(model := changes.get("model"), Model):
        changes = {**changes, "model": msgspec.structs.replace(model, name=str(folder))}
    recipe = msgspec.structs.replace(fitting, **changes)
    notes = told(recipe, examples, tmp_path)[1]
    assert sentence.format(folder=folder) in notes
    assert len(notes.splitlines()) == 1


def test_the_forecast_counts_what_the_run_takes(folder: Path, tmp_path: Path) -> None:
    examples = list(read(ROOT / "tests" / "data" / "banking.jsonl", Example))[:4]
    grpo = Grpo(steps=8, prompts_per_step=2, rollouts=4, use_vllm=False)
    fitting = Recipe(model=Model(name=str(folder)), grpo=grpo, limits=Limits(6000, 2000))
    codec = Codec(load_tokenizer(folder), 6000)
    rests = [
        len(encode(each, codec, 10**6).labels) - len(opening(each, codec)) for each in examples
    ]

    def table(**changes: Any) -> dict[str, str]:
        return told(msgspec.structs.replace(fitting, **changes), examples, tmp_path)[0]

    assert table()["examples left"] == "about 13,517"
    assert table(data=Data(most=10))["examples left"] == "about 10"
    short = table(data=Data(gold=4_096))["examples left"]
    assert short.endswith("right answer takes at most data.gold = 4,096 tokens")
    half = sorted(rests)[1]
    found = table(data=Data(gold=half, size=100))
    assert found["examples left"].startswith("about 50, of those")
    assert f"to {half:,}," in found["tokens after it, if right"]
    assert table()["steps"].startswith("8: 16 prompts")
    assert table()["rollouts in all"] == "64"
    twice = table(grpo=msgspec.structs.replace(grpo, iterations=2))
    assert twice["steps"].startswith("8: 8 prompts")
    assert twice["rollouts in all"] == "32"


def test_the_adapter_that_is_trained_is_the_one_that_is_shown(folder: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(r=2, lora_alpha=6, target_modules=["q_proj", "v_proj"])
    small = build_model(build_tokenizer([pay_example()]))
    get_peft_model(small, lora).save_pretrained(tmp_path / "adapter")
    held = Lora(r=2, alpha=6, targets=("v_proj", "q_proj"))
    model = Model(name=str(folder), adapter=str(tmp_path / "adapter"))
    recipe = Recipe(model=model, grpo=Grpo(use_vllm=False), limits=Limits(6000, 2000))
    table, _ = told(recipe, [pay_example()], tmp_path)
    assert table["model"].startswith(f"{folder}, LoRA r=2, alpha=6, bfloat16, from ")
    check(recipe)
    check(msgspec.structs.replace(recipe, model=msgspec.structs.replace(model, lora=held)))
    for change, sentence in (
        ({"r": 64}, "r is 64, not 2"),
        ({"alpha": 7}, "alpha is 7, not 6"),
        ({"targets": ("q_proj",)}, r"targets is \['q_proj'\], not \['q_proj', 'v_proj'\]"),
    ):
        other = msgspec.structs.replace(model, lora=msgspec.structs.replace(held, **change))
        with pytest.raises(TrainError, match=sentence) as caught:
            check(msgspec.structs.replace(recipe, model=other))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["embedded", "embedded-beta-zero", "embedded-minus-efficiency"])
def test_the_recipes_of_the_embedded_model_describe_its_adapter(name: str) -> None:
    recipe = load_recipe(f"{name}", ["model.adapter=shipped"])
    check(recipe)
    assert adapter(recipe.model) == ADAPTER


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"\xff", b'{"r": 4}', b'{"peft_type": "LORA", "r": "4"}']
)
def test_a_broken_adapter_is_a_sentence(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_bytes(text)
    with pytest.raises(TrainError, match=r"config\.json cannot be read: .*take a good copy"):
        held_lora(Model(adapter=str(tmp_path)))


def test_a_run_that_cannot_start_is_refused(folder: Path, tmp_path: Path) -> None:
    recipe = Recipe(model=Model(name=str(folder)), grpo=Grpo(), limits=Limits(prompt=3))
    with pytest.raises(TrainError, match=r"no prompt fits: the shortest has"):
        told(recipe, [pay_example()], tmp_path)


def test_the_command_shows_the_table_and_what_does_not_fit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [f"model.name={folder}", "data.size=4", "data.servers=['budget']"]
    changes += ["data.gold=4000"]
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    options = [part for change in changes for part in ("--set", change)]
    done = run("train", "tiny", "--dry-run", *options)
    assert done.returncode == 0, done.stderr
    assert "2 prompts of 4 rollouts = 8 sequences" in done.stdout
    assert "right conversations are longer than limits.completion (512)" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_dry_run_is_one_json_document(folder: Path, tmp_path: Path) -> None:
    changes = [f"model.name={folder}", "data.size=4", "data.servers=['budget']"]
    options = [part for change in changes for part in ("--set", change)]
    recipe = "tiny"
    done = run("train", recipe, "--dry-run", "--json", "--card", "24", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["table"]["GPU"].startswith("24 GB are assumed")
    assert found["memory"] > found["cost"]["state"] > 0
    assert found["seconds"] is None  # only generation by vLLM was measured
    refused = run("train", recipe, "--card", "24", *options)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--card is for --dry-run" in refused.stderr
