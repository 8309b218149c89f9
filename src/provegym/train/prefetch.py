"""Worlds drawn ahead: those of the next step, while a GPU learns from this one.

A world is drawn once and then copied for nothing; the drawing takes tens of milliseconds.
"""

from collections.abc import Mapping, Sequence
from threading import Thread

from provegym import servers
from provegym.toolbox import Toolbox
from provegym.trace import Example


class Ahead:
    """Knows in which order examples come, and has the next ones ready."""

    def __init__(self, order: Sequence[str], examples: Mapping[str, Example]) -> None:
        self.order, self.examples = order, examples
        self.places = {each: at for at, each in enumerate(order)}
        self.thread = Thread()

    def draw(self, ids: Sequence[str]) -> None:
        """Begin to draw the worlds that come after those of these examples."""
        distinct = list(dict.fromkeys(ids))
        first = self.places[distinct[-1]] + 1
        coming = [self.order[at % len(self.order)] for at in range(first, first + len(distinct))]
        self.thread = Thread(target=self._draw, args=(coming,), daemon=True)
        self.thread.start()

    def wait(self) -> None:
        """Let what was begun come to its end: two would draw the same."""
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
