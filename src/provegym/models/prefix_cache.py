"""A prefix cache: a sampler that reuses the KV cache of the longest known prefix of a prompt."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from provegym.models.kv_cache import KVCache, stack
from provegym.models.sampler import MOST_KEPT, Continuation, Sampler


class Memory(NamedTuple):
    """The KV cache of a prompt and its reply; `given` is the length of the prompt."""

    ids: list[int]
    given: int
    shelf: KVCache


class PrefixCacheSampler(Sampler):
    """A sampler with a prefix cache of bounded size, for requests of many conversations.

    Tasks of a benchmark share a prefix, the tools. A conversation comes back after every reply, but
    the client has rendered the reply again, so its tokens may differ from the sampled ones.
    """

    def __init__(self, model: Any, tokenizer: Any, temperature: float, seed: int) -> None:
        super().__init__(model, tokenizer, temperature, seed)
        self.memories: list[Memory] = []

    def _read_one(self, context: list[int]) -> tuple[KVCache, Any]:
        shelf, known = KVCache(len(context)), 0
        if self.memories:
            shared = [_shared(each.ids, context) for each in self.memories]
            at = max(range(len(shared)), key=shared.__getitem__)
            known = min(shared[at], len(context) - 1)
            if known:
                shelf = stack([self.memories[at].shelf], [(0, 0, known)], len(context))
        ids = self.torch.tensor([context[known:]], device=self.model.device)
        read = self._see(ids, None, [list(range(known, len(context)))], shelf)
        self._remember(Memory(context, len(context), read[0]))
        return read

    def _keep(self, rows: Sequence[Continuation], done: set[int], cache: Any, width: int) -> None:
        if not self.remembers:
            return
        for at in sorted(done):
            known, given = rows[at].known, len(rows[at].context)
            begin = width - given
            held = stack([cache], [(at, begin, begin + len(known))], len(known))
            self._remember(Memory(known, given, held))

    def _remember(self, new: Memory) -> None:
        """Add an entry, drop entries whose prompt it continues, and evict the oldest if too big."""
        self.memories = [m for m in self.memories if new.ids[: m.given] != m.ids[: m.given]]
        self.memories.append(new)
        while len(self.memories) > 1 and sum(m.shelf.size for m in self.memories) > MOST_KEPT:
            del self.memories[0]


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    least = min(len(first), len(second))
    return next((at for at, (one, other) in pairs if one != other), least)
