"""What `provegym graph` prints: edges as text, their evidence, JSON, SVG or a page."""

from collections.abc import Callable

import msgspec

from provegym.graph.dependency import Edge, Graph
from provegym.graph.draw import draw_html, draw_svg, explain
from provegym.kernel import AnyServer

FORMS: dict[str, Callable[[Graph, frozenset[str]], str]] = {
    "text": lambda graph, writes: list_edges(graph),
    "json": lambda graph, writes: as_json(graph),
    "svg": draw_svg,
    "html": draw_html,
}


def show(server: AnyServer, graph: Graph, form: str = "text") -> str:
    """A graph in one of the forms there are."""
    writes = frozenset(name for name, tool in server.tools.items() if tool.writes)
    return FORMS[form](graph, writes)


def as_json(graph: Graph) -> str:
    """The graph with all its evidence as one JSON document."""
    return msgspec.json.format(msgspec.json.encode(graph), indent=2).decode()


def list_edges(graph: Graph) -> str:
    """One line per edge, by the tool that depends on another."""
    wide = max((len(edge.source) for edge in graph.edges), default=0)
    lines = [f"{graph.server}: {len(graph.tools)} tools, {len(graph.edges)} dependencies"]
    for target in graph.tools:
        edges = [edge for edge in graph.edges if edge.target == target]
        lines += ["", target] if edges else []
        lines += [f"  ← {edge.source:<{wide}}  {_by(edge)}" for edge in edges]
    linked = {tool for pair in graph.pairs() for tool in pair}
    if alone := [tool for tool in graph.tools if tool not in linked]:
        lines += ["", f"on their own: {', '.join(alone)}"]
    return "\n".join(lines)


def list_evidence(graph: Graph, tool: str) -> str:
    """The evidence of every edge that enters or leaves a tool."""
    edges = [edge for edge in graph.edges if tool in (edge.source, edge.target)]
    return "\n\n".join(explain(edge) for edge in edges) or f"nothing depends on {tool}, nor it"


def _by(edge: Edge) -> str:
    return f"{edge.argument} = {edge.pointer}" if edge.argument else "must come first"
