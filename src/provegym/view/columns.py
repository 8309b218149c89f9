"""The rows of a source as columns, which the page filters, orders and counts by itself.

Values that repeat are stored once (dictionary encoding): a hundred thousand rows take a few
megabytes. The text that a search looks in stays on this side, because it is the largest part.
Rows are only added, and `count` grows last, so one thread may write while others read.
"""

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from provegym.trace import Json, Verdict
from provegym.view.growing_file import FileLine
from provegym.view.summary import Summary

V = TypeVar("V", bound=Hashable)


class Coded(Generic[V]):
    """A dictionary-encoded column: each value once with its first row, and a code per row."""

    def __init__(self) -> None:
        self.codes: array[int] = array("I")
        self.values: list[V] = []
        self.firsts: array[int] = array("I")
        self._known: dict[V, int] = {}

    def append(self, value: V) -> None:
        """Add a row's value."""
        code = self._known.get(value)
        if code is None:
            code = len(self.values)
            self.values.append(value)
            self.firsts.append(len(self.codes))
            self._known[value] = code
        self.codes.append(code)

    def __getitem__(self, at: int) -> V:
        return self.values[self.codes[at]]

    def batch(self, first: int, stop: int) -> Json:
        """The codes of some rows, and the values that no row before them has.

        Codes are given in the order in which values appear, so a reader of all batches only has
        to append the values to those it has.
        """
        start, end = bisect_left(self.firsts, first), bisect_left(self.firsts, stop)
        return {"values": self.values[start:end], "codes": self.codes[first:stop].tolist()}

    def pick(self, rows: Sequence[int]) -> Json:
        """Some rows as one batch."""
        picked: Coded[V] = Coded()
        for at in rows:
            picked.append(self[at])
        return picked.batch(0, len(rows))


class LinePlace(NamedTuple):
    """Where the line of a row is: which file, first byte, length in bytes, line number."""

    shard: int
    start: int
    size: int
    line: int


class Columns:
    """The columns of one source. Another `generation` means that its file was written anew."""

    def __init__(self, generation: int = 0) -> None:
        self.generation = generation
        self.count = 0
        self.shards, self.starts = array("I"), array("Q")
        self.sizes, self.lines = array("I"), array("I")
        self.ids: Coded[str] = Coded()
        self.servers: Coded[str] = Coded()
        self.kinds: Coded[str] = Coded()
        self.policies: Coded[str] = Coded()
        self.endings: Coded[str] = Coded()
        self.knobs: Coded[tuple[str, ...]] = Coded()
        self.errors: Coded[tuple[str, ...]] = Coded()
        self.verdicts: Coded[Verdict | None] = Coded()
        self.rewards: Coded[float | None] = Coded()
        self.calls: Coded[int] = Coded()
        self.searched: list[bytes] = []

    def append(self, shard: int, line: FileLine, row: Summary) -> None:
        """Add a row."""
        self.shards.append(shard)
        self.starts.append(line.start)
        self.sizes.append(len(line.text))
        self.lines.append(line.number)
        self.ids.append(row.id)
        self.servers.append(row.server)
        self.kinds.append(row.kind)
        self.policies.append(row.policy)
        self.endings.append(row.ending)
        self.knobs.append(row.knobs)
        self.errors.append(row.errors)
        self.verdicts.append(row.verdict)
        self.rewards.append(row.reward)
        self.calls.append(row.calls)
        self.searched.append(fold(row.searched))
        self.count += 1

    def place(self, at: int) -> LinePlace:
        """Where the line of a row is."""
        return LinePlace(self.shards[at], self.starts[at], self.sizes[at], self.lines[at])

    @property
    def shown(self) -> dict[str, Coded[Any]]:
        """The columns that the page gets, by name."""
        return {
            "id": self.ids,
            "server": self.servers,
            "kind": self.kinds,
            "policy": self.policies,
            "ending": self.endings,
            "knob": self.knobs,
            "error": self.errors,
            "verdict": self.verdicts,
            "reward": self.rewards,
            "calls": self.calls,
        }

    def batch(self, first: int, stop: int) -> Json:
        """The columns of some rows, for a page that has those before them."""
        told: Json = {name: column.batch(first, stop) for name, column in self.shown.items()}
        told["at"] = list(range(first, stop))
        return told

    def pick(self, rows: Sequence[int]) -> Json:
        """The columns of some rows by themselves."""
        told: Json = {name: column.pick(rows) for name, column in self.shown.items()}
        told["at"] = list(rows)
        return told

    def search(self, words: Sequence[str]) -> list[int]:
        """The rows whose text contains every word; the words are folded already."""
        texts, left = self.searched, list(range(self.count))
        for word in words:
            sought = word.encode("utf-8", "replace")
            left = [at for at in left if sought in texts[at]]
        return left


def fold(text: str) -> bytes:
    """Text as it is searched: in upper case, which Python and JavaScript make alike, also of ß."""
    return text.upper().encode("utf-8", "replace")
