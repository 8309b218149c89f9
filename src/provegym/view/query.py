"""Filters, order and counts over the columns of a source.

A filter gives a mask of one byte per row; masks are joined as one large number. So a hundred
thousand rows are filtered in some tens of milliseconds without a library for it.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import compress
from threading import Lock
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from provegym.view.columns import Coded, Columns, fold

BUCKETS, TOP = 20, 1.3
NONE = "none"
MOST_WORDS = 8
KEPT = 8
MOST_VALUES = 200

Names = Annotated[tuple[Annotated[str, Meta(max_length=10_000)], ...], Meta(max_length=100)]
Order = Literal["line", "-line", "reward", "-reward", "calls", "-calls"]
Mask = bytes
K = TypeVar("K")
V = TypeVar("V")


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which rows, in which order; several values of one filter are alternatives."""

    server: Names = ()
    kind: Names = ()
    knob: Names = ()
    error: Names = ()
    policy: Names = ()
    ended: Names = ()
    success: bool | None = None
    least: float | None = None
    most: float | None = None
    calls_least: int | None = None
    calls_most: int | None = None
    text: Annotated[str, Meta(max_length=1_000)] = ""
    id: Annotated[str, Meta(max_length=10_000)] = ""
    sort: Order = "line"


LISTS = ("server", "kind", "knob", "error", "policy", "ended")
Facets = dict[str, dict[str, int] | list[int]]


class Selector:
    """Answers queries over one set of columns; the last few answers are kept."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._lock = Lock()
        self._orders: dict[tuple[str, int], Sequence[int]] = {}
        self._masks: dict[tuple[Query, int], dict[str, Mask]] = {}
        self._found: dict[tuple[Query, int], Sequence[int]] = {}

    def select(self, query: Query, count: int | None = None) -> Sequence[int]:
        """The rows a query asks for, in its order, among the first so many or all there are."""
        count = self.columns.count if count is None else count
        with self._lock:
            return _kept(self._found, (query, count), lambda: self._select(query, count))

    def _select(self, query: Query, count: int) -> Sequence[int]:
        sort = query.sort
        mask = join(self._parts(query, count).values(), count)
        if sort == "line":
            return range(count) if mask is None else array("I", compress(range(count), mask))
        order = _kept(self._orders, (sort, count), lambda: ordered(self.columns, sort, count))
        if mask is None:
            return order
        return array("I", compress(order, map(mask.__getitem__, order)))

    def _parts(self, query: Query, count: int) -> dict[str, Mask]:
        asked = msgspec.structs.replace(query, sort="line")
        return _kept(self._masks, (asked, count), lambda: masks(self.columns, asked, count))

    def facets(self, query: Query) -> Facets:
        """How many rows each value of each filter would leave, under all the other filters."""
        columns, count = self.columns, self.columns.count
        with self._lock:
            parts = self._parts(query, count)

        def others(name: str) -> Mask | None:
            return join((mask for key, mask in parts.items() if key != name), count)

        told: Facets = {
            "server": _counts(columns.servers, others("server"), count),
            "kind": _counts(columns.kinds, others("kind"), count),
            "policy": _counts(columns.policies, others("policy"), count),
            "ended": _counts(columns.endings, others("ended"), count),
            "knob": _spread(columns.knobs, others("knob"), count),
            "error": _spread(columns.errors, others("error"), count),
            "success": _successes(columns, others("success"), count),
            "reward": _histogram(_under(columns.rewards[:count], others("reward"))),
        }
        calls = Counter(_under(columns.calls[:count], others("calls")))
        told["calls"] = {str(length): calls[length] for length in sorted(calls)}
        return told


def _kept(kept: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """What was made for a key lately, or is made now."""
    if key not in kept:
        value = make()
        while len(kept) >= KEPT:
            del kept[next(iter(kept))]
        kept[key] = value
    return kept[key]


def ordered(columns: Columns, sort: Order, count: int) -> Sequence[int]:
    """Every row in some order; rows without a reward come last either way."""
    down = sort.startswith("-")
    if sort == "-line":
        return range(count - 1, -1, -1)
    if sort.endswith("calls"):
        return array("I", sorted(range(count), key=columns.calls.__getitem__, reverse=down))
    rewards = columns.rewards[:count]
    known = [at for at, value in enumerate(rewards) if value == value]
    known.sort(key=rewards.__getitem__, reverse=down)
    return array("I", [*known, *(at for at, value in enumerate(rewards) if value != value)])


def masks(columns: Columns, query: Query, count: int) -> dict[str, Mask]:
    """A mask for each filter that is set."""
    found: dict[str, Mask] = {}
    single = {
        "server": columns.servers,
        "kind": columns.kinds,
        "policy": columns.policies,
        "ended": columns.endings,
    }
    several = {"knob": columns.knobs, "error": columns.errors}
    for name, column in single.items():
        if wanted := _asked(query, name):
            found[name] = _mask(column, wanted.__contains__, count)
    for name, sets in several.items():
        if wanted := _asked(query, name):
            found[name] = _mask(sets, partial(_meets, wanted), count)
    if query.success is not None:
        found["success"] = bytes(map(int(query.success).__eq__, columns.successes[:count]))
    least, most = query.least, query.most
    if least is not None or most is not None:
        found["reward"] = _between(columns.rewards[:count], least, most)
    if query.calls_least is not None or query.calls_most is not None:
        found["calls"] = _between(columns.calls[:count], query.calls_least, query.calls_most)
    if query.id:
        found["id"] = bytes(map(hash(query.id).__eq__, columns.keys[:count]))
    if words := sorted(set(fold(query.text).split()), key=len, reverse=True)[:MOST_WORDS]:
        found["text"] = search(columns, words, count)
    return found


def _meets(wanted: frozenset[str], held: tuple[str, ...]) -> bool:
    return not wanted.isdisjoint(held or (NONE,))


def _asked(query: Query, name: str) -> frozenset[str]:
    return frozenset(getattr(query, name))


def _mask(column: Coded[Any], fits: Callable[[Any], bool], count: int) -> Mask:
    allowed = {code for code, value in enumerate(list(column.values)) if fits(value)}
    return bytes(map(allowed.__contains__, column.codes[:count]))


def _between(values: Sequence[float], least: float | None, most: float | None) -> Mask:
    low = float("-inf") if least is None else least
    high = float("inf") if most is None else most
    return bytes([low <= value <= high for value in values])


def join(parts: Iterable[Mask], count: int) -> Mask | None:
    """The rows that every mask lets through; None where there is no mask."""
    joined: int | None = None
    for mask in parts:
        number = int.from_bytes(mask, "little")
        joined = number if joined is None else joined & number
    return None if joined is None else joined.to_bytes(count, "little")


def search(columns: Columns, words: Sequence[bytes], count: int) -> Mask:
    """The rows in which every word occurs, the longest word first as the rarest."""
    rows = columns.words[:count]
    mask = bytes([words[0] in row for row in rows])
    for word in words[1:]:
        mask = bytes([left and word in row for left, row in zip(mask, rows, strict=True)])
    return mask


def _under(values: Sequence[Any], mask: Mask | None) -> Iterable[Any]:
    return values if mask is None else compress(values, mask)


def _counts(column: Coded[str], mask: Mask | None, count: int) -> dict[str, int]:
    found = Counter(_under(column.codes[:count], mask))
    return {column.values[code]: number for code, number in found.most_common(MOST_VALUES)}


def _spread(column: Coded[tuple[str, ...]], mask: Mask | None, count: int) -> dict[str, int]:
    told: Counter[str] = Counter()
    for code, number in Counter(_under(column.codes[:count], mask)).items():
        for value in set(column.values[code]) or {NONE}:
            told[value] += number
    return dict(told.most_common(MOST_VALUES))


def _successes(columns: Columns, mask: Mask | None, count: int) -> dict[str, int]:
    found = Counter(_under(columns.successes[:count], mask))
    return {name: found[code] for name, code in (("true", 1), ("false", 0)) if found[code]}


def _histogram(values: Iterable[float]) -> list[int]:
    buckets = [0] * BUCKETS
    for value, number in Counter(value for value in values if value == value).items():
        share = min(max(value, 0.0), TOP) / TOP
        buckets[min(BUCKETS - 1, int(share * BUCKETS))] += number
    return buckets
