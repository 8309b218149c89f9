"""Pictures of a dependency graph: an SVG file, and a page of its own that shows the evidence."""

from collections.abc import Callable

import msgspec

from provegym.graph.dependency import Edge, Graph, Run
from provegym.graph.layout import columns
from provegym.templates import fill

WIDTH, HEIGHT = 190, 24
GAP_X, GAP_Y = 130, 12
MARGIN, LOOP = 24, 70
LETTER = 6.3
SHOWN = 160
Say = Callable[[Edge], str]
Spot = tuple[float, float]


def draw_svg(graph: Graph, writes: frozenset[str] = frozenset()) -> str:
    """A picture in columns: blue lines carry a value, dashed ones set the stage."""
    return _picture(graph, writes, explain)


def _picture(graph: Graph, writes: frozenset[str], say: Say) -> str:
    rows = columns(graph)
    tallest = max((len(row) for row in rows), default=1)
    spots: dict[str, Spot] = {}
    for column, row in enumerate(rows):
        free = (tallest - len(row)) * (HEIGHT + GAP_Y) / max(1, len(row))
        for number, tool in enumerate(row):
            y = MARGIN + (number + 0.5) * (HEIGHT + GAP_Y + free) - HEIGHT / 2
            spots[tool] = (MARGIN + column * (WIDTH + GAP_X), y)
    return fill(
        "graph/graph.svg.jinja",
        server=graph.server,
        width=2 * MARGIN + LOOP + len(rows) * WIDTH + max(0, len(rows) - 1) * GAP_X,
        height=2 * MARGIN + tallest * (HEIGHT + GAP_Y),
        lines=[
            (edges[0], _curve(edges[0], spots), "\n\n".join(map(say, edges)))
            for edges in _bundles(graph).values()
        ],
        spots=spots,
        writes=writes,
        box=(WIDTH, HEIGHT),
        letters=(WIDTH - 12) / LETTER,
    )


def draw_html(graph: Graph, writes: frozenset[str] = frozenset()) -> str:
    """A page that needs nothing else: the picture, and the evidence of what is pointed at."""
    evidence = [
        {"source": e.source, "target": e.target, "kind": e.kind, "text": explain(e)}
        for e in graph.edges
    ]
    title = f"{graph.server}: {len(graph.tools)} tools, {len(graph.edges)} dependencies"
    picture = _picture(graph, writes, summarise)
    return fill("graph/graph.html.jinja", title=title, svg=picture, evidence=evidence)


def summarise(edge: Edge) -> str:
    """An edge in one line."""
    value = f": {edge.argument} is {edge.pointer}" if edge.argument else ""
    return f"{edge.source} → {edge.target}, {edge.kind}{value}"


def explain(edge: Edge) -> str:
    """An edge in words: what it says, the run with its source and the run without."""
    lines = [f"{summarise(edge)} (world {edge.seed})", "with:"]
    lines += [f"  {_shown(run)}" for run in edge.with_source]
    return "\n".join([*lines, "without:", *(f"  {_shown(run)}" for run in edge.without)])


def _shown(run: Run) -> str:
    arguments = msgspec.json.encode(run.arguments).decode()
    result = run.result if len(run.result) <= SHOWN else f"{run.result[:SHOWN]}…"
    return f"{run.tool}({arguments}) {'→' if run.ok else 'fails:'} {result}"


def _bundles(graph: Graph) -> dict[tuple[str, str, str], list[Edge]]:
    """The edges of a kind between two tools, drawn as one line."""
    bundles: dict[tuple[str, str, str], list[Edge]] = {}
    for edge in graph.edges:
        bundles.setdefault((edge.source, edge.target, edge.kind), []).append(edge)
    return bundles


def _curve(edge: Edge, spots: dict[str, Spot]) -> str:
    """A line from the right side of a tool to the left one of another, or back the other way."""
    (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
    shift = HEIGHT / 2 + (-4 if edge.kind == "explicit" else 4)
    y1, y2 = y1 + shift, y2 + shift
    out, into = (-1 if x2 < x1 else 1), (-1 if x2 > x1 else 1)
    start, end = x1 + WIDTH * (out > 0), x2 + WIDTH * (into > 0)
    bend = 30 + abs(y2 - y1) / 8 if x1 == x2 else max(40.0, abs(end - start) / 2)
    return (
        f"M{start:.0f} {y1:.0f}C{start + out * bend:.0f} {y1:.0f} "
        f"{end + into * bend:.0f} {y2:.0f} {end:.0f} {y2:.0f}"
        f"m{into * 5} -3l{-into * 5} 3l{into * 5} 3"
    )
