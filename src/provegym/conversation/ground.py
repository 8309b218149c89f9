"""Grounding (§3.2): the live world of a conversation, with the entities that a user can name.

A scene is prepared once and shared by a handful of conversations; then comes another world.
"""

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from provegym import servers
from provegym.fuzz.pool import Pool, state_rows
from provegym.graph.dependency import Dependency, cached, lasting
from provegym.graph.observe import Observer
from provegym.kernel import AnyServer, Session
from provegym.language.things import Survey, survey


class Scene(NamedTuple):
    """A prepared world, shared by several conversations."""

    server: AnyServer
    seed: int
    survey: Survey
    pool: Pool
    edges: tuple[Dependency, ...]
    hub: str
    beyond: frozenset[str]


def scene(name: str, world: int) -> Scene:
    """The scene of a world, from a cache."""
    return _scene(servers.load(name), world)


@lru_cache(maxsize=48)
def _scene(server: AnyServer, world: int) -> Scene:
    session = Session([server], world)
    seen = survey(session)
    state = session.state(server)
    edges = lasting(server).edges
    if server.foreign:
        return Scene(server, world, seen, explored(server).pool, edges, "", frozenset())
    pool = Pool(state.now, state_rows(state))
    return Scene(server, world, seen, pool, edges, *hub_of(server))


@lru_cache(maxsize=128)
def hub_of(server: AnyServer) -> tuple[str, frozenset[str]]:
    """The hub of a server, the lookup that feeds most tools, and the tools that depend on it.

    These are the tools it feeds, and tools with an argument that only such tools feed.
    """
    feeders: dict[tuple[str, str], set[str]] = defaultdict(set)
    fed: dict[str, set[str]] = defaultdict(set)
    for edge in cached(server).edges:
        source = server.tools[edge.source]
        if edge.kind == "explicit" and not source.writes:
            feeders[edge.target, edge.argument].add(edge.source)
            # A lookup feeds the ids of its own records, not the ids of records they refer to.
            if edge.pointer.endswith("/id") and not source.input_schema["required"]:
                fed[edge.source].add(edge.target)
    hub = max(fed, key=lambda name: len(fed[name]), default="")
    found = {hub, *fed.get(hub, ())}
    while more := {to for (to, _), sources in feeders.items() if sources <= found} - found:
        found |= more
    return hub, frozenset(found)


@lru_cache(maxsize=4)
def explored(server: AnyServer) -> Observer:
    """The exploration of a foreign server, whose tables cannot be read."""
    return Observer(server).explore()
