"""A sampler for conversations that come and go: what several begin with is read once."""

from collections.abc import Sequence
from typing import Any

from provegym.policies.sampler import MOST_KEPT, Row, Sampler
from provegym.policies.shelf import Shelf, stack


class Remembering(Sampler):
    """Goes on from the longest beginning it has read, of any conversation, as far as it has room.

    Tasks of a benchmark show the same tools, and a conversation comes back after every reply; but
    not token by token as it was sampled, since somebody else writes it down again.
    """

    def _read(self, contexts: list[list[int]], room: int) -> tuple[Any, Any]:
        kept = self.kept
        read = super()._read(contexts, room)
        self.kept = kept
        return read

    def _read_one(self, context: list[int]) -> tuple[Shelf, Any]:
        shelf, known = Shelf(len(context)), 0
        if self.kept:
            shared = [_shared(ids, context) for ids, _ in self.kept]
            at = max(range(len(shared)), key=shared.__getitem__)
            known = min(shared[at], len(context) - 1)
            if known:
                shelf = stack([self.kept[at][1]], [(0, 0, known)], len(context))
        ids = self.torch.tensor([context[known:]], device=self.model.device)
        read = self._see(ids, None, [list(range(known, len(context)))], shelf)
        self._remember(context, read[0])
        return read

    def _keep(self, rows: Sequence[Row], done: set[int], cache: Any, width: int) -> None:
        if not self.remembers:
            return
        for at in sorted(done):
            known, begin = rows[at].known, width - len(rows[at].context)
            self._remember(known, stack([cache], [(at, begin, begin + len(known))], len(known)))

    def _remember(self, known: list[int], shelf: Shelf) -> None:
        """Keep the latest, without what another holds already."""
        self.kept[:] = [each for each in self.kept if known[: len(each[0])] != each[0]]
        self.kept.append((known, shelf))
        while len(self.kept) > 1 and sum(held.size for _, held in self.kept) > MOST_KEPT:
            del self.kept[0]


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    """How far two begin alike."""
    pairs = enumerate(zip(first, second, strict=False))
    least = min(len(first), len(second))
    return next((at for at, (one, other) in pairs if one != other), least)
