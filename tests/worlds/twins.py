"""The server retail_chain twice: written by hand, and built from its spec; on the same worlds."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from provegym.kernel import AnyServer, Seed, Session
from provegym.servers import load, people
from provegym.worlds import WorldSpec, build, parse

EXAMPLE = files("provegym.worlds") / "examples" / "retail_chain.toml"


@cache
def by_spec() -> AnyServer:
    """The server that is built from the example spec."""
    return build(example())


@cache
def example() -> WorldSpec:
    """The example spec."""
    return parse(EXAMPLE.read_bytes(), EXAMPLE.name)


def by_hand() -> AnyServer:
    """The server that is written by hand."""
    return load("retail_chain")


def twin_sessions(seed: int) -> tuple[Session, Session]:
    """A session on a seeded world of the server by hand, and one of the spec on the same world."""
    hand, spec = by_hand(), by_spec()
    state: Any = spec.state(Seed(seed))
    world = hand.world(seed)
    state.now, state.me = world.now, people.acting_user(Seed(seed)).name
    for name, declared in state.tables.items():
        table = getattr(state, name)
        for row in getattr(world, name):
            table.put(declared.record(**msgspec.structs.asdict(row)))
        table._next = getattr(world, name).tail()[0]
    return Session([hand], seed), Session.over(spec, state)
