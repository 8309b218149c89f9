"""What is known of a source's rows, column by column: a hundred thousand rows take a few megabytes.

Rows are only ever added, and counted last, so that one thread may write while others read.
"""

from array import array
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

from provegym.view.glance import Glance
from provegym.view.tail import Line

V = TypeVar("V", bound=Hashable)
UNKNOWN = -1
NAN = float("nan")


class Coded(Generic[V]):
    """A column of few values, each kept once."""

    def __init__(self) -> None:
        self.codes: array[int] = array("I")
        self.values: list[V] = []
        self._known: dict[V, int] = {}

    def append(self, value: V) -> None:
        """Add a row's value."""
        code = self._known.get(value)
        if code is None:
            code = len(self.values)
            self.values.append(value)
            self._known[value] = code
        self.codes.append(code)

    def __getitem__(self, at: int) -> V:
        return self.values[self.codes[at]]


class Place(NamedTuple):
    """Where a row's line stands: in which file, at which byte, how long, and its number."""

    shard: int
    start: int
    size: int
    line: int


class Columns:
    """The rows of a source."""

    def __init__(self) -> None:
        self.count = 0
        self.shards, self.starts = array("I"), array("Q")
        self.sizes, self.lines = array("I"), array("I")
        # An example's id by its hash: what rows are matched by, at eight bytes each.
        self.keys: array[int] = array("q")
        self.servers: Coded[str] = Coded()
        self.kinds: Coded[str] = Coded()
        self.policies: Coded[str] = Coded()
        self.endings: Coded[str] = Coded()
        self.knobs: Coded[tuple[str, ...]] = Coded()
        self.errors: Coded[tuple[str, ...]] = Coded()
        self.turns, self.calls = array("I"), array("I")
        self.rewards: array[float] = array("d")
        self.successes: array[int] = array("b")
        self.words: list[bytes] = []

    def append(self, shard: int, line: Line, row: Glance) -> None:
        """Add a row."""
        self.shards.append(shard)
        self.starts.append(line.start)
        self.sizes.append(len(line.text))
        self.lines.append(line.number)
        self.keys.append(hash(row.id))
        self.servers.append(row.server)
        self.kinds.append(row.kind)
        self.policies.append(row.policy)
        self.endings.append(row.ended)
        self.knobs.append(row.knobs)
        self.errors.append(row.errors)
        self.turns.append(row.turns)
        self.calls.append(row.calls)
        self.rewards.append(NAN if row.reward is None else row.reward)
        self.successes.append(UNKNOWN if row.success is None else row.success)
        self.words.append(fold(row.words))
        self.count += 1

    def place(self, at: int) -> Place:
        """Where a row's line stands."""
        return Place(self.shards[at], self.starts[at], self.sizes[at], self.lines[at])

    def reward(self, at: int) -> float | None:
        """What a rollout was paid, where it was paid."""
        value = self.rewards[at]
        return value if value == value else None

    def success(self, at: int) -> bool | None:
        """Whether a rollout did what was asked, where that is known."""
        value = self.successes[at]
        return None if value == UNKNOWN else bool(value)


def fold(text: str) -> bytes:
    """Text as it is searched: in one case."""
    return text.casefold().encode("utf-8", "replace")
