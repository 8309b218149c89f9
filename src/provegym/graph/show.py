"""The output of `provegym graph`: edges as text, their evidence, or JSON."""

import msgspec

from provegym.graph.dependency import Dependency, Graph, Trial

MAX_RESULT = 160


def as_json(graph: Graph) -> str:
    """The graph with all its evidence as one JSON document."""
    return msgspec.json.format(msgspec.json.encode(graph), indent=2).decode()


def list_edges(graph: Graph) -> str:
    """One line per edge, grouped by the dependent tool."""
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
    return "\n\n".join(explain(edge) for edge in edges) or f"{tool} has no dependencies"


def _by(edge: Dependency) -> str:
    return f"{edge.argument} = {edge.pointer}" if edge.argument else "must come first"


def explain(edge: Dependency) -> str:
    """An edge in words: its tools and value, the run with its source, the run without."""
    value = f": {edge.argument} is {edge.pointer}" if edge.argument else ""
    lines = [f"{edge.source} → {edge.target}, {edge.kind}{value} (world {edge.seed})", "with:"]
    lines += [f"  {_shown(run)}" for run in edge.with_source]
    return "\n".join([*lines, "without:", *(f"  {_shown(run)}" for run in edge.without)])


def _shown(run: Trial) -> str:
    arguments = msgspec.json.encode(run.arguments).decode()
    result = run.result if len(run.result) <= MAX_RESULT else f"{run.result[:MAX_RESULT]}…"
    return f"{run.tool}({arguments}) {'→' if run.ok else 'fails:'} {result}"
