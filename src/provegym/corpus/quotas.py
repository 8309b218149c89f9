"""Quotas of a corpus: how many examples of each server, kind, knob and information level."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import sqrt
from random import Random
from statistics import median
from typing import NamedTuple

from provegym import servers
from provegym.conversation.draft import LEVELS
from provegym.conversation.kinds import SHARES, Shape
from provegym.conversation.perturb import SHARES as KNOB_SHARES
from provegym.graph.dependency import Graph, admitted, cached
from provegym.trace import Example

SLACK = 0.002
LEAST_WEIGHT, MOST_WEIGHT = 0.82, 1.48
SYNTHESISED = ("multi_turn", "clarification")


class CorpusPart(NamedTuple):
    """One part of a corpus: how many examples, of which servers, in which mix.

    `others` are the servers whose tools and topics may be used as distractors. `aliases` is the
    share of examples under other names. `worlds` are worlds that are data, and `share` is the share
    of the examples that is made on them.
    """

    name: str
    size: int
    servers: tuple[str, ...]
    mix: Mapping[str, int] = SHARES
    others: tuple[str, ...] = ()
    aliases: float = 0.0
    worlds: tuple[str, ...] = ()
    share: float = 0.0

    @property
    def all_servers(self) -> tuple[str, ...]:
        """The servers, then the worlds that are data."""
        return (*self.servers, *self.worlds)


class Quotas:
    """Counts how many more examples of each sort are wanted.

    The counts per server and kind are exact. Knobs and information levels may miss their shares by
    0.2 %. Once `free` is set, every server may fill the quota of another.
    """

    def __init__(self, part: CorpusPart) -> None:
        counts = share_out(part.size, part.mix)
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        Random(f"quotas {part.name}").shuffle(kinds)
        self.free = False
        self.of_server = Counter(spread(part))
        self.left: Counter[object] = Counter()
        for name, kind in zip(spread(part), kinds, strict=True):
            self.left[name, kind] += 1
        slack = int(SLACK * part.size)
        talks = sum(counts.get(kind, 0) for kind in SYNTHESISED)
        multi = counts.get("multi_turn", 0)
        for knob, share in KNOB_SHARES.items():
            of, among = (talks, multi) if knob == "irrelevance" else (part.size, part.size)
            on = round(share * of)
            self.left[knob, True], self.left[knob, False] = on + slack, among - on + slack
        for level, wanted in share_out(multi, LEVELS).items():
            self.left["level", level] = wanted + slack

    def wants(self, server: str, shape: Shape) -> bool:
        """Whether another example of this shape is wanted."""
        _, *others = labels(server, shape)
        return self._of_kind(server, shape.kind) > 0 and all(self.left[each] > 0 for each in others)

    def take(self, server: str, shape: Shape) -> None:
        """Count an example that is kept."""
        self.left.subtract(labels(server, shape))

    def owed(self, server: str) -> int:
        """How many more examples a server may give."""
        return sum(max(0, self._of_kind(server, kind)) for kind in SHARES)

    def _of_kind(self, server: str, kind: str) -> int:
        whose = self.of_server if self.free else (server,)
        return sum(self.left[name, kind] for name in whose)


def spread(part: CorpusPart) -> list[str]:
    """The server of each example. A server with more proven edges gets up to twice as many."""
    pairs = {name: len(_graph(name).pairs()) or 1 for name in part.servers}
    middle = median(pairs.values())
    weights = {n: min(MOST_WEIGHT, max(LEAST_WEIGHT, sqrt(p / middle))) for n, p in pairs.items()}
    on_worlds = round(part.size * part.share) if part.worlds else 0
    counts = share_out(part.size - on_worlds, weights)
    counts |= share_out(on_worlds, dict.fromkeys(part.worlds, 1)) if part.worlds else {}
    return [name for name in part.all_servers for _ in range(counts[name])]


def _graph(name: str) -> Graph:
    """The graph of a server; that of a world file is read without building its server."""
    return admitted(name) or cached(servers.load(name))


def labels(server: str, shape: Shape) -> Iterator[object]:
    """The quotas that an example of this shape counts towards."""
    yield server, shape.kind
    for knob in KNOB_SHARES:
        if knob != "irrelevance" or shape.kind == "multi_turn":  # no other kind has this knob
            yield knob, knob in shape.knobs
    if shape.level:
        yield "level", shape.level


def shape_of(example: Example) -> Shape:
    """The shape an example was drawn for."""
    levels = example.provenance.levels
    level = next((level for level in levels if level in ("complete", "missing", "minimal")), "")
    return Shape(example.kind, example.knobs, level if example.kind == "multi_turn" else "")


def share_out(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Largest remainder method: whole numbers in proportion to shares that sum to a total."""
    whole = sum(shares.values())
    exact = {name: total * share / whole for name, share in shares.items()}
    counts = {name: int(value) for name, value in exact.items()}
    missing = total - sum(counts.values())
    for name in sorted(exact, key=lambda name: counts[name] - exact[name])[:missing]:
        counts[name] += 1
    return counts
