"""The dependency graph of a server, proven by execution (§3.2, step 1).

Explicit edge A → B: a value that A returned works as a required argument of B, and values from
other tools do not. Implicit edge A → B: the same call of B fails without A and succeeds after A.
Each edge carries its evidence: the calls with A and the calls without, both from a fresh world.
"""

import gzip
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

import msgspec

from provegym import servers
from provegym.errors import BadFile
from provegym.files import CannotWrite, cache_folder, make_folder, write_atomically
from provegym.graph.observe import THRIFTY, Effort, Observer, Tried
from provegym.graph.prove import Proof, Prover
from provegym.graph.slots import Json
from provegym.graph.unblock import Lift, Unblocker
from provegym.hosts.foreign_answers import first_answers
from provegym.kernel import AnyServer, Session

SHOWN = 400
ENOUGH, LARGE = 2, 30
METHOD, FOREIGN_METHOD = 1, 2
GRAPHS_KEPT = 64
SHIPPED = "graph.json.gz"


class Trial(msgspec.Struct, frozen=True):
    """A call in the evidence of an edge, and its result."""

    tool: str
    arguments: Json
    ok: bool
    result: str


class Dependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """An edge of the graph: target depends on source, with the value that is passed, and proof."""

    kind: Literal["explicit", "implicit"]
    source: str
    target: str
    seed: int
    with_source: tuple[Trial, ...]
    without: tuple[Trial, ...]
    argument: str = ""
    pointer: str = ""


class Graph(msgspec.Struct, frozen=True, omit_defaults=True):
    """The dependency graph of one server."""

    server: str
    key: str
    tools: tuple[str, ...]
    edges: tuple[Dependency, ...]
    undoing: tuple[tuple[str, str], ...] | None = None

    def pairs(self, kind: str | None = None) -> set[tuple[str, str]]:
        """The pairs of tools that have an edge of some kind."""
        return {(e.source, e.target) for e in self.edges if kind in (None, e.kind)}


def build(server: AnyServer, seed: int = 0, effort: Effort | None = None) -> Graph:
    """Prove the edges of a server on two worlds, and on more while some write never worked.

    One world is enough for a large server. A foreign server has only one world.
    """
    worlds = (effort or (THRIFTY if server.foreign else Effort())).worlds
    found: dict[tuple[str, ...], Dependency] = {}
    idle = {name for name, tool in server.tools.items() if tool.writes}
    for number in range(1 if len(server.tools) > LARGE else worlds):
        if idle or number < ENOUGH:
            edges, worked = prove_edges(server, seed + number, effort)
            idle -= worked
            for edge in edges:
                found.setdefault((edge.kind, edge.source, edge.target, edge.argument), edge)
    return Graph(server.name, graph_key(server, seed), tuple(server.tools), tuple(found.values()))


def graph_key(server: AnyServer, seed: int) -> str:
    """The cache key of a graph: a hash of the schemas, the seed, the version and the method.

    A foreign server may hold other data today. So the key also holds what it answers at the start.
    """
    schemas = [(tool.name, tool.description, tool.input_schema) for tool in server.tools.values()]
    source = servers.source_of(server.name)
    told = [FOREIGN_METHOD, first_answers(server)] if server.foreign else []
    what = (METHOD, schemas, seed, server.version, *([source] if source else []), *told)
    return blake2b(msgspec.json.encode(what), digest_size=12).hexdigest()


def cached(server: AnyServer, seed: int = 0, folder: Path | None = None) -> Graph:
    """The shipped graph, or the one in the user's cache; a missing one is built and cached.

    If a cache folder is named, only that folder is used.
    """
    ready = _given.get(server.name) or shipped(server, seed) if folder is None else None
    ready = ready or (admitted(server.name) if folder is None else None)
    return ready or _kept(server, seed, folder or cache_folder() / "graphs")


def forget(server: AnyServer, seed: int = 0) -> None:
    """Remove a graph from the user's cache, so that it is built anew."""
    _file(server, seed, cache_folder() / "graphs").unlink(missing_ok=True)
    _kept.cache_clear()


_given: dict[str, Graph] = {}


@lru_cache(maxsize=GRAPHS_KEPT)
def admitted(name: str) -> Graph | None:
    """The graph in the file of a world, which was proven when the world was admitted."""
    file = servers.world_file(name)
    if file is None:
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=_AdmittedWorld).graph
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadFile(f"{file}: {problem}; `provegym worlds admit` makes its graph again") from None


class _AdmittedWorld(msgspec.Struct, frozen=True):
    """The part of a world file that holds its graph."""

    graph: Graph | None = None


def give(graph: Graph) -> None:
    """Use a graph that was proven before, such as that of an admitted world."""
    _given[graph.server] = graph


def take_back(name: str) -> None:
    """Forget a graph that was given; from now on the graph in the world's file is used."""
    _given.pop(name, None)
    admitted.cache_clear()


@lru_cache(maxsize=GRAPHS_KEPT)
def shipped(server: AnyServer, seed: int = 0) -> Graph | None:
    """The graph that is part of the package; None if there is none for this server as it is."""
    if server.name not in servers.packaged():
        return None
    file = shipped_file(server.name)
    if not file.is_file():
        return None
    graph = msgspec.json.decode(gzip.decompress(file.read_bytes()), type=Graph)
    return graph if graph.key == graph_key(server, seed) else None


def shipped_file(name: str) -> Traversable:
    """The file of a server's graph, in its folder of the package."""
    return servers.folder_of(name).joinpath(SHIPPED)


def rebuild(server: AnyServer) -> Graph:
    """Build the graph of a server, and write it into the server's package."""
    graph = with_undoing(server, build(server))
    packed = gzip.compress(msgspec.json.encode(graph), mtime=0)  # equal graphs, equal bytes
    write_atomically(Path(str(shipped_file(server.name))), packed)
    shipped.cache_clear()
    return graph


@lru_cache(maxsize=GRAPHS_KEPT)
def _kept(server: AnyServer, seed: int, folder: Path) -> Graph:
    """The graph from its file; a missing or unreadable file is written anew, if it can be."""
    key, file = graph_key(server, seed), _file(server, seed, folder)
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        kept = msgspec.json.decode(file.read_bytes(), type=Graph)
        if kept.key == key:
            return kept
    graph = build(server, seed)
    with suppress(CannotWrite):
        make_folder(file.parent)
        write_atomically(file, msgspec.json.encode(graph))
    return graph


def _file(server: AnyServer, seed: int, folder: Path) -> Path:
    return folder / f"{server.name}-{graph_key(server, seed)}.json"


@lru_cache(maxsize=GRAPHS_KEPT)
def lasting(server: AnyServer) -> Graph:
    """The cached graph without the pairs of writes of which the second undoes the first.

    Such a pair cannot be in an example: the final state would not tell whether it was carried out.
    A foreign server has no state to compare, so its graph stays as it is.
    """
    graph = cached(server)
    if server.foreign or server.name in _given or admitted(server.name) is not None:
        return graph
    return without_undoing(server, graph)


def without_undoing(server: AnyServer, graph: Graph) -> Graph:
    """A graph without the pairs of writes of which the second undoes the first."""
    undoing = graph.undoing
    if undoing is None:
        undoing = with_undoing(server, graph).undoing or ()
    edges = tuple(edge for edge in graph.edges if (edge.source, edge.target) not in undoing)
    return msgspec.structs.replace(graph, edges=edges)


def with_undoing(server: AnyServer, graph: Graph) -> Graph:
    """A graph that lists the pairs of writes of which the second undoes the first, each time."""
    kept = {(edge.source, edge.target) for edge in graph.edges if not _undoes(server, edge)}
    return msgspec.structs.replace(graph, undoing=tuple(sorted(graph.pairs() - kept)))


def _undoes(server: AnyServer, edge: Dependency) -> bool:
    """Whether the calls that prove an edge leave the same state without the call of its source."""
    tools = server.tools
    if not (tools[edge.source].writes and tools[edge.target].writes):
        return False
    whole, rest = Session([server], edge.seed), Session([server], edge.seed)
    source = max(at for at, trial in enumerate(edge.with_source) if trial.tool == edge.source)
    for at, trial in enumerate(edge.with_source):
        whole.call(trial.tool, trial.arguments)
        if at != source:
            rest.call(trial.tool, trial.arguments)
    return whole.diff() == rest.diff()


def prove_edges(
    server: AnyServer, seed: int, effort: Effort | None = None
) -> tuple[list[Dependency], set[str]]:
    """Every edge that can be proven on one world of a server, and the tools that worked there."""
    seen = Observer(server, seed, effort).explore()
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
    """An edge for a value that is passed from one tool to another."""
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
    """An edge for a write that makes another call possible."""
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
