"""The dependency graph of a server, proven by execution (§3.2, step 1).

Explicit A → B: a value A returned makes a required argument of B work where values from elsewhere
do not. Implicit A → B: with the same arguments B fails without A and succeeds with it. Each edge
carries its evidence: the run with A and the run without, both from the seed of its world.
"""

from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec

from provegym.files import cache_folder, write_atomically
from provegym.graph.observe import THRIFTY, Effort, Observer, Tried
from provegym.graph.prove import Proof, Prover
from provegym.graph.slots import Json
from provegym.graph.unblock import Lift, Unblocker
from provegym.kernel import AnyServer

SHOWN = 400
ENOUGH, LARGE = 2, 30
METHOD = 1
GRAPHS_KEPT = 64


class Trial(msgspec.Struct, frozen=True):
    """A call of an edge's evidence and what it came to."""

    tool: str
    arguments: Json
    ok: bool
    result: str


class Dependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """B depends on A: by which value, and the calls on a fresh world that show it."""

    kind: Literal["explicit", "implicit"]
    source: str
    target: str
    seed: int
    with_source: tuple[Trial, ...]
    without: tuple[Trial, ...]
    argument: str = ""
    pointer: str = ""


class Graph(msgspec.Struct, frozen=True):
    """What depends on what on one server."""

    server: str
    key: str
    tools: tuple[str, ...]
    edges: tuple[Dependency, ...]

    def pairs(self, kind: str | None = None) -> set[tuple[str, str]]:
        """The pairs of tools that have an edge of some kind."""
        return {(e.source, e.target) for e in self.edges if kind in (None, e.kind)}


def build(server: AnyServer, seed: int = 0) -> Graph:
    """Prove the edges of a server on two worlds, and on more while some write never worked.

    A large server shows enough of itself on one, and a foreign one has no other.
    """
    worlds = THRIFTY.worlds if server.foreign else Effort().worlds
    found: dict[tuple[str, ...], Dependency] = {}
    idle = {name for name, tool in server.tools.items() if tool.writes}
    for number in range(1 if len(server.tools) > LARGE else worlds):
        if idle or number < ENOUGH:
            edges, worked = prove_edges(server, seed + number)
            idle -= worked
            for edge in edges:
                found.setdefault((edge.kind, edge.source, edge.target, edge.argument), edge)
    return Graph(server.name, graph_key(server, seed), tuple(server.tools), tuple(found.values()))


def graph_key(server: AnyServer, seed: int) -> str:
    """What a cached graph is good for: these schemas, this world and this way of proving."""
    schemas = [(tool.name, tool.description, tool.input_schema) for tool in server.tools.values()]
    what = (METHOD, schemas, seed, server.version)
    return blake2b(msgspec.json.encode(what), digest_size=12).hexdigest()


def cached(server: AnyServer, seed: int = 0, folder: Path | None = None) -> Graph:
    """The graph from memory or from disk; where neither has it, it is built and kept in both."""
    return _kept(server, seed, folder or cache_folder() / "graphs")


@lru_cache(maxsize=GRAPHS_KEPT)
def _kept(server: AnyServer, seed: int, folder: Path) -> Graph:
    """The graph in a file, or built and written to it; what cannot be read is built anew."""
    key = graph_key(server, seed)
    file = folder / f"{server.name}-{key}.json"
    with suppress(FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        kept = msgspec.json.decode(file.read_bytes(), type=Graph)
        if kept.key == key:
            return kept
    graph = build(server, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, msgspec.json.encode(graph))
    return graph


def prove_edges(server: AnyServer, seed: int) -> tuple[list[Dependency], set[str]]:
    """Every edge that one world of a server shows, and the tools that worked there."""
    seen = Observer(server, seed).explore()
    prover, lifts = Prover(seen), Unblocker(seen)
    lifts.backwards()
    proofs = list(prover.proofs(seen.tools))
    made = {(proof.source.tool, proof.slot.tool) for proof in proofs if proof.is_new}
    idle = [name for name in seen.tools if not seen.worked[name]]
    lifts.forwards(made)
    proofs += prover.proofs([name for name in idle if seen.worked[name]])
    edges = [explicit_edge(proof, seed) for proof in proofs]
    for pair, lift in lifts.found.items():
        if lift.is_rule or pair not in made:
            edges.append(implicit_edge(lift, seed))
    return edges, {name for name in seen.tools if seen.worked[name]}


def explicit_edge(proof: Proof, seed: int) -> Dependency:
    """An edge from a value that opens a lock."""
    return Dependency(
        kind="explicit",
        source=proof.source.tool,
        target=proof.slot.tool,
        seed=seed,
        with_source=runs(proof.worked),
        without=runs(proof.failed),
        argument=proof.slot.name,
        pointer=proof.source.pointer,
    )


def implicit_edge(lift: Lift, seed: int) -> Dependency:
    """An edge from a write that lifts a rule."""
    return Dependency(
        kind="implicit",
        source=lift.write.tool,
        target=lift.worked.tool,
        seed=seed,
        with_source=runs(lift.worked),
        without=runs(lift.failed),
    )


def runs(tried: Tried) -> tuple[Trial, ...]:
    """The calls from the seed to this one."""
    calls = (*tried.before.path, tried)
    return tuple(Trial(t.tool, t.arguments, t.outcome.ok, t.outcome.text[:SHOWN]) for t in calls)
