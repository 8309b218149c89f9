"""Mutation tests of a world: do its examples notice a guard or an effect that is missing?

A mutant is the same server with one tool changed. The reference calls of each example are played on
it, and the calls that a rule refused. The mutant is noticed if a result, a refusal or the final
diff differs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from msgspec.structs import replace as put

from provegym.kernel import AnyServer, Bug, Server, Session
from provegym.kernel.state import ENCODE
from provegym.trace import Example, literals
from provegym.worlds.formula import Shapes
from provegym.worlds.operations import tool_function
from provegym.worlds.spec import Operation, SpecError, WorldSpec


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
    for operation in spec.operations:
        for part, number, changed in _shorter(operation):
            try:
                function = tool_function(changed, shapes, records)
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
    for number in range(len(operation.effects) if len(operation.effects) > 1 else 0):
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


def unnoticed(
    spec: WorldSpec, server: AnyServer, examples: Iterable[Example]
) -> tuple[int, list[str]]:
    """The number of mutants, and those that no example notices."""
    known = [(example, play(example, server)) for example in examples]
    by_tool: dict[str, list[tuple[Example, tuple[str, ...]]]] = {}
    for example, seen in known:
        provenance = example.provenance
        tools = {step.tool for step in example.paths[0].steps}
        tools |= {attempt.tool for attempt in provenance.attempts}
        tools |= {provenance.infeasible.tool} if provenance.infeasible else set()
        for tool in tools:
            by_tool.setdefault(tool, []).append((example, seen))
    count = 0
    missed: list[str] = []
    for mutant in mutants(spec, server):
        count += 1
        held = by_tool.get(mutant.tool, ())
        if not any(play(example, mutant.server) != seen for example, seen in held):
            missed.append(f"{mutant.part} {mutant.number + 1} of {mutant.tool}")
    return count, missed
