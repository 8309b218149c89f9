"""Near-duplicate removal by Jaccard similarity, with caps on frequent tools and tool sequences.

Two examples are near copies if the Jaccard similarity of their sets of calls is at least 0.70.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import ceil

import msgspec

from provegym.trace import Example, literals

NEAR_COPY = 0.70
# Of a server's quota. Below the goals of 2 and 70 %, as a server may end with fewer examples.
MOST_SEQUENCE = 0.018
MOST_TOOL = 0.6
# So often a tool may be called however small the quota is: some servers have one way in.
ALWAYS = 3


class Deduplicator:
    """Remembers the examples that were kept, and says why another one is too similar to them."""

    def __init__(self) -> None:
        self.sets: list[frozenset[str]] = []
        self.holders: dict[str, list[int]] = defaultdict(list)
        self.texts: set[str] = set()
        self.sequences: Counter[tuple[str, ...]] = Counter()
        self.tools: Counter[tuple[str, str]] = Counter()

    def objection(self, example: Example, of_server: int) -> str:
        """Why an example is not kept; empty if it is. `of_server` is its server's quota."""
        if _words(example) in self.texts:
            return "the same words twice"
        steps = example.paths[0].steps
        if not steps:
            return ""
        if self.sequences[_sequence(example)] >= max(1, int(MOST_SEQUENCE * of_server)):
            return "a common sequence of calls"
        most = max(ALWAYS, int(MOST_TOOL * of_server))
        if any(self.tools[example.server, step.tool] >= most for step in steps):
            return "a tool that is called too often"
        return "a near copy" if self._is_near_copy(_calls(example)) else ""

    def _is_near_copy(self, calls: frozenset[str]) -> bool:
        # Prefix filter: a near copy lacks at most `missing` of these calls. So it shares at least
        # one of the `missing + 1` rarest, and only examples that hold one of those are compared.
        missing = len(calls) - ceil(NEAR_COPY * len(calls) - 1e-9)
        rarest = sorted(calls, key=lambda call: len(self.holders.get(call, ())))[: missing + 1]
        near = {number for call in rarest for number in self.holders.get(call, ())}
        return any(
            len(calls & self.sets[number]) / len(calls | self.sets[number]) >= NEAR_COPY
            for number in near
        )

    def keep(self, example: Example) -> None:
        """Remember an example that is kept."""
        self.texts.add(_words(example))
        if not example.paths[0].steps:
            return
        calls = _calls(example)
        for call in calls:
            self.holders[call].append(len(self.sets))
        self.sets.append(calls)
        self.sequences[_sequence(example)] += 1
        self.tools.update({(example.server, step.tool) for step in example.paths[0].steps})

    def next_part(self) -> None:
        """Reset the counts of sequences and tools. The kept examples stay known."""
        self.sequences.clear()
        self.tools.clear()


def _calls(example: Example) -> frozenset[str]:
    """The set of an example's calls, each as a text of tool and arguments."""
    steps = example.paths[0].steps
    given = [msgspec.json.encode(literals(step.arguments), order="sorted") for step in steps]
    return frozenset(f"{step.tool}{args!r}" for step, args in zip(steps, given, strict=True))


def _sequence(example: Example) -> tuple[str, ...]:
    return (example.server, *(step.tool for step in example.paths[0].steps))


def _words(example: Example) -> str:
    texts: Sequence[str] = [turn.text.casefold() for turn in example.turns]
    return " | ".join([example.server, *texts])
