"""Slots of a KV cache: replies equal those of a plain forward pass over the whole context."""

from collections.abc import Iterator, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from provegym.models import slot_passes as module
from provegym.models.slots import Slots, room_for
from provegym.models.source import Sampled

WORDS, END = 60, 3


def build(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
        eos_token_id=END,
    )
    return LlamaForCausalLM(config).eval()


def make(model: Any, temperature: float = 0.0, count: int = 4, **settings: Any) -> Slots:
    tokenizer = SimpleNamespace(eos_token_id=END)
    return Slots(model, tokenizer, temperature, slots=count, longest=200, reply=24, **settings)


def log_probabilities(model: Any, ids: Sequence[int], temperature: float) -> Any:
    """Of every next token, by a plain forward pass."""
    attention = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0]
    model.set_attn_implementation(attention)
    return (logits / (temperature or 1.0)).log_softmax(-1)


def check(model: Any, context: list[int], reply: Sampled, most: int, temperature: float) -> None:
    """The reply ends where it must, and its log-probabilities are those of the model."""
    assert 1 <= len(reply.ids) <= most
    assert END not in reply.ids[:-1]
    assert reply.ids[-1] == END or len(reply.ids) == most
    known = log_probabilities(model, context + reply.ids, temperature)
    for at, (token, value) in enumerate(zip(reply.ids, reply.logprobs, strict=True)):
        row = known[len(context) + at - 1]
        assert value == pytest.approx(row[token].item(), abs=1e-4)
        if not temperature:
            assert token == row.argmax().item()


def replies(source: Slots, asked: int) -> Iterator[tuple[int, Sampled]]:
    got = 0
    while got < asked:
        for seat, reply in source.take().items():
            got += 1
            yield seat, reply


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_conversations_are_sampled_as_by_plain_passes(temperature: float, count: int) -> None:
    """Conversations of several turns, more than there are slots, some with equal prompts."""
    model, chance = build(), Random(count)
    source = make(model, temperature, count, seed=count)
    prompts = [[chance.randrange(4, WORDS) for _ in range(chance.randint(1, 30))] for _ in range(4)]
    talks = [list(prompts[at % 4]) for at in range(7)]
    turns = [0] * 7
    for seat, context in enumerate(talks):
        source.ask(seat, context, 12)
    left = 7
    while left:
        for seat, reply in source.take().items():
            check(model, talks[seat], reply, 12, temperature)
            turns[seat] += 1
            told = [chance.randrange(4, WORDS) for _ in range(chance.randint(0, 9))]
            talks[seat] = talks[seat] + reply.ids + told
            if turns[seat] < 3:
                source.ask(seat, talks[seat], 12)
            else:
                left -= 1
    assert turns == [3] * 7


def test_a_long_prompt_is_read_in_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZES", (40,))
    model, chance = build(), Random(1)
    source = make(model)
    contexts = [[chance.randrange(4, WORDS) for _ in range(size)] for size in (30, 5, 90, 20)]
    for seat, context in enumerate(contexts):
        source.ask(seat, context, 6)
    for seat, reply in replies(source, 4):
        check(model, contexts[seat], reply, 6, 0.0)


def test_only_new_tokens_are_read_and_equal_prompts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build()
    source = make(model)
    read: list[int] = []
    see = source.passes._see
    monkeypatch.setattr(
        source.passes,
        "_see",
        lambda ids, positions, where: (read.append(len(ids)), see(ids, positions, where))[1],
    )
    context = list(range(4, 24))
    for seat in range(3):
        source.ask(seat, context, 5)
    told = {}
    for seat, reply in replies(source, 3):
        told[seat] = context + reply.ids
    assert [size for size in read if size != 4] == [19]
    read.clear()
    source.ask(0, [*told[0], 7, 8, 9, 10, 11, 12, 13], 5)
    assert dict(replies(source, 1))
    # The last sampled token and all new ones but the last, which the first step reads.
    assert [size for size in read if size != 4] == [7]


def test_other_weights_forget_what_was_read() -> None:
    model, other = build(), build(1)
    source = make(model)
    context = [5, 6, 7, 8]
    source.ask(0, context, 8)
    dict(replies(source, 1))
    model.load_state_dict(other.state_dict())
    source.forget()
    source.ask(0, context, 8)
    (reply,) = dict(replies(source, 1)).values()
    check(other, context, reply, 8, 0.0)


def test_a_seed_repeats_the_replies() -> None:
    source = make(build(), 1.0)
    drawn = []
    for seed in (5, 5, 6):
        source.seed(seed)
        source.ask(0, [5, 6, 7], 20)
        drawn.append(dict(replies(source, 1))[0].ids)
    assert drawn[0] == drawn[1] != drawn[2]


def test_tokens_are_drawn_by_their_probability() -> None:
    model = build()
    source = make(model, 1.0, 64, seed=2)
    counts = torch.zeros(WORDS)
    for _ in range(60):
        for seat in range(64):
            source.ask(seat, [9, 8, 7], 1)
        for _, reply in replies(source, 64):
            counts[reply.ids[0]] += 1
    wanted = log_probabilities(model, [9, 8, 7], 1.0)[-1].exp()
    spread = (wanted * (1 - wanted) / counts.sum()).sqrt()
    assert ((counts / counts.sum() - wanted).abs() <= 5 * spread + 1e-3).all()


def test_what_does_not_fit_is_refused() -> None:
    source = make(build())
    with pytest.raises(ValueError, match="made for 200 together and replies of 24"):
        source.ask(0, [5] * 190, 20)
    with pytest.raises(ValueError, match="replies of 24"):
        source.ask(0, [5], 25)
    with pytest.raises(RuntimeError, match="nothing was asked for"):
        source.take()


def test_a_sliding_window_is_refused() -> None:
    config = MistralConfig(
        vocab_size=WORDS,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=16,
    )
    with pytest.raises(ValueError, match=r"no sliding_window"):
        make(MistralForCausalLM(config))


def test_the_room_for_slots_is_a_share_of_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build()
    _, layers, _, _, heads, width = slot_shape = module.cache_shape(model.config, 1, 100)
    one = 2 * layers * 100 * heads * width * 4
    assert slot_shape == (2, layers, 1, 100, heads, width)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10 * one, 20 * one))
    assert room_for(model, 99) == 8
    assert room_for(model, 999) == 0
