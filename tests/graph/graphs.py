"""Graphs and truths that several tests look at, each made once."""

import tomllib
from functools import cache
from pathlib import Path

from provegym import servers
from provegym.files import cache_folder
from provegym.graph.dependency import Graph, cached

TRUTH = Path(__file__).parent / "truth"
NAMES = sorted(path.stem for path in TRUTH.glob("*.toml"))

Pairs = set[tuple[str, str]]


@cache
def graph(name: str) -> Graph:
    """The graph of a server on its first world, proven by today's code, once for all workers."""
    return cached(servers.load(name), folder=cache_folder() / "graphs")


@cache
def truth(name: str) -> dict[str, Pairs]:
    """The pairs of tools a person listed: explicit, implicit, near_miss, unrelated."""
    listed = tomllib.loads((TRUTH / f"{name}.toml").read_text("utf-8"))
    return {
        kind: {(source, target) for source, some in by_source.items() for target in some}
        for kind, by_source in listed.items()
    }
