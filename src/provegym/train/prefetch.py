"""Prefetching: a thread draws the worlds of the next step while the GPU trains on this one.

Drawing a world takes tens of milliseconds. Each is drawn once and then shared copy-on-write.
"""

from collections.abc import Mapping, Sequence
from threading import Thread

from provegym import servers
from provegym.toolbox import Toolbox
from provegym.trace import Example


class Prefetcher:
    """Knows the order of the examples, and draws the worlds of the next ones in a thread."""

    def __init__(self, order: Sequence[str], examples: Mapping[str, Example]) -> None:
        self.order, self.examples = order, examples
        self.places = {each: at for at, each in enumerate(order)}
        self.thread = Thread()

    def draw(self, ids: Sequence[str]) -> None:
        """Start a thread that draws the worlds of as many examples after these."""
        self.thread = Thread(target=self._draw, args=(self.after(ids),), daemon=True)
        self.thread.start()

    def after(self, ids: Sequence[str]) -> list[str]:
        """As many different examples as these, in the order in which they come next."""
        distinct = list(dict.fromkeys(ids))
        first = self.places[distinct[-1]] + 1
        return [self.order[at % len(self.order)] for at in range(first, first + len(distinct))]

    def wait(self) -> None:
        """Wait for the thread, so that no world is drawn twice."""
        if self.thread.is_alive():
            self.thread.join()

    def _draw(self, ids: Sequence[str]) -> None:
        for each in ids:
            example = self.examples[each]
            if example.server:
                session = Toolbox.of(example).session(example.seed)
                session.advance(sum(turn.minutes for turn in example.turns))
                session.digest(servers.load(example.server))
                session.diff()
