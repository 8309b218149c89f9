"""Mutation tests of a world: do its examples notice a guard or an effect that is missing?

A mutant is the same server with one tool changed. The reference calls of each example are played on
it, and the calls that a rule refused. The mutant is noticed if a result, a refusal or the final
diff differs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace as put

from provegym.admission.examples import Maker
from provegym.kernel import AnyServer, Bug, Server, Session
from provegym.kernel.state import ENCODE
from provegym.trace import Example, Json, literals
from provegym.worlds.operations import tool_function
from provegym.worlds.shapes import Shapes
from provegym.worlds.spec import Operation, SpecError, WorldSpec

EFFECT_TRIES, REFUSAL_TRIES, SLIP_TRIES = 20, 1, 3


class Mutant(NamedTuple):
    """A server in which one guard or effect of a tool is missing."""

    tool: str
    part: str
    number: int
    server: AnyServer


def mutants(spec: WorldSpec, server: AnyServer) -> Iterator[Mutant]:
    """Every mutant that is a server; some effects cannot be left out alone."""
    shapes = Shapes(spec)
    records = {
        entity.name: server.state.tables[shapes.tables[entity.name]].record
        for entity in spec.entities
    }
    for operation in (each for each in spec.operations if not each.hidden):
        for part, number, changed in _shorter(operation):
            try:
                function, _ = tool_function(changed, shapes, records)
            except SpecError:
                continue
            twin: AnyServer = Server(
                server.name, server.state, category=server.category, about=server.about
            )
            tool = replace(server.tools[operation.tool], function=function)
            twin.tools = {**server.tools, operation.tool: tool}
            twin.world, twin.later = server.world, server.later
            yield Mutant(operation.tool, part, number, twin)


def _shorter(operation: Operation) -> Iterator[tuple[str, int, Operation]]:
    """The operation without one of its guards or effects."""
    for number in range(len(operation.guards)):
        rest = operation.guards[:number] + operation.guards[number + 1 :]
        yield "guard", number, put(operation, guards=rest)
    for number in range(len(operation.effects)):
        rest_effects = operation.effects[:number] + operation.effects[number + 1 :]
        yield "effect", number, put(operation, effects=rest_effects)


def play(example: Example, server: AnyServer) -> tuple[str, ...]:
    """What the reference calls, the refused calls and the end of an example look like."""
    session = Session([server], example.seed)
    steps = example.paths[0].steps
    refused = [(a.before, a.tool, a.arguments) for a in example.provenance.attempts]
    infeasible = example.provenance.infeasible
    seen: list[str] = []
    at = 0
    try:
        for number, turn in enumerate(example.turns):
            session.advance(turn.minutes)
            for step in (step for step in steps if step.turn == number):
                seen += [
                    session.fork().call(tool, arguments).text
                    for before, tool, arguments in refused
                    if before == at
                ]
                seen.append(session.call(step.tool, literals(step.arguments)).text)
                at += 1
            if infeasible is not None and infeasible.turn == number:
                seen.append(session.fork().call(infeasible.tool, infeasible.arguments).text)
        seen.append(ENCODE(session.diff()).decode())
    except Bug as problem:
        seen.append(str(problem))
    return tuple(seen)


class Audit:
    """The mutants of a world, and the examples that notice them."""

    def __init__(self, spec: WorldSpec, server: AnyServer) -> None:
        self.server = server
        self.mutants = list(mutants(spec, server))
        self.missed = list(self.mutants)

    def look(self, example: Example) -> None:
        """Play an example on the mutants that no example has noticed yet."""
        tools = _tools_of(example)
        if not any(mutant.tool in tools for mutant in self.missed):
            return
        seen = play(example, self.server)
        self.missed = [
            mutant
            for mutant in self.missed
            if mutant.tool not in tools or play(example, mutant.server) == seen
        ]


def _tools_of(example: Example) -> set[str]:
    """The tools of the reference calls and of the refused calls."""
    provenance = example.provenance
    tools = {step.tool for step in example.paths[0].steps}
    tools |= {attempt.tool for attempt in provenance.attempts}
    return tools | ({provenance.infeasible.tool} if provenance.infeasible else set())


def further(maker: Maker, audit: Audit) -> Iterator[Example]:
    """More examples for the mutants that no example has noticed.

    For a guard, a request that it alone refuses, or a wrong value in a first call that it alone
    refuses. For an effect, another request for the tool.
    """
    for mutant in list(audit.missed):
        for make in _ways(maker, mutant):
            if mutant not in audit.missed:
                break
            example = make([mutant.tool], "minimal")
            if example is not None:
                audit.look(example)
                yield example


def _ways(maker: Maker, mutant: Mutant) -> Sequence[Callable[[list[str], str], Example | None]]:
    """The ways to make an example that may notice a mutant, one for each try."""
    if mutant.part == "effect":
        return [maker.make] * EFFECT_TRIES
    suits = partial(_is_refused_by, mutant.server, mutant.tool)
    refused = partial(maker.make, refuses=mutant.tool, suits=suits)
    slipped = partial(maker.make, slips=mutant.tool, suits=suits)
    return [refused] * REFUSAL_TRIES + [slipped] * SLIP_TRIES


def _is_refused_by(without: AnyServer, tool: str, session: Session, arguments: Json) -> bool:
    """Whether a call that is refused would work on a server without the rule."""
    return session.on(without).call(tool, arguments).ok
