"""How alike worlds are: Jaccard similarity of their tool names, schemas and graphs.

A near copy of an earlier world is refused. Two graphs are compared by the kinds of their tools, so
that worlds of different domains can be compared too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import mean
from typing import Any, NamedTuple

from provegym.worlds.spec import Operation, WorldSpec

NEAR_COPY = 0.6


class Traits(NamedTuple):
    """What two worlds are compared by."""

    name: str
    tools: frozenset[str]
    schemas: frozenset[tuple[str, str]]
    graph: Counter[tuple[str, str]]


def traits(spec: WorldSpec, graph: dict[str, Any] | None = None) -> Traits:
    """The traits of a world. Without a proven graph, that part is empty."""
    labels = {operation.tool: _label(operation) for operation in spec.operations}
    edges = graph["edges"] if graph else ()
    return Traits(
        spec.name,
        frozenset(labels),
        frozenset(
            (argument.name, argument.of or argument.kind or argument.filter)
            for operation in spec.operations
            for argument in operation.arguments
        ),
        Counter((labels[edge["source"]], labels[edge["target"]]) for edge in edges),
    )


def _label(operation: Operation) -> str:
    """The kind of a tool, without its words: what it does and which rules it has."""
    rules = ",".join(sorted(guard.rule for guard in operation.guards))
    return f"{operation.kind}({len(operation.arguments)}) {rules}"


def jaccard(one: frozenset[Any], two: frozenset[Any]) -> float:
    """The size of the intersection by the size of the union."""
    return len(one & two) / len(one | two) if one or two else 0.0


def weighted(one: Counter[Any], two: Counter[Any]) -> float:
    """Jaccard similarity of multisets."""
    return (one & two).total() / max(1, (one | two).total())


class Copies:
    """Finds near copies among worlds; only worlds that share a tool's name are compared."""

    def __init__(self) -> None:
        self.holders: dict[str, list[Traits]] = defaultdict(list)

    def nearest(self, found: Traits) -> tuple[float, str]:
        """The similarity of tool names to the most similar world so far, and its name."""
        shared = Counter(each.name for tool in found.tools for each in self.holders[tool])
        known = {each.name: each for tool in found.tools for each in self.holders[tool]}
        scores = [(jaccard(found.tools, known[name].tools), name) for name in shared]
        return max(scores, default=(0.0, ""))

    def add(self, found: Traits) -> None:
        """Remember a world."""
        for tool in found.tools:
            self.holders[tool].append(found)


def summary(worlds: Iterable[Traits]) -> dict[str, float]:
    """Similarities over all pairs, and of each world to the one that is most similar to it."""
    known = list(worlds)
    if len(known) < 2:
        return {}
    pairs: dict[str, float] = defaultdict(float)
    nearest: dict[str, list[float]] = {what: [0.0] * len(known) for what in WHAT}
    for at, one in enumerate(known):
        for other in range(at):
            for what, score in zip(WHAT, _scores(one, known[other]), strict=True):
                pairs[what] += score
                best = nearest[what]
                best[at], best[other] = max(best[at], score), max(best[other], score)
    count = len(known) * (len(known) - 1) / 2
    found = {f"{what}, all pairs": total / count for what, total in pairs.items()}
    return found | {f"{what}, nearest": mean(values) for what, values in nearest.items()}


WHAT = ("tools", "schemas", "graphs")


def _scores(one: Traits, two: Traits) -> tuple[float, float, float]:
    return (
        jaccard(one.tools, two.tools),
        jaccard(one.schemas, two.schemas),
        weighted(one.graph, two.graph),
    )
