"""Random walks in the dependency graph that use every edge and favour no tool (§3.2)."""

from collections import Counter, defaultdict
from random import Random

import msgspec

from provegym.graph.dependency import Dependency, Graph

SHORTEST, LONGEST = 2, 5
MOST = 0.5


class Chain(msgspec.Struct, frozen=True):
    """A sequence of tools, each depending on the one before it, and the edges between them."""

    tools: tuple[str, ...]
    edges: tuple[Dependency, ...]


def sample(graph: Graph, count: int, seed: int = 0) -> tuple[Chain, ...]:
    """Draw chains of two to five tools. With as many chains as edges, every edge is used."""
    sampler = ChainSampler(graph, seed)
    return tuple(sampler.draw() for _ in range(count if graph.edges else 0))


class ChainSampler:
    """Draws chains one by one, each around the edge that was used least so far."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.chance = Random(f"chains {graph.key} {seed}")
        self.edges = graph.edges
        self.leaving: dict[str, list[int]] = defaultdict(list)
        self.entering: dict[str, list[int]] = defaultdict(list)
        for number, edge in enumerate(graph.edges):
            self.leaving[edge.source].append(number)
            self.entering[edge.target].append(number)
        self.edge_uses: Counter[int] = Counter()
        self.tool_uses: Counter[str] = Counter()
        self.drawn = 0

    def draw(self) -> Chain:
        """One more chain."""
        length = self.chance.randint(SHORTEST, LONGEST)
        path = [self._least(list(range(len(self.edges))))]
        self.edge_uses.update(path)  # the first edge of a chain counts twice
        while len(path) < length - 1:
            ways = self._ways(path)
            if not ways:
                break
            chosen = self._least(ways)
            ahead = self.edges[chosen].source == self.edges[path[-1]].target
            path = [*path, chosen] if ahead else [chosen, *path]
        edges = tuple(self.edges[number] for number in path)
        tools = (edges[0].source, *(edge.target for edge in edges))
        self.edge_uses.update(path)
        self.tool_uses.update(tools)
        self.drawn += 1
        return Chain(tools, edges)

    def _ways(self, path: list[int]) -> list[int]:
        """The edges that extend a path by a tool that is not in it and not used too often."""
        first, last = self.edges[path[0]].source, self.edges[path[-1]].target
        inside = {first, *(self.edges[number].target for number in path)}
        onward = [n for n in self.leaving[last] if self._is_free(self.edges[n].target, inside)]
        return onward + [
            n for n in self.entering[first] if self._is_free(self.edges[n].source, inside)
        ]

    def _is_free(self, tool: str, inside: set[str]) -> bool:
        return tool not in inside and self.tool_uses[tool] <= MOST * self.drawn

    def _least(self, numbers: list[int]) -> int:
        """The least used edge; ties go to the least used tools, then to chance."""
        return min(
            numbers,
            key=lambda number: (
                self.edge_uses[number],
                self.tool_uses[self.edges[number].source]
                + self.tool_uses[self.edges[number].target],
                self.chance.random(),
            ),
        )
