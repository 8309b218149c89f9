"""Layered layout of a dependency graph (Sugiyama's method): a layer of tools per column.

A tool stands to the right of the tools it depends on. Within a layer, tools are ordered by
barycentre: the mean height of their neighbours, so that few edges cross.
"""

from collections import defaultdict
from math import fsum

from provegym.graph.dependency import Graph

MAX_LAYERS = 6
SWEEPS = 12


def layers(graph: Graph) -> list[list[str]]:
    """The tools by layer, from left to right; tools without edges are the last layer."""
    after: dict[str, set[str]] = defaultdict(set)
    before: dict[str, set[str]] = defaultdict(set)
    for source, target in sorted(graph.pairs()):
        after[source].add(target)
        before[target].add(source)
    depth = _depths(graph, before)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for tool in graph.tools:
        if tool in depth:
            rows[depth[tool]].append(tool)
    for sweep in range(SWEEPS):
        height = {tool: spot / len(row) for row in rows for spot, tool in enumerate(row)}
        beside = before if sweep % 2 == 0 else after
        for row in rows:
            row.sort(key=lambda tool: _barycentre(tool, beside[tool] | after[tool], height))
    alone = [tool for tool in graph.tools if tool not in depth]
    return [row for row in (*rows, alone) if row]


def _depths(graph: Graph, before: dict[str, set[str]]) -> dict[str, int]:
    """How many steps a tool is from one that needs no other; cycles are cut in listed order."""
    linked = {tool for pair in graph.pairs() for tool in pair}
    depth = {tool: 0 for tool in graph.tools if tool in linked and not before[tool]}
    if not depth and linked:
        depth[min(linked, key=lambda tool: (len(before[tool]), tool))] = 0
    while waiting := [tool for tool in graph.tools if tool in linked and tool not in depth]:
        ready = [tool for tool in waiting if before[tool] & depth.keys()] or waiting[:1]
        known = dict(depth)
        for tool in ready:
            depths = [known[other] for other in before[tool] if other in known]
            depth[tool] = min(MAX_LAYERS - 1, 1 + max(depths, default=-1))
    return depth


def _barycentre(tool: str, neighbours: set[str], height: dict[str, float]) -> float:
    """The mean height of a tool's neighbours; its own height where it has none.

    `fsum` is exact, so the order of the set does not change the layout.
    """
    heights = [height[other] for other in neighbours if other in height]
    return fsum(heights) / len(heights) if heights else height[tool]
