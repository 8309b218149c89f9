"""Admission of a world: the contract by fuzzing, its graph, examples for every tool, mutants.

A world is admitted if its server keeps the contract, at least 40 % of its tools write, at least
three rules refuse, chains of three tools depend on each other, every tool is in a verified example,
and the examples notice enough of the mutants.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from provegym import servers
from provegym.admission.examples import Maker, cover, used_tools
from provegym.admission.mutants import Audit, further
from provegym.fuzz import Fuzzer
from provegym.graph.dependency import Dependency, Graph, build, give, take_back, without_undoing
from provegym.graph.observe import BRISK
from provegym.kernel import AnyServer, Bug, Session
from provegym.verify.server_contract import faults
from provegym.worlds.build import install
from provegym.worlds.files import Admission, WorldFile, new_file
from provegym.worlds.spec import SpecError, WorldSpec

METHOD = 4
LEAST_WRITES = 0.4
LEAST_RULES = 3
LEAST_CHAIN = 3
# Effects are all noticed. A guard is noticed if a lookup can show why it refuses, or if it refuses
# a first call that has a wrong value.
LEAST_NOTICED = 0.5
# How many tools may be taken out of a world so that it is admitted.
MOST_TRIMMED = 0.2
CALLS = 240


class NotAdmitted(Exception):
    """A world is not admitted: the kind of reason, a sentence with details, and unused tools."""

    def __init__(self, reason: str, detail: str, unused: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.reason = reason
        self.unused = tuple(unused)


def admit(world: WorldFile, *, trim: bool = False) -> tuple[WorldFile, Admission]:
    """The world with its admission, admitted or refused, and the admission alone.

    With `trim`, a few tools for which no example is found are taken out of the world.
    """
    judged, admission, unused = _judge(world)
    spec = world.spec
    if trim and unused and len(unused) <= MOST_TRIMMED * len(spec.operations):
        return admit(new_file(without(spec, unused)), trim=True)
    return judged, admission


def without(spec: WorldSpec, tools: Sequence[str]) -> WorldSpec:
    """A spec without some of its tools."""
    return msgspec.structs.replace(
        spec,
        operations=tuple(each for each in spec.operations if each.tool not in tools),
        past=tuple(each for each in spec.past if each.tool not in tools),
    )


def _judge(world: WorldFile) -> tuple[WorldFile, Admission, tuple[str, ...]]:
    """The world with its admission, and the tools for which no example was found."""
    figures: dict[str, int] = {}
    graph = None
    unused: tuple[str, ...] = ()
    try:
        graph = _prove(world.spec, figures)
        admission = Admission(method=METHOD, admitted=True, figures=figures)
    except NotAdmitted as problem:
        unused = problem.unused
        admission = Admission(
            method=METHOD,
            admitted=False,
            reasons=(problem.reason,),
            details=(str(problem),),
            figures=figures,
        )
    finally:
        servers.forget(world.spec.name)
        take_back(world.spec.name)
    bare = None if graph is None else msgspec.to_builtins(graph)
    judged = msgspec.structs.replace(world, admission=admission, graph=bare)
    return judged, admission, unused


def _prove(spec: WorldSpec, figures: dict[str, int]) -> Graph:
    """Check everything; raises NotAdmitted at the first reason."""
    try:
        server = install(spec)
        broken = faults(server, CALLS)
    except SpecError as problem:
        raise NotAdmitted("the spec is wrong", str(problem)) from None
    except ValueError as problem:
        raise NotAdmitted("its name is taken", str(problem)) from None
    if broken:
        raise NotAdmitted("it breaks the contract", broken[0])
    writes = [tool.name for tool in server.tools.values() if tool.writes]
    figures |= {"tools": len(server.tools), "writes": len(writes)}
    if len(writes) < LEAST_WRITES * len(server.tools):
        raise NotAdmitted("too few writes", f"{len(writes)} of {len(server.tools)} tools write")
    graph = _graph(server, figures)
    maker = Maker(server)
    examples = cover(maker)
    figures |= {"candidates": maker.tried, "examples": len(examples)}
    used = used_tools(examples)
    if unused := sorted(server.tools.keys() - used):
        raise NotAdmitted("a tool is in no verified example", ", ".join(unused), unused)
    audit = Audit(spec, server)
    for example in examples:
        audit.look(example)
    examples += further(maker, audit)
    figures |= {"candidates": maker.tried, "examples": len(examples)}
    count, missed = len(audit.mutants), len(audit.missed)
    figures |= {"mutants": count, "noticed": count - missed}
    effects = [mutant for mutant in audit.missed if mutant.part == "effect"]
    if effects or count - missed < LEAST_NOTICED * count:
        one = [*effects, *audit.missed][0]
        detail = f"{missed} of {count}, such as {one.part} {one.number + 1} of {one.tool}"
        raise NotAdmitted("mutants go unnoticed", detail)
    return graph


def _graph(server: AnyServer, figures: dict[str, int]) -> Graph:
    try:
        graph = without_undoing(server, build(server, effort=BRISK))
    except Bug as problem:
        raise NotAdmitted("it breaks the contract", str(problem)) from None
    figures |= {"edges": len(graph.edges), "chain": longest_chain(graph.edges)}
    graph = msgspec.structs.replace(graph, edges=tuple(map(_bare, graph.edges)))
    give(graph)
    refusing = refusing_rules(refusals(server))
    figures["rules"] = len(refusing)
    if len(refusing) < LEAST_RULES:
        raise NotAdmitted("too few rules refuse", f"{len(refusing)} rules refused a random call")
    if figures["chain"] < LEAST_CHAIN:
        raise NotAdmitted("no chain of three", f"the longest chain has {figures['chain']} tools")
    return graph


def _bare(edge: Dependency) -> Dependency:
    """An edge with its last proving call alone; the whole evidence is large."""
    call = msgspec.structs.replace(edge.with_source[-1], result="")
    source = [trial for trial in edge.with_source if trial.tool == edge.source][-1:]
    bare = [msgspec.structs.replace(trial, result="") for trial in source]
    return msgspec.structs.replace(edge, with_source=(*bare, call), without=())


def refusals(server: AnyServer) -> set[tuple[str, str]]:
    """What rules said to some of many random calls: the tool, and the words of the refusal."""
    fuzzer = Fuzzer(server, f"rules {server.name}")
    session = Session([server], 0)
    fuzzer.look(session.state(server))
    found: set[tuple[str, str]] = set()
    for tool in server.tools.values():
        for _ in range(12 if tool.writes else 0):
            outcome = session.fork().call(tool.name, fuzzer.arguments(tool))
            if outcome.error in ("rejected", "denied"):
                found.add((tool.name, str(outcome.value["message"])))
    return found


def refusing_rules(refused: set[tuple[str, str]]) -> set[str]:
    """The rules that refused: refusals that differ in more than names and numbers."""
    bare = {(tool, re.sub(r"\b[A-Z0-9][\w'.:-]*", "", said)) for tool, said in refused}
    return {f"{tool}: {' '.join(words.split())}" for tool, words in bare}


def longest_chain(edges: Iterable[Dependency], most: int = 5) -> int:
    """The tools on the longest path of a graph that visits no tool twice, at most `most`."""
    onward: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        onward[edge.source].add(edge.target)

    def walk(path: tuple[str, ...]) -> int:
        if len(path) >= most:
            return len(path)
        ways = [walk((*path, to)) for to in sorted(onward[path[-1]]) if to not in path]
        return max(ways, default=len(path))

    return max((walk((start,)) for start in sorted(onward)), default=0)
