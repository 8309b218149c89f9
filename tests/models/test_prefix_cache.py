"""A sampler for conversations: shared beginnings are read once, and nothing else changes."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from examples import pay_example  # noqa: E402
from models.test_sampler import Reads  # noqa: E402
from provegym.models import prefix_cache as remembering  # noqa: E402
from provegym.models.prefix_cache import PrefixCacheSampler  # noqa: E402
from provegym.models.sampler import Sampler  # noqa: E402
from train.tiny import build_model, build_tokenizer  # noqa: E402

TOOLS = [5, 6, 7, 8, 9] * 8


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([pay_example()])


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    return build_model(tokenizer, seed=1)


@pytest.fixture
def reads(model: Any) -> Any:
    counter = Reads(model)
    yield counter
    counter.hook.remove()


def test_what_conversations_begin_with_is_read_once(
    model: Any, tokenizer: Any, reads: Reads
) -> None:
    sampler = PrefixCacheSampler(model, tokenizer, 0.0, 0)
    sampler.generate([[*TOOLS, 11, 12], [*TOOLS, 21]], 1)
    assert reads.counts == [42, 1]
    reads.counts.clear()
    # The first comes back, written down otherwise than it was sampled; another task begins.
    sampler.generate([[*TOOLS, 11, 30, 31, 32], [*TOOLS, 13]], 1)
    assert reads.counts == [3, 1]


def test_it_says_what_a_sampler_that_forgets_says(model: Any, tokenizer: Any) -> None:
    sampler = PrefixCacheSampler(model, tokenizer, 0.0, 0)
    first = sampler.generate([[*TOOLS, 11], [*TOOLS[:20], 40]], 12)
    again = [[*TOOLS, 11, *first[0].ids[:5], 9], [*TOOLS[:20], 40, *first[1].ids, 3], [*TOOLS, 11]]
    fresh = [Sampler(model, tokenizer, 0.0, 0).generate([each], 12)[0] for each in again]
    assert [each.ids for each in sampler.generate(again, 12)] == [each.ids for each in fresh]


def held(sampler: PrefixCacheSampler) -> int:
    """How many bytes it keeps."""
    return sum(memory.shelf.size for memory in sampler.memories)


def test_a_conversation_is_kept_once_however_it_is_written_down(
    model: Any, tokenizer: Any, reads: Reads
) -> None:
    sampler = PrefixCacheSampler(model, tokenizer, 0.0, 0)
    talks = [[first, *TOOLS] for first in (20, 30, 40)]
    for turn in range(6):
        reads.counts.clear()
        sampler.generate(talks, 3)
        assert reads.counts[:3] == [3 if turn else 41] * 3
        # The reply comes back in tokens that were never sampled.
        talks = [[*talk, 11, 12, 13] for talk in talks]
    assert sorted(memory.ids[0] for memory in sampler.memories) == [20, 30, 40]
    each = sampler.memories[0].shelf.size // len(sampler.memories[0].ids)
    assert held(sampler) == each * sum(len(memory.ids) for memory in sampler.memories)
    assert max(len(memory.ids) for memory in sampler.memories) <= len(talks[0])


def test_what_it_keeps_is_bounded(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = PrefixCacheSampler(model, tokenizer, 0.0, 0)
    sampler.generate([[20, *TOOLS]], 1)
    one = held(sampler)
    for most, kept in {1: [50], one: [50], 2 * one: [40, 50], 3 * one - 1: [40, 50]}.items():
        monkeypatch.setattr(remembering, "MOST_KEPT", most)
        sampler.generate([[first, *TOOLS] for first in (30, 40, 50)], 1)
        assert [memory.ids[0] for memory in sampler.memories] == kept
        assert held(sampler) <= max(most, one)
