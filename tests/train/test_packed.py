"""Rollouts in one row: the numbers are those of TRL's padded batches, gradients and all."""

from contextlib import nullcontext
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import torch

from provegym.train import packed
from provegym.train.packed import attend, lay_out, trainer, use_packing, without_idle
from provegym.train.precision import Base, suit
from provegym.train.recipe import Grpo, Model, Recipe

Rows = tuple[list[list[int]], list[list[int]]]
PROMPTS = [[1, 2, 3, 4, 5]] * 3 + [[7, 8]] * 2 + [[9]] * 2
COMPLETIONS = [[5, 6, 7], [8], [9, 10, 11, 12], [3, 3], [4, 4, 4, 4, 4], [1], []]
WIDTH = 6

pytestmark = pytest.mark.filterwarnings("ignore")


def build() -> Any:
    """A model with TRL's own head on it."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from trl.trainer.utils import add_fused_lm_head

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
    )
    model = LlamaForCausalLM(config)
    add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    return model


def padded(rows: Rows = (PROMPTS, COMPLETIONS)) -> tuple[Any, Any]:
    """Prompts padded on the left, completions on the right, as TRL lays them out."""
    left = max(map(len, rows[0]))
    ids = torch.zeros(len(rows[0]), left + WIDTH, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, (prompt, completion) in enumerate(zip(*rows, strict=True)):
        whole = torch.tensor([*prompt, *completion])
        place = slice(left - len(prompt), left + len(completion))
        ids[row, place], mask[row, place] = whole, 1
    return ids, mask


def scored(
    make: Any, model: Any, size: int | None = None, rows: Rows = (PROMPTS, COMPLETIONS)
) -> tuple[Any, Any, list[Any]]:
    """Log-probabilities, entropies, and the gradients of a loss over them."""
    holder = SimpleNamespace(accelerator=SimpleNamespace(autocast=nullcontext))
    method = make._get_per_token_logps_and_entropies
    method = getattr(method, "__wrapped__", method)
    ids, mask = padded(rows)
    weights = torch.linspace(-1, 1, len(ids))[:, None] * mask[:, -WIDTH:]
    model.zero_grad()
    logps, entropies, _ = method(
        holder, model, ids, mask, WIDTH, batch_size=size, compute_entropy=True
    )
    (logps * weights).sum().backward()
    return logps.detach(), entropies.detach(), [each.grad.clone() for each in model.parameters()]


@pytest.mark.parametrize("size", [None, 3])
def test_a_row_gives_what_a_padded_batch_gives(size: int | None) -> None:
    from trl import GRPOTrainer

    model, seen = build(), padded()[1][:, -WIDTH:].bool()
    logps, entropies, gradients = scored(GRPOTrainer, model)
    use_packing(model)
    again = scored(trainer(), model, size)
    assert torch.allclose(again[0][seen], logps[seen], atol=1e-5)
    assert torch.allclose(again[1][seen], entropies[seen], atol=1e-5)
    assert all(
        torch.allclose(one, two, atol=1e-5) for one, two in zip(gradients, again[2], strict=True)
    )
    # A model that reads rows reads padded batches as before.
    assert torch.equal(scored(GRPOTrainer, model)[0][seen], logps[seen])


def test_a_prompt_stands_in_the_row_once() -> None:
    row = lay_out(PROMPTS, COMPLETIONS)
    ids = row.inputs["input_ids"][0].tolist()
    assert ids[:4] == [1, 2, 3, 4]
    assert ids[4:7] == [5, 5, 6]
    assert row.inputs["position_ids"][0, 4:7].tolist() == [4, 5, 6]
    assert row.inputs["shift_labels"][0, 4:7].tolist() == [5, 6, 7]
    assert [length for ((_, length),) in row.places] == [len(each) for each in COMPLETIONS]
    queries, keys = row.inputs["cu_seq_lens_q"].tolist(), row.inputs["cu_seq_lens_k"].tolist()
    assert queries[-1] == len(ids)
    assert keys[-1] == len(row.inputs["key_tokens"])
    assert keys[2] - keys[1] == 4 + 3


def tree(chance: Random) -> Rows:
    """Prompts whose completions leave one another anywhere, or are equal, or are empty."""
    prompts: list[list[int]] = []
    completions: list[list[int]] = []
    for number in range(3):
        prompt = [number + 1, *(chance.randrange(97) for _ in range(chance.randrange(4)))]
        grown: list[list[int]] = [[]]
        for _ in range(4):
            trunk = chance.choice(grown)
            begun = trunk[: chance.randint(0, len(trunk))]
            rest = [chance.randrange(97) for _ in range(chance.randint(0, WIDTH - len(begun)))]
            grown.append(begun + rest)
        prompts += [prompt] * len(grown)
        completions += grown
    return prompts, completions


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_gives_what_a_padded_batch_gives(seed: int, monkeypatch: Any) -> None:
    from trl import GRPOTrainer

    monkeypatch.setattr(packed, "SHORTEST", 1)
    rows = tree(Random(seed))
    model, seen = build(), padded(rows)[1][:, -WIDTH:].bool()
    logps, entropies, gradients = scored(GRPOTrainer, model, rows=rows)
    use_packing(model)
    again = scored(trainer(), model, rows=rows)
    assert torch.allclose(again[0][seen], logps[seen], atol=1e-5)
    assert torch.allclose(again[1][seen], entropies[seen], atol=1e-5)
    assert all(
        torch.allclose(one, two, atol=1e-5) for one, two in zip(gradients, again[2], strict=True)
    )


def test_a_beginning_stands_in_the_row_once() -> None:
    """Two branches leave a trunk, and one of them has a branch of its own."""
    trunk = list(range(40))
    branch = [*trunk[:30], *range(60, 80)]
    completions = [trunk, branch, [*branch[:45], 1], [*trunk[:15], 2]]
    row = lay_out([[90, 91]] * 4, completions)
    ids = row.inputs["input_ids"][0].tolist()
    # One token of the prompt, then 40, 20 and 1; 15 shared tokens are too few, so 16 again.
    assert len(ids) == 1 + 40 + 20 + 1 + 16
    labels = row.inputs["shift_labels"][0].tolist()
    found = [
        [labels[s + at] for s, length in spans for at in range(length)] for spans in row.places
    ]
    assert found == completions
    assert row.inputs["position_ids"][0, 41:61].tolist() == list(range(31, 51))


def test_attention_of_another_sort_is_refused() -> None:
    bounds = {"cu_seq_lens_q": torch.tensor([0, 4]), "max_length_k": 4, "sliding_window": 2}
    some = torch.zeros(1, 2, 4, 8)
    with pytest.raises(ValueError, match="set packed = false"):
        attend(None, some, some, some, None, **bounds)


def test_a_base_is_put_back_after_a_merge() -> None:
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(r=4, target_modules=["q_proj", "up_proj"], init_lora_weights=False)
    model = get_peft_model(build().bfloat16(), lora)
    before = {name: value.clone() for name, value in model.named_parameters()}
    base = Base(model)
    model.merge_adapter()
    model.unmerge_adapter()
    assert any(not torch.equal(value, before[name]) for name, value in model.named_parameters())
    base.put_back()
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())


def test_what_is_learnt_is_kept_in_32_bits() -> None:
    settings = Grpo(packed=True, use_vllm=False)
    recipe = Recipe(model=Model(dtype="bfloat16"), grpo=settings)
    model = suit(build().bfloat16(), recipe, settings)
    assert {each.dtype for each in model.parameters()} == {torch.float32}
    assert model.config._attn_implementation == "provegym"


@pytest.mark.parametrize("per_token", [False, True])
@pytest.mark.parametrize("learnt", range(9))
def test_rollouts_without_advantage_are_left_out(learnt: int, per_token: bool) -> None:
    """What is left can be divided, and has every rollout that adds to the loss, in order."""
    torch.manual_seed(learnt)
    paid = torch.zeros(8)
    paid[torch.randperm(8)[:learnt]] = torch.randn(learnt)
    advantages = paid[:, None] * torch.tensor([0.0, 1.0, 0.5]) if per_token else paid
    batch = {
        "advantages": advantages,
        "completion_ids": torch.arange(8)[:, None],
        "num_items_in_batch": torch.tensor(24.0),
        "ref_per_token_logps": None,
    }
    rest = without_idle(batch, 2)
    rows = rest["completion_ids"][:, 0].tolist()
    assert len(rows) == max(2, learnt + learnt % 2)
    assert rows == sorted(rows)
    assert set(paid.nonzero()[:, 0].tolist()) <= set(rows)
    assert torch.equal(rest["advantages"], advantages[rows])
    assert rest["num_items_in_batch"] == 24
    assert rest["ref_per_token_logps"] is None
