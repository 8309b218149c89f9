"""Where the tools of a graph stand: in columns, what others depend on to the left."""

from collections import defaultdict

from provegym.graph.dependency import Graph

COLUMNS = 6
SWEEPS = 12


def columns(graph: Graph) -> list[list[str]]:
    """The tools by column, in an order that lets few edges cross; those without edges come last."""
    after: dict[str, set[str]] = defaultdict(set)
    before: dict[str, set[str]] = defaultdict(set)
    for source, target in sorted(graph.pairs()):
        after[source].add(target)
        before[target].add(source)
    level = _levels(graph, before)
    rows: list[list[str]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for tool in graph.tools:
        if tool in level:
            rows[level[tool]].append(tool)
    for sweep in range(SWEEPS):
        place = {tool: spot / len(row) for row in rows for spot, tool in enumerate(row)}
        beside = before if sweep % 2 == 0 else after
        for row in rows:
            row.sort(key=lambda tool: _middle(tool, beside[tool] | after[tool], place))
    alone = [tool for tool in graph.tools if tool not in level]
    return [row for row in (*rows, alone) if row]


def _levels(graph: Graph, before: dict[str, set[str]]) -> dict[str, int]:
    """How many steps a tool stands from one that needs no other; circles are cut by order."""
    linked = {tool for pair in graph.pairs() for tool in pair}
    level = {tool: 0 for tool in graph.tools if tool in linked and not before[tool]}
    if not level and linked:
        level[min(linked, key=lambda tool: (len(before[tool]), tool))] = 0
    while waiting := [tool for tool in graph.tools if tool in linked and tool not in level]:
        ready = [tool for tool in waiting if before[tool] & level.keys()] or waiting[:1]
        known = dict(level)
        for tool in ready:
            levels = [known[other] for other in before[tool] if other in known]
            level[tool] = min(COLUMNS - 1, 1 + max(levels, default=-1))
    return level


def _middle(tool: str, others: set[str], place: dict[str, float]) -> float:
    """The mean height of the tools it has to do with."""
    heights = [place[other] for other in others if other in place]
    return sum(heights) / len(heights) if heights else place[tool]
