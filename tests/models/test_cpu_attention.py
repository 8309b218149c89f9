"""Attention by blocks on a CPU gives what the formula gives, values and gradients."""

import pytest

pytest.importorskip("torch")

import torch

from provegym.models import cpu_attention
from provegym.models.varlen import Bounds, attention

SHAPES = [(1, 1), (1, 9), (7, 7), (8, 8), (9, 20), (13, 13), (16, 40)]


def formula(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Causal attention, written down: every head by itself."""
    count, seen, group = len(query), len(key), query.shape[1] // key.shape[1]
    late = torch.ones(count, seen, dtype=torch.bool).triu(seen - count + 1)
    heads = []
    for head in range(query.shape[1]):
        scores = query[:, head] @ key[:, head // group].T / query.shape[2] ** 0.5
        heads.append(scores.masked_fill(late, -torch.inf).softmax(-1) @ value[:, head // group])
    return torch.stack(heads, 1)


def drawn(count: int, seen: int, dtype: torch.dtype) -> list[torch.Tensor]:
    torch.manual_seed(count * seen)
    shapes = ((count, 6, 4), (seen, 2, 4), (seen, 2, 4))
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize(("count", "seen"), SHAPES)
@pytest.mark.parametrize("block", [1, 4, 128])
def test_blocks_give_what_the_formula_gives(
    count: int, seen: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_attention, "BLOCK", block)
    some = drawn(count, seen, torch.float64)
    above = torch.randn(count, 6, 4, dtype=torch.float64)
    made, right = cpu_attention.attend(*some, None), formula(*some)
    assert torch.allclose(made, right, atol=1e-12)
    pairs = zip(
        torch.autograd.grad(made, some, above), torch.autograd.grad(right, some, above), strict=True
    )
    # Gradients of keys are summed in 32 bits.
    assert all(torch.allclose(one, two, atol=1e-5) for one, two in pairs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_row_of_sequences_sees_no_neighbour(dtype: torch.dtype) -> None:
    parts = [drawn(count, seen, dtype) for count, seen in SHAPES]
    row = [torch.cat(each) for each in zip(*parts, strict=True)]
    queries, keys = (torch.tensor([0, *each]).cumsum(0) for each in zip(*SHAPES, strict=True))
    made = attention(*row, Bounds(queries, keys, 16, 40), None)
    right = torch.cat([formula(*(each.double() for each in some)) for some in parts])
    assert torch.allclose(made.double(), right, atol=3e-2 if dtype == torch.bfloat16 else 1e-5)


def test_large_keys_of_one_sign_lose_little() -> None:
    """Such keys would make scores that 16 bits hardly tell apart."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(shape) for shape in ((64, 6, 16), (64, 2, 16), (64, 2, 16)))
    key += 20 * torch.randn(2, 16)
    made = cpu_attention.attend(*(each.bfloat16() for each in (query, key, value)), None)
    right = formula(*(each.bfloat16().double() for each in (query, key, value)))
    assert (made.double() - right).norm() / right.norm() < 0.01
