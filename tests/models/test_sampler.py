"""Sampling: only what is new is read, and what comes out is as if all had been read anew."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from examples import pay_example  # noqa: E402
from provegym.models import sampler  # noqa: E402
from provegym.models.kv_cache import GROUPED, KVCache, stack  # noqa: E402
from provegym.models.sampler import Sampler  # noqa: E402
from train.tiny import build_model, build_tokenizer  # noqa: E402

CONTEXTS = [[5, 6, 7, 8, 9], [40, 41], [7] * 30, [40, 41]]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([pay_example()])


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    return build_model(tokenizer, seed=1)


class Reads:
    """Counts how many tokens a model reads at a time."""

    def __init__(self, model: Any) -> None:
        self.counts: list[int] = []
        self.hook = model.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, model: Any, args: Any, kwargs: Any) -> None:
        self.counts.append(kwargs["input_ids"].numel())


@pytest.fixture
def reads(model: Any) -> Any:
    counter = Reads(model)
    yield counter
    counter.hook.remove()


def plain(model: Any, tokenizer: Any, seed: int, temperature: float = 1.0) -> Sampler:
    """A sampler that remembers nothing and pads."""
    made = Sampler(model, tokenizer, temperature, seed)
    made.remembers = False
    return made


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_and_padded_batches_give_the_same(
    model: Any, tokenizer: Any, temperature: float
) -> None:
    rows = Sampler(model, tokenizer, temperature, 3).generate(CONTEXTS, 20)
    padded = plain(model, tokenizer, 3, temperature).generate(CONTEXTS, 20)
    assert [each.ids for each in rows] == [each.ids for each in padded]
    for one, other in zip(rows, padded, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_prompt_is_read_once_and_the_next_turn_from_where_it_left_off(
    model: Any, tokenizer: Any, reads: Reads
) -> None:
    made = Sampler(model, tokenizer, 1.0, 3)
    first = made.generate(CONTEXTS, 6)
    assert reads.counts[:3] == [5, 2, 30]
    assert sum(reads.counts[3:]) == sum(len(each.ids) - 1 for each in first)
    reads.counts.clear()
    told = [50, 51, 52]
    longer = [c + each.ids + told for c, each in zip(CONTEXTS, first, strict=True)]
    second = made.generate(longer, 1)
    assert reads.counts == [1 + len(told)] * 4
    for context, (ids, logprobs) in zip(longer, second, strict=True):
        with torch.no_grad():
            expected = (
                model(input_ids=torch.tensor([context])).logits[0, -1].log_softmax(-1)[ids[0]]
            )
        assert logprobs[0] == pytest.approx(expected.item(), abs=1e-4)


def test_chance_draws_as_often_as_the_model_says(model: Any, tokenizer: Any) -> None:
    with torch.no_grad():
        shares = (model(input_ids=torch.tensor([[5, 6]])).logits[0, -1] / 0.04).softmax(-1)
    samples = Sampler(model, tokenizer, 0.04, 7).generate([[5, 6]] * 1000, 1)
    drawn = torch.bincount(torch.tensor([each.ids[0] for each in samples]), minlength=len(shares))
    best = shares.topk(5)
    assert best.values.max() > 0.2
    assert (drawn[best.indices] / 1000).tolist() == pytest.approx(best.values.tolist(), abs=0.05)


def test_what_a_row_draws_does_not_depend_on_others_being_done(model: Any, tokenizer: Any) -> None:
    alone = Sampler(model, tokenizer, 1.0, 3).generate([[7] * 30, [5]], 12)
    made = Sampler(model, tokenizer, 1.0, 3)
    made.ends = {alone[1].ids[0]} - set(alone[0].ids)
    assert made.ends
    one, other = made.generate([[7] * 30, [5]], 12)
    assert (one.ids, other.ids) == (alone[0].ids, alone[1].ids[:1])


def test_without_room_to_remember_all_is_read_again(
    model: Any, tokenizer: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "MOST_KEPT", 0)
    made = Sampler(model, tokenizer, 1.0, 3)
    ids = made.generate([[5, 6, 7]], 4)[0].ids
    assert made.kept == []
    reads.counts.clear()
    again = [5, 6, 7, *ids, 9]
    made.generate([again], 1)
    assert reads.counts == [len(again)]


def test_what_was_kept_serves_the_same_context_again(model: Any, tokenizer: Any) -> None:
    made = Sampler(model, tokenizer, 0.0, 3)
    once = made.generate([[5, 6, 7]], 1)
    assert made.kept[0][0] == [5, 6, 7]
    assert made.generate([[5, 6, 7]], 1) == once


def test_the_model_is_left_as_it_was_even_if_it_fails(model: Any, tokenizer: Any) -> None:
    before = model.config._attn_implementation
    seen = []
    hook = model.register_forward_pre_hook(
        lambda *_: seen.append(model.config._attn_implementation) or 1 / 0
    )
    try:
        with pytest.raises(ZeroDivisionError):
            Sampler(model, tokenizer, 1.0, 3).generate([[5]], 2)
    finally:
        hook.remove()
    assert (before, seen) == ("sdpa", [GROUPED])
    assert model.config._attn_implementation == before


def test_layers_that_forget_are_sampled_too(tokenizer: Any) -> None:
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=8,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = MistralForCausalLM(config).eval()
    made = Sampler(model, tokenizer, 1.0, 3)
    assert not made.remembers
    (ids, logprobs), *_ = made.generate([[7] * 30, [9] * 30], 12)
    with torch.no_grad():
        logits = model(torch.tensor([[7] * 30 + ids])).logits[0].log_softmax(-1)
    expected = [logits[29 + at, token].item() for at, token in enumerate(ids)]
    assert logprobs == pytest.approx(expected, abs=1e-4)


def test_rows_of_different_lengths_end_at_the_same_place() -> None:
    short, long = KVCache(2), KVCache(4)
    short.update(torch.full((1, 1, 2, 3), 1.0), torch.full((1, 1, 2, 3), 1.5), 0)
    long.update(torch.full((1, 1, 4, 3), 2.0), torch.full((1, 1, 4, 3), 2.5), 0)
    both = stack([short, long], [(0, 0, 2), (0, 1, 4)], 5)
    assert both.get_seq_length() == 3
    assert both.keys[0][:, 0, :, 0].tolist() == [[0, 1, 1, 0, 0], [2, 2, 2, 0, 0]]
    both.reorder_cache(torch.tensor([1]))
    assert both.values[0][:, 0, :3, 0].tolist() == [[2.5] * 3]
