"""How alike worlds are: Jaccard similarity of their tool names, schemas, shapes and graphs.

A near copy of an earlier world is refused: one with nearly the same names of tools, or one with
nearly the same tools under other names. The shape of a world is the multiset of its tools without
their words: what each does, the kinds of its arguments, its rules and effects. Two graphs are
compared by the kinds of their tools, so that worlds of different domains can be compared too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import mean
from typing import Any, NamedTuple

from provegym.worlds.spec import Operation, WorldSpec

NEAR_COPY = 0.6
SAME_SHAPE = 0.9


class Traits(NamedTuple):
    """What two worlds are compared by."""

    name: str
    tools: frozenset[str]
    schemas: frozenset[tuple[str, str]]
    shape: Counter[str]
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
        Counter(map(_shape, spec.operations)),
        Counter((labels[edge["source"]], labels[edge["target"]]) for edge in edges),
    )


def _label(operation: Operation) -> str:
    """The kind of a tool, without its words: what it does and which rules it has."""
    rules = ",".join(sorted(guard.rule for guard in operation.guards))
    return f"{operation.kind}({len(operation.arguments)}) {rules}"


def _shape(operation: Operation) -> str:
    """A tool without its words: its label, the kinds of its arguments, and its effects."""
    arguments = sorted(
        ("id" if argument.of else argument.kind or argument.test or "filter")
        + ("?" if argument.optional else "")
        for argument in operation.arguments
    )
    effects = sorted(
        f"{'add' if each.add else 'remove' if each.remove else 'set'} {len(each.set)}"
        for each in operation.effects
    )
    return f"{_label(operation)}; {', '.join(arguments)}; {', '.join(effects)}"


def jaccard(one: frozenset[Any], two: frozenset[Any]) -> float:
    """The size of the intersection by the size of the union."""
    return len(one & two) / len(one | two) if one or two else 0.0


def weighted(one: Counter[Any], two: Counter[Any]) -> float:
    """Jaccard similarity of multisets."""
    return (one & two).total() / max(1, (one | two).total())


class Copies:
    """Finds near copies among worlds. Worlds that cannot be near are not compared."""

    def __init__(self) -> None:
        self.holders: dict[str, list[Traits]] = defaultdict(list)
        self.shapes: dict[str, list[Traits]] = defaultdict(list)

    def nearest(self, found: Traits) -> tuple[float, str]:
        """The similarity of tool names to the most similar world so far, and its name."""
        known = {each.name: each for tool in found.tools for each in self.holders[tool]}
        scores = [(jaccard(found.tools, each.tools), name) for name, each in known.items()]
        return max(scores, default=(0.0, ""))

    def same_shape(self, found: Traits) -> str:
        """The name of a world so far with nearly the same shape, or nothing.

        A prefix filter: such a world lacks only a few of these tools, so it has one of any that are
        more. The rarest are looked for.
        """
        most_lacking = int((1 / SAME_SHAPE - 1) * found.shape.total())
        rare = sorted(found.shape, key=lambda tool: (len(self.shapes[tool]), tool))
        known = {each.name: each for tool in rare[: most_lacking + 1] for each in self.shapes[tool]}
        near = (name for name, each in known.items() if _is_near(found.shape, each.shape))
        return next(near, "")

    def add(self, found: Traits) -> None:
        """Remember a world."""
        for tool in found.tools:
            self.holders[tool].append(found)
        for shape in found.shape:
            self.shapes[shape].append(found)


def _is_near(one: Counter[str], two: Counter[str]) -> bool:
    return weighted(one, two) >= SAME_SHAPE


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


WHAT = ("tools", "schemas", "shapes", "graphs")


def _scores(one: Traits, two: Traits) -> tuple[float, float, float, float]:
    return (
        jaccard(one.tools, two.tools),
        jaccard(one.schemas, two.schemas),
        weighted(one.shape, two.shape),
        weighted(one.graph, two.graph),
    )
