"""Grounding: the live world that several conversations share, and what of it can be spoken of.

A scene is looked at once and serves a handful of conversations; then comes another world (§3.2).
What of it a chain is about follows from the chain itself: each goal takes what its edges hand on.
"""

from collections import defaultdict
from functools import cache, lru_cache
from typing import NamedTuple

from provegym import servers
from provegym.fuzz.pool import Pool, state_rows
from provegym.graph.dependency import Dependency, cached
from provegym.graph.observe import Observer
from provegym.kernel import AnyServer, Session
from provegym.language.things import Survey, survey


class Scene(NamedTuple):
    """The world a conversation plays in, as far as several conversations share it."""

    server: AnyServer
    seed: int
    survey: Survey
    pool: Pool
    edges: tuple[Dependency, ...]
    hub: str
    beyond: frozenset[str]


def scene(name: str, world: int) -> Scene:
    """The world several candidates share, looked at once."""
    return _scene(servers.load(name), world)


@lru_cache(maxsize=48)
def _scene(server: AnyServer, world: int) -> Scene:
    session = Session([server], world)
    seen = survey(session)
    state = session.state(server)
    edges = cached(server).edges
    if server.foreign:
        return Scene(server, world, seen, explored(server).pool, edges, "", frozenset())
    pool = Pool(state.now, state_rows(state))
    return Scene(server, world, seen, pool, edges, *hub_of(server))


@cache
def hub_of(server: AnyServer) -> tuple[str, frozenset[str]]:
    """The lookup that feeds most tools, and the tools that are hard to have without it.

    Those it feeds, and those of which some argument is fed by nothing else.
    """
    feeders: dict[tuple[str, str], set[str]] = defaultdict(set)
    fed: dict[str, set[str]] = defaultdict(set)
    for edge in cached(server).edges:
        source = server.tools[edge.source]
        if edge.kind == "explicit" and not source.writes:
            feeders[edge.target, edge.argument].add(edge.source)
            # It is the natural lookup of the things that its results are, not of those beside.
            if edge.pointer.endswith("/id") and not source.input_schema["required"]:
                fed[edge.source].add(edge.target)
    hub = max(fed, key=lambda name: len(fed[name]), default="")
    found = {hub, *fed.get(hub, ())}
    while more := {to for (to, _), sources in feeders.items() if sources <= found} - found:
        found |= more
    return hub, frozenset(found)


@lru_cache(maxsize=4)
def explored(server: AnyServer) -> Observer:
    """What was learnt by calling a server that shows no tables."""
    return Observer(server).explore()
