"""The dependency graph of a server, proven by execution (§3.2, step 1).

Explicit A → B: a value A returned makes a required argument of B work where values from elsewhere
do not. Implicit A → B: with the same arguments B fails without A and succeeds with it. Each edge
carries its evidence: the run with A and the run without.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal

import msgspec

from provegym.kernel import AnyServer, Outcome, Session
from provegym.synth.observe import Json, Observer, Scalar, Source, Tried, spots

FOREIGN = 12
OWN = 4
RECOGNISED = ("rejected", "denied")


class Run(msgspec.Struct, frozen=True):
    """A call of an edge's evidence and what it came to."""

    tool: str
    arguments: Json
    ok: bool
    result: str


class Edge(msgspec.Struct, frozen=True, omit_defaults=True):
    """B depends on A: by which value, and how that was seen."""

    kind: Literal["explicit", "implicit"]
    source: str
    target: str
    argument: str = ""
    pointer: str = ""
    with_source: tuple[Run, ...] = ()
    without: tuple[Run, ...] = ()


class Graph(msgspec.Struct, frozen=True):
    """What depends on what on one server."""

    server: str
    key: str
    tools: tuple[str, ...]
    edges: tuple[Edge, ...]

    def pairs(self, kind: str | None = None) -> set[tuple[str, str]]:
        """The pairs of tools that have an edge of some kind."""
        return {(e.source, e.target) for e in self.edges if kind in (None, e.kind)}


def build(server: AnyServer, seed: int = 0) -> Graph:
    """Explore a world of a server and prove its edges."""
    seen = Observer(server, seed).explore()
    found: dict[tuple[str, ...], Edge] = {}
    prover = Prover(seen)
    for edge in (*prover.explicit(), *prover.created(), *prover.implicit()):
        found.setdefault((edge.kind, edge.source, edge.target, edge.argument), edge)
    explicit = {(e.source, e.target) for e in found.values() if e.kind == "explicit"}
    edges = [
        edge
        for edge in found.values()
        if edge.kind == "explicit" or (edge.source, edge.target) not in explicit
    ]
    return Graph(server.name, graph_key(server, seed), tuple(server.tools), tuple(edges))


def graph_key(server: AnyServer, seed: int) -> str:
    """What a cached graph is good for: these schemas and this world."""
    schemas = [(tool.name, tool.description, tool.input_schema) for tool in server.tools.values()]
    return blake2b(msgspec.json.encode((schemas, seed, server.version)), digest_size=12).hexdigest()


class Prover:
    """Proves edges from what an observer has seen."""

    def __init__(self, seen: Observer) -> None:
        self.seen = seen
        self.tools = seen.server.tools

    def explicit(self) -> Iterator[Edge]:
        """Values that reads yield and that alone make a required argument work."""
        for name, tool in self.tools.items():
            for argument in tool.input_schema["required"]:
                refused = [t for t in self.seen.refused[name] if _is_recognised(t.outcome)]
                for tried in self.seen.worked[name] or refused[:OWN]:
                    yield from self._explicit_of(tried, argument)

    def _explicit_of(self, tried: Tried, argument: str) -> Iterator[Edge]:
        value = _scalar(tried.arguments.get(argument))
        if not isinstance(value, str) or self._is_listed(tried.tool, argument):
            return
        failing = self._foreign_failure(tried, argument, value)
        if failing is None:
            return
        for source in self.seen.sources(value):
            if source.tool != tried.tool and self._serves(source, tried, argument):
                yield Edge(
                    kind="explicit",
                    source=source.tool,
                    target=tried.tool,
                    argument=argument,
                    pointer=source.pointer,
                    with_source=(*self._yielding(source, value), _run(tried)),
                    without=(failing,),
                )

    def _is_listed(self, tool: str, argument: str) -> bool:
        part = self.tools[tool].input_schema["properties"][argument]
        return "enum" in part or "enum" in part.get("items", {}) or "format" in part

    def _foreign_failure(self, tried: Tried, argument: str, value: str) -> Run | None:
        """A run with a value from elsewhere that fails, if nearly all of them do."""
        others: dict[str, None] = {}
        for source, values in self.seen.values.items():
            if value not in values and not self._is_kin(source, value):
                others.update((v, None) for v in islice(_texts(values), 1))
        recognised, failing = 0, None
        sample = list(others)[:: max(1, len(others) // FOREIGN)][:FOREIGN]
        for other in sample:
            run, outcome = self._swap(self.seen.base, tried, argument, other)
            if _is_recognised(outcome):
                recognised += 1
            else:
                failing = failing or run
        return failing if sample and recognised <= len(sample) // 4 else None

    def _is_kin(self, source: Source, value: str) -> bool:
        """Whether a source yields the same sort of key, by the look of it."""
        stem = value.rstrip("0123456789")
        kin = next(iter(self.seen.values[source]), "")
        return isinstance(kin, str) and len(stem) > 2 and kin.rstrip("0123456789") == stem

    def _serves(self, source: Source, tried: Tried, argument: str) -> bool:
        """Whether other values of a source are recognised in the same place."""
        values = list(_texts(self.seen.values[source]))
        sample = values[:: max(1, len(values) // OWN)][:OWN]
        good = sum(
            _is_recognised(self._swap(self.seen.base, tried, argument, other)[1])
            for other in sample
        )
        return good * 2 >= len(sample)

    def _swap(
        self, world: Session, tried: Tried, argument: str, value: Scalar
    ) -> tuple[Run, Outcome]:
        old = tried.arguments.get(argument)
        arguments = {**tried.arguments, argument: _replaced(old, value)}
        outcome = world.fork().call(tried.tool, arguments)
        return Run(tried.tool, arguments, outcome.ok, outcome.text[:400]), outcome

    def _yielding(self, source: Source, value: Scalar) -> Iterator[Run]:
        for tried in self.seen.worked[source.tool]:
            if any(leaf == value for _, leaf in spots(tried.outcome.value)):
                yield _run(tried)
                return

    def created(self) -> Iterator[Edge]:
        """Ids of records that a write makes, used by another call on the world it leaves."""
        for name, tool in self.tools.items():
            for made in self.seen.worked[name][:OWN] if tool.writes else ():
                fresh = {
                    leaf: pointer
                    for pointer, leaf in spots(made.outcome.value)
                    if isinstance(leaf, str) and _is_new(leaf, self.seen)
                }
                for leaf, pointer in fresh.items():
                    yield from self._uses(made, leaf, pointer)

    def _uses(self, made: Tried, leaf: str, pointer: str) -> Iterator[Edge]:
        for target, tool in self.tools.items():
            for argument in tool.input_schema["required"]:
                if target == made.tool or self._is_listed(target, argument):
                    continue
                for tried in (*self.seen.worked[target], *self.seen.refused[target][:KIN]):
                    if not isinstance(_scalar(tried.arguments.get(argument)), str):
                        continue
                    run, outcome = self._swap(made.after, tried, argument, leaf)
                    bare, missing = self._swap(self.seen.base, tried, argument, leaf)
                    if _is_recognised(outcome) and not _is_recognised(missing):
                        yield Edge(
                            kind="explicit",
                            source=made.tool,
                            target=target,
                            argument=argument,
                            pointer=pointer,
                            with_source=(_run(made), run),
                            without=(bare,),
                        )
                        break

    def implicit(self) -> Iterator[Edge]:
        """Calls that fail on the fresh world and succeed, unchanged, after a write."""
        for name, tool in self.tools.items():
            for made in self.seen.worked[name] if tool.writes else ():
                for target in self.tools:
                    if target == name:
                        continue
                    for tried in self._candidates(made, target):
                        outcome = made.after.fork().call(target, tried.arguments)
                        if outcome.ok:
                            done = Run(target, tried.arguments, True, outcome.text[:400])
                            yield Edge(
                                kind="implicit",
                                source=name,
                                target=target,
                                with_source=(_run(made), done),
                                without=(_run(tried),),
                            )
                            break

    def _candidates(self, made: Tried, target: str) -> Iterator[Tried]:
        """Calls that failed, and variants that name what the write was about."""
        yield from self.seen.refused[target]
        about = [v for v in made.arguments.values() if isinstance(v, str)]
        about += [leaf for _, leaf in spots(made.outcome.value) if isinstance(leaf, str)][:3]
        for tried in (*self.seen.worked[target][:2], *self.seen.refused[target][:2]):
            for argument in self.tools[target].input_schema["required"]:
                if not isinstance(_scalar(tried.arguments.get(argument)), str):
                    continue
                for value in about:
                    arguments = {
                        **tried.arguments,
                        argument: _replaced(tried.arguments[argument], value),
                    }
                    session = self.seen.base.fork()
                    outcome = session.call(target, arguments)
                    if not outcome.ok:
                        yield Tried(target, arguments, outcome, session)


KIN = 3


def _texts(values: Iterable[Scalar]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def _scalar(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _replaced(old: Any, value: Scalar) -> Any:
    return [value, *old[1:]] if isinstance(old, list) else value


def _is_recognised(outcome: Outcome) -> bool:
    """Whether a call got past looking its arguments up: it ran, or a rule of the domain spoke."""
    return outcome.ok or outcome.error in RECOGNISED


def _is_new(leaf: str, seen: Observer) -> bool:
    """Whether a value looks like a key that no read of the fresh world has."""
    return " " not in leaf and any(c.isdigit() for c in leaf) and not seen.sources(leaf)


def _run(tried: Tried) -> Run:
    return Run(tried.tool, tried.arguments, tried.outcome.ok, tried.outcome.text[:400])
