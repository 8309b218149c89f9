"""The server retail_chain twice: written by hand, and built from its spec; on the same worlds."""

from provegym.bench.specs import EXAMPLE, NAME, by_spec, twin
from provegym.kernel import AnyServer, Session
from provegym.servers import load

__all__ = ["EXAMPLE", "by_hand", "by_spec", "twin", "twin_sessions"]


def by_hand() -> AnyServer:
    """The server that is written by hand."""
    return load(NAME)


def twin_sessions(seed: int) -> tuple[Session, Session]:
    """A session on a seeded world of the server by hand, and one of the spec on the same world."""
    return Session([by_hand()], seed), Session([twin()], seed)
