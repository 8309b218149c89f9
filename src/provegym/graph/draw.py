"""Pictures of a dependency graph: an SVG file, and a page of its own that shows the evidence."""

import re
from collections.abc import Callable
from html import escape
from importlib.resources import files

import msgspec

from provegym.graph.dependency import Edge, Graph, Run
from provegym.graph.layout import columns

WIDTH, HEIGHT = 190, 24
GAP_X, GAP_Y = 130, 12
MARGIN, LOOP = 24, 70
LETTER = 6.3
SHOWN = 160
Say = Callable[[Edge], str]
STYLE = """
text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #1d2433; }
.tool rect { fill: #eef3fb; stroke: #7d93b8; }
.tool.write rect { fill: #fdf1e3; stroke: #c58a3d; }
.edge { fill: none; stroke: #4a72b8; stroke-opacity: .35; stroke-width: 1.3; }
.edge.implicit { stroke: #c2571a; stroke-dasharray: 5 3; }
"""


def draw_svg(graph: Graph, writes: frozenset[str] = frozenset()) -> str:
    """A picture in columns: blue lines carry a value, dashed ones set the stage."""
    return _picture(graph, writes, explain)


def _picture(graph: Graph, writes: frozenset[str], say: Say) -> str:
    rows = columns(graph)
    tallest = max((len(row) for row in rows), default=1)
    spots: dict[str, tuple[float, float]] = {}
    for column, row in enumerate(rows):
        free = (tallest - len(row)) * (HEIGHT + GAP_Y) / max(1, len(row))
        for number, tool in enumerate(row):
            y = MARGIN + (number + 0.5) * (HEIGHT + GAP_Y + free) - HEIGHT / 2
            spots[tool] = (MARGIN + column * (WIDTH + GAP_X), y)
    width = 2 * MARGIN + LOOP + len(rows) * WIDTH + max(0, len(rows) - 1) * GAP_X
    height = 2 * MARGIN + tallest * (HEIGHT + GAP_Y)
    parts = [_line(edges, spots, say) for edges in _bundles(graph).values()]
    parts += [_box(tool, spots[tool], tool in writes) for tool in spots]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        f'aria-label="Dependency graph of {escape(graph.server)}">'
        f"<style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def draw_html(graph: Graph, writes: frozenset[str] = frozenset()) -> str:
    """A page that needs nothing else: the picture, and the evidence of what is pointed at."""
    evidence = [
        {"source": e.source, "target": e.target, "kind": e.kind, "text": explain(e)}
        for e in graph.edges
    ]
    data = msgspec.json.encode(evidence).decode().replace("<", "\\u003c").replace("&", "\\u0026")
    title = f"{graph.server}: {len(graph.tools)} tools, {len(graph.edges)} dependencies"
    parts = {"title": escape(title), "svg": _picture(graph, writes, summarise), "data": data}
    page = files("provegym.graph").joinpath("graph.html").read_text("utf-8")
    return re.sub("%%([a-z]+)%%", lambda found: parts[found[1]], page)


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


def _line(edges: list[Edge], spots: dict[str, tuple[float, float]], say: Say) -> str:
    """A line from the right side of a tool to the left one of another, or back the other way."""
    first = edges[0]
    (x1, y1), (x2, y2) = spots[first.source], spots[first.target]
    shift = HEIGHT / 2 + (-4 if first.kind == "explicit" else 4)
    y1, y2 = y1 + shift, y2 + shift
    out, into = (-1 if x2 < x1 else 1), (-1 if x2 > x1 else 1)
    start, end = x1 + WIDTH * (out > 0), x2 + WIDTH * (into > 0)
    bend = 30 + abs(y2 - y1) / 8 if x1 == x2 else max(40.0, abs(end - start) / 2)
    path = (
        f"M{start:.0f} {y1:.0f}C{start + out * bend:.0f} {y1:.0f} "
        f"{end + into * bend:.0f} {y2:.0f} {end:.0f} {y2:.0f}"
        f"m{into * 5} -3l{-into * 5} 3l{into * 5} 3"
    )
    names = f'data-source="{escape(first.source)}" data-target="{escape(first.target)}"'
    title = escape("\n\n".join(say(edge) for edge in edges))
    return f'<path class="edge {first.kind}" {names} d="{path}"><title>{title}</title></path>'


def _box(tool: str, spot: tuple[float, float], writes: bool) -> str:
    x, y = spot
    fit = f' textLength="{WIDTH - 12}" lengthAdjust="spacingAndGlyphs"'
    fit = fit if len(tool) * LETTER > WIDTH - 12 else ""
    return (
        f'<g class="tool{" write" if writes else ""}" data-tool="{escape(tool)}">'
        f"<title>{escape(tool)}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        f'<text x="{x + 6:.0f}" y="{y + HEIGHT / 2 + 4:.0f}"{fit}>{escape(tool)}</text></g>'
    )
