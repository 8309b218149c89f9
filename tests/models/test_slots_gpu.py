"""Slots on a GPU: CUDA graphs, the Triton kernels and torch's attention agree with plain passes."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from provegym.models import decode_attention, slot_passes
from provegym.models.decode_attention import Parts, decode, parts_of
from provegym.models.local import narrow
from provegym.models.slots import Slots
from provegym.models.varlen import Bounds, attention

WORDS, END, LONGEST = 400, 3, 1_500

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def build() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=288,
        intermediate_size=512,
        num_hidden_layers=3,
        num_attention_heads=9,
        num_key_value_heads=3,
        head_dim=32,
        initializer_range=0.05,
        eos_token_id=END,
    )
    return narrow(LlamaForCausalLM(config).eval().to("cuda"))


# torch.compile imports parts of torch that warn.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kernels", ["triton", "torch"])
@pytest.mark.parametrize("compiled", [False, True])
def test_replies_are_those_of_plain_passes(
    kernels: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three turns of ten conversations in six slots; log-probabilities differ by rounding alone."""
    if kernels == "torch":
        monkeypatch.setattr(slot_passes, "parts_of", lambda cache, heads: None)
    model, plain, chance = build(), build().float(), Random(0)
    source = Slots(
        model,
        SimpleNamespace(eos_token_id=END),
        1.0,
        slots=6,
        longest=LONGEST,
        reply=40,
        compiled=compiled,
    )
    assert (source.passes.parts is None) == (kernels == "torch")
    prompts = [[chance.randrange(4, WORDS) for _ in range(size)] for size in (1, 30, 520, 1_100)]
    talks = {seat: list(prompts[seat % 4]) for seat in range(10)}
    turns = dict.fromkeys(talks, 0)
    for seat, context in talks.items():
        source.ask(seat, context, 40)
    apart: list[float] = []
    while any(count < 3 for count in turns.values()):
        for seat, reply in source.take().items():
            ids = torch.tensor([talks[seat] + reply.ids], device="cuda")
            with torch.no_grad():
                known = plain(input_ids=ids).logits[0].log_softmax(-1)
            for at, (token, value) in enumerate(zip(reply.ids, reply.logprobs, strict=True)):
                apart.append(abs(value - known[len(talks[seat]) + at - 1, token].item()))
            told = [chance.randrange(4, WORDS) for _ in range(chance.randint(0, 60))]
            talks[seat] = talks[seat] + reply.ids + told
            turns[seat] += 1
            if turns[seat] < 3:
                source.ask(seat, talks[seat], 40)
    assert len(apart) > 300
    assert max(apart) < 0.1
    assert sum(apart) / len(apart) < 0.01


@pytest.mark.parametrize(
    ("heads", "shared", "width"), [(9, 3, 64), (32, 4, 64), (4, 4, 16), (32, 8, 128)]
)
def test_the_kernels_equal_the_attention_of_torch(heads: int, shared: int, width: int) -> None:
    torch.manual_seed(1)
    slots, longest = 5, 2_100
    cache = torch.randn(2, slots, longest, shared, width, device="cuda", dtype=torch.bfloat16)
    used = torch.tensor([1, longest - 1, 512, 513, 700], dtype=torch.int32, device="cuda")
    places = torch.arange(slots, device="cuda") * longest + used.long() - 1
    made = torch.randn(slots, heads + 2 * shared, width, device="cuda", dtype=torch.bfloat16)
    query, key, value = made.split([heads, shared, shared], 1)
    wanted = cache.clone()
    for kept, new in zip(wanted, (key, value), strict=True):
        kept.flatten(0, 1).index_copy_(0, places, new)
    one_each = torch.arange(slots + 1, dtype=torch.int32, device="cuda")
    bounds = Bounds(one_each, one_each * longest, 1, longest, used)
    seen = attention(query, *(kept.flatten(0, 1) for kept in wanted), bounds, width**-0.5)
    parts = parts_of(cache[:, None], heads)
    assert isinstance(parts, Parts)
    for memory in parts:
        memory.fill_(float("nan"))
    found = decode(
        query, key, value, cache, places=places, used=used, parts=parts, scale=width**-0.5
    )
    assert torch.equal(cache, wanted)
    assert (found - seen).abs().max() < 0.03


def test_widths_without_kernels_are_left_to_torch() -> None:
    cache = torch.zeros(2, 1, 1, 8, 2, 24, device="cuda")
    assert parts_of(cache, 4) is None
    assert decode_attention.triton is not None
