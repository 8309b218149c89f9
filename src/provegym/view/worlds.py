"""Servers, the records of their worlds and their dependency graphs, as the page shows them."""

import sys
from functools import cache
from threading import Lock
from typing import Any

from provegym import servers
from provegym.graph.dependency import Graph, admitted, cached
from provegym.kernel import AnyServer, Session
from provegym.trace import Json
from provegym.view import drawn
from provegym.view.graph_layout import layers

MAX_RECORDS = 2_000
_proving = Lock()
TITLES = {"crm": "CRM", "iot_devices": "IoT devices"}


def load(name: str) -> AnyServer:
    """A server by name, ours, somebody's own or a drawn world; Missing says which there are."""
    return servers.load(name) if name in servers.known() else drawn.load(name)


def list_servers() -> list[Json]:
    """Every server in brief, by category; then the drawn worlds."""
    found = [describe(server) for server in servers.load_known() if not drawn.is_drawn(server.name)]
    ours = sorted(found, key=lambda each: (each["category"], each["name"]))
    return [*ours, *drawn.list_worlds()]


def describe(server: AnyServer) -> Json:
    """A server in brief."""
    writes = sum(tool.writes for tool in server.tools.values())
    return {
        "name": server.name,
        "title": TITLES.get(server.name) or drawn.title(server.name),
        "category": server.category,
        "summary": server.about,
        "tools": len(server.tools),
        "reads": len(server.tools) - writes,
        "writes": writes,
        "version": server.version,
    }


def show_server(server: AnyServer) -> Json:
    """A server's tools and rules."""
    specs = server.state.tables
    is_drawn = drawn.is_drawn(server.name)
    return {
        **describe(server),
        **({"drawn": True, "world": drawn.show_world_file(server.name)} if is_drawn else {}),
        "rules": "\n\n".join(_rules(server)),
        "records": [
            {"table": table, "noun": spec.noun, "about": spec.record.__doc__ or ""}
            for table, spec in specs.items()
        ],
        "tools": [tool.describe() for tool in server.tools.values()],
    }


def _rules(server: AnyServer) -> list[str]:
    """What the docstrings of a server say: what it is, and what is always true of it."""
    if server.foreign:
        return []
    if drawn.is_drawn(server.name):
        return drawn.rules(server.name)
    package = sys.modules[server.state.__module__.rpartition(".")[0]]
    texts = [package.__doc__, server.state.__doc__, server.state.check.__doc__]
    return [" ".join(text.split()) for text in texts if text]


def show_world(server: AnyServer, session: Session) -> Json:
    """A session's records of one server, table by table."""
    state = session.state(server)
    return {"now": state.now, "tables": [_table(state, name) for name in state.tables]}


def _table(state: Any, name: str) -> Json:
    spec, rows = state.tables[name], list(getattr(state, name))
    fields = sorted(spec.record.__struct_fields__, key=lambda field: field != spec.key)
    return {
        "name": name,
        "noun": spec.noun,
        "key": spec.key,
        "columns": fields,
        "rows": [[getattr(row, field) for field in fields] for row in rows[:MAX_RECORDS]],
        "total": len(rows),
    }


def load_graph(server: AnyServer) -> Graph:
    """The dependency graph of a server; proving it takes a moment the first time.

    The graph of a drawn world is in its file if it was admitted.
    """
    if drawn.is_drawn(server.name) and (found := admitted(server.name)) is not None:
        return found
    with _proving:
        return _graph(server.name)


@cache
def _graph(name: str) -> Graph:
    """The graph from the disk cache; proven anew where nothing can be written."""
    return cached(servers.load(name))


def show_graph(server: AnyServer, graph: Graph) -> Json:
    """A dependency graph, with a column and a height for each tool."""
    rows = layers(graph)
    tallest = max((len(row) for row in rows), default=1)
    nodes = [
        {
            "id": tool,
            "writes": server.tools[tool].writes,
            "x": column,
            "y": (at + 0.5) * tallest / len(row),
        }
        for column, row in enumerate(rows)
        for at, tool in enumerate(row)
    ]
    # A world file keeps one proving call of each edge; other graphs have the whole evidence.
    bare = any(not edge.without and not edge.with_source[-1].result for edge in graph.edges)
    return {"server": server.name, "nodes": nodes, "edges": graph.edges, "bare": bare}
