"""What a run takes: memory, conversations in the KV cache, what limits a step, and minutes."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import msgspec
from rich.progress import Progress

from provegym.config import load_recipe
from provegym.models.sizes import PUBLISHED, ModelSizes
from provegym.train import start as starting
from provegym.train.cost import GB, Card, Cost, Usual, assume, estimate, find_card
from provegym.train.cost_lines import brief, limit, notes, rows
from provegym.train.recipe import Data, Grpo, Lora, Model, Recipe, Sft

ROOT = Path(__file__).parents[2]
SMALL = ModelSizes(30, 576, 1536, 9, 3, 64, 49_152, is_tied=True)
LARGE = PUBLISHED["Qwen/Qwen3-4B-Instruct-2507"]
H200 = Card(150 * GB, "NVIDIA H200")
SLOTS = load_recipe("embedded-full")
ENGINES = (
    *("grpo.use_vllm=true", "grpo.engines=2", "grpo.vllm_memory=0.4"),
    *("grpo.batch=64", "grpo.compiled=false"),
)
FULL = load_recipe("embedded-full", ENGINES)
ADAPTER = load_recipe("embedded")
PAPER = load_recipe("qwen3-4b")


def changed(recipe: Recipe, **changes: Any) -> Recipe:
    """A recipe with other settings in [grpo]."""
    assert recipe.grpo
    return msgspec.structs.replace(recipe, grpo=msgspec.structs.replace(recipe.grpo, **changes))


def cost(recipe: Recipe, card: Card = H200, sizes: ModelSizes = SMALL) -> Cost:
    """The cost of a recipe that trains all weights, with assumed lengths."""
    return estimate(recipe, sizes, recipe.model.lora, assume(recipe), card)


def limits(recipe: Recipe, card: Card = H200, sizes: ModelSizes = SMALL) -> str:
    """What limits a step."""
    found = cost(recipe, card, sizes)
    assert recipe.grpo
    assert found.playing is not None
    return limit(recipe.grpo, found, found.playing)


def test_engines_take_the_cache_that_their_conversations_need() -> None:
    needed = 256 * (2_048 + 2_048 + 256) * 23_040
    roomy = cost(FULL).cache
    assert roomy
    assert (roomy.memory, roomy.needed, roomy.fits) == (needed, needed, 256)
    tight = cost(FULL, Card(24 * GB)).cache
    assert tight
    assert tight.memory == int(0.4 * 24 * GB)
    assert tight.fits == 2 * (int(0.2 * 24 * GB) // (4_352 * 23_040)) < 256


def test_slots_take_the_cache_of_all_conversations_on_any_card() -> None:
    needed = 256 * (2_048 + 2_048) * 23_040
    for card in (H200, Card(24 * GB)):
        found = cost(SLOTS, card).cache
        assert found
        assert (found.memory, found.needed, found.fits) == (needed, needed, 256)
        assert found.weights == 2 * SMALL.parameters
    told = dict(rows(SLOTS, cost(SLOTS), H200))
    assert told["KV cache"].endswith(
        "all 256 conversations have a slot of the longest 4,096 tokens"
    )
    assert told["what limits a step"].startswith("the speed of the GPU")
    (note,) = notes(SLOTS, cost(SLOTS, Card(24 * GB)), Card(24 * GB))
    assert "vllm_memory" not in note


def test_vllm_in_the_trainer_has_its_share_without_the_weights() -> None:
    found = cost(PAPER, Card(80 * GB), LARGE).cache
    assert found
    assert found.memory == 24 * GB - found.weights
    assert found.fits == 3
    assert cost(changed(PAPER, vllm_mode="server"), H200, LARGE).cache is None


def test_the_state_of_a_trainer_is_counted_by_parameters() -> None:
    count = SMALL.parameters
    assert cost(FULL).state == (16 + 2) * count  # with the 16-bit copies it computes with
    assert cost(changed(FULL, beta=0.01)).state == (16 + 2 + 4) * count  # a reference model
    lora = cost(ADAPTER)
    assert 2 * 2 * count < lora.state < 3 * 2 * count
    warm = Recipe(model=Model(lora=Lora()), sft=Sft())
    assert cost(warm).state < lora.state


def test_checkpointing_and_small_batches_need_less_memory() -> None:
    assert cost(changed(FULL, checkpointing=True)).activations < cost(FULL).activations / 5
    assert cost(changed(FULL, batch=32)).activations == pytest.approx(
        cost(FULL).activations / 2, rel=0.01
    )
    packed, padded = cost(FULL), cost(changed(FULL, packed=False))
    assert packed.pass_tokens < padded.pass_tokens
    assert packed.most_pass_tokens == 4 * 2_048 + 64 * 2_048


def test_the_times_are_those_that_were_measured() -> None:
    """The second run of docs/results.md, and a step with engines and a lag."""
    usual = Usual(prompt=1_650, rest=781, own=236, longest=3_800, examples=4_000)
    found = estimate(ADAPTER, SMALL, ADAPTER.model.lora, usual, H200)
    assert found.playing == pytest.approx(7.2, rel=0.2)
    assert found.learning == pytest.approx(4.1, rel=0.2)
    assert found.step == pytest.approx(11.7, rel=0.2)
    assert estimate(FULL, SMALL, None, usual, H200).step == pytest.approx(6.0, rel=0.2)
    assert estimate(SLOTS, SMALL, None, usual, H200).step == pytest.approx(4.5, rel=0.2)
    warm = load_recipe("embedded-full-sft")
    updates = estimate(warm, SMALL, None, Usual(1_600, 950, 220, 3_584, 10_877), H200)
    assert updates.steps == 1_020
    assert updates.seconds == pytest.approx(400, rel=0.3)


def test_what_limits_a_step() -> None:
    assert limits(FULL).startswith("the number of conversations")
    assert limits(FULL, Card(3 * GB)).startswith("memory for the KV cache: ")
    assert limits(changed(FULL, prompts_per_step=24)).startswith("the longest rollout")
    many = changed(FULL, prompts_per_step=80)
    assert limits(many).startswith("learning: ")
    assert many.grpo
    quick = msgspec.structs.replace(cost(many), learning=1.0)
    assert limit(many.grpo, quick, 60.0).startswith("the speed of the GPU")
    large = changed(PAPER, packed=True, checkpointing=False, batch=16, vllm_memory=0.9)
    assert limits(large, Card(1000 * GB), LARGE).startswith("learning: ")
    assert "grpo.packed = true" in limits(PAPER, H200, LARGE)
    assert "grpo.packed" not in limits(large, Card(1000 * GB), LARGE)


def test_time_is_an_estimate_and_said_to_be_rough_for_larger_models() -> None:
    measured = dict(rows(FULL, cost(FULL), H200))
    assert measured["GPU"] == "NVIDIA H200, 150 GB"
    assert measured["time"].endswith("An estimate from measured runs of the embedded model")
    scaled = dict(rows(PAPER, cost(PAPER, H200, LARGE), H200))
    assert "A rough estimate, and rather too long" in scaled["time"]
    assert "30 times fewer" in scaled["time"]
    plain = changed(FULL, use_vllm=False, engines=0, lag=0)
    assert dict(rows(plain, cost(plain), H200))["time"].startswith("not known: ")


def test_too_little_memory_is_a_note() -> None:
    small = Card(24 * GB)
    (note,) = notes(FULL, cost(FULL, small), small)
    assert "and the GPU has 24 GB; lower grpo.batch (now 64), train an adapter" in note
    (note,) = notes(PAPER, cost(PAPER, Card(80 * GB), LARGE), Card(80 * GB))
    assert "and the GPU has 80 GB; train an adapter" in note
    # Packed rows need whole groups of rollouts; a smaller KV cache would do.
    packed = changed(PAPER, packed=True, batch=16)
    tight = Card(int(cost(packed, Card(141 * GB), LARGE).memory) - GB)
    (note,) = notes(packed, cost(packed, Card(141 * GB), LARGE), tight)
    assert "; lower grpo.vllm_memory (now 0.3), train an adapter" in note
    # A batch of one cannot be lowered.
    enough = Card(int(cost(PAPER, Card(141 * GB), LARGE).memory) + GB)
    (note,) = notes(PAPER, cost(PAPER, Card(141 * GB), LARGE), enough)
    assert "lower limits.completion if the run stops" in note
    none, _ = notes(PAPER, cost(PAPER, small, LARGE), small)
    assert "none for the KV cache" in none
    assert list(notes(FULL, cost(changed(FULL, batch=16)), H200)) == []


def test_the_card_is_assumed_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    class Properties:
        total_memory, name = 150 * GB, "NVIDIA H200"

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_card() == Card(80 * GB)
    assert find_card(141) == Card(141 * GB)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)
    assert find_card() == H200


def test_lengths_are_assumed_from_the_recipe(tmp_path: Path) -> None:
    assert assume(FULL) == Usual(1_650, 850, 240, 4_096, 12_000)
    (tmp_path / "some.jsonl").write_text("{}\n{}\n{}\n")
    given = Recipe(data=Data(corpus=str(tmp_path)), grpo=Grpo())
    assert assume(given).examples == 3
    assert assume(given).prompt == 3_630


def test_a_run_says_what_it_will_take_before_it_makes_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Reached(Exception):
        pass

    def load(*_: Any) -> Any:
        raise Reached

    monkeypatch.setattr(starting, "check_here", lambda _: None)
    monkeypatch.setattr(starting, "load_examples", load)
    monkeypatch.setattr(starting, "find_sizes", lambda name: SMALL if name == "small" else None)
    monkeypatch.setattr(starting, "find_card", lambda: H200)

    def begin(name: str) -> str:
        recipe = msgspec.structs.replace(FULL, model=Model(name=name))
        with pytest.raises(Reached):
            starting.start(recipe, tmp_path / name, "", False, Progress(disable=True))
        (line,) = [each for each in capsys.readouterr().err.splitlines() if "this run" in each]
        return line

    assert begin("small").startswith("on one H200 this run takes about ")
    assert "not known, because large is not on this machine" in begin("large")
    assert "its minutes are not known" in brief(FULL, cost(FULL), Card(80 * GB))
