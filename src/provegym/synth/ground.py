"""Grounding: the live world that several conversations share, and what of it a chain is about.

A scene is looked at once and serves a handful of conversations; then comes another world (§3.2).
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from provegym import servers
from provegym.fuzz.pool import Pool, state_rows
from provegym.kernel import AnyServer, Session
from provegym.policies.names import Survey, Thing, survey
from provegym.synth.graph import Edge, cached


class Scene(NamedTuple):
    """The world a conversation plays in, as far as several conversations share it."""

    server: AnyServer
    seed: int
    survey: Survey
    pool: Pool
    edges: tuple[Edge, ...]
    hub: str


@lru_cache(maxsize=48)
def scene(name: str, world: int) -> Scene:
    """The world several candidates share, looked at once."""
    server = servers.load(name)
    session = Session([server], world)
    seen = survey(session)
    state = session.state(server)
    edges = cached(server).edges
    feeds = Counter(edge.source for edge in edges if edge.kind == "explicit")
    hub = feeds.most_common(1)[0][0] if feeds else ""
    return Scene(server, world, seen, Pool(state.now, state_rows(state)), edges, hub)


def aligned(scene: Scene, tools: Iterable[str]) -> dict[str, Thing]:
    """The things a chain of tools is about: those of a kind that some tool of it takes."""
    taken = {
        argument.removesuffix("_id").removesuffix("_ids")
        for tool in tools
        for argument in scene.server.tools[tool].input_schema["properties"]
    }
    return {key: thing for key, thing in scene.survey.things.items() if thing.noun in taken}
