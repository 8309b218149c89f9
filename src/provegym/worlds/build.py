"""Builds a server from a spec: record types, tables, tools, events, invariants and words."""

import types as pytypes
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Self, cast

from provegym import servers
from provegym.kernel import AnyServer, Record, Server, State, table
from provegym.worlds import check
from provegym.worlds.conditions import compile_test, select, table_of
from provegym.worlds.effects import sequence
from provegym.worlds.formula import NOW, TEXT, Compiler, Shapes, Type
from provegym.worlds.operations import tool_function
from provegym.worlds.seeding import draw
from provegym.worlds.spec import DESTRUCTIVE, READS, Entity, Event, Field, Invariant, WorldSpec

PLAIN: dict[str, Any] = {
    "text": str,
    "key": str,
    "number": int,
    "money": Decimal,
    "date": date,
    "time": datetime,
    "flag": bool,
}


class SpecState(State):
    """The state of a world that was built from a spec; `me` is the acting user's name."""

    me: str = ""

    def fork(self) -> Self:
        """An independent copy-on-write copy."""
        twin = super().fork()
        twin.me = self.me
        return twin


def build(spec: WorldSpec) -> AnyServer:
    """The server of a spec; raises SpecError with one sentence if the spec is wrong."""
    shapes = Shapes(spec)
    check.sizes(spec)
    check.entities(spec, shapes)
    check.operations(spec, shapes)
    records = {entity.name: _record(entity, shapes) for entity in spec.entities}
    world = _state(spec, shapes, records)
    server: AnyServer = Server(
        spec.name, world, category=spec.category, about=spec.about, version=spec.version
    )
    for operation in spec.operations:
        function = tool_function(operation, shapes, records)
        if operation.kind in READS:
            server.read(function)
        else:
            server.write(destructive=operation.kind in DESTRUCTIVE)(function)
    check.past(spec)
    server.seed(lambda seed: draw(spec, server, world(seed), seed))
    return server


def install(spec: WorldSpec) -> AnyServer:
    """Build the server of a spec, and let `servers.load` find it by its name."""
    server = build(spec)
    servers.add(server, asks_of(spec))
    return server


def class_name(name: str) -> str:
    """The name of a record type: "loan_item" becomes "LoanItem"."""
    return "".join(part.capitalize() for part in name.split("_"))


def _record(entity: Entity, shapes: Shapes) -> type[Record]:
    """The record type of an entity."""
    kinds: dict[str, Any] = {"id": str}
    values: dict[str, Any] = {}
    for field in entity.fields:
        kinds[field.name] = _annotation(field, entity, shapes)
        if field.empty or shapes.type(entity.name, field.name, entity.name).optional:
            kinds[field.name] |= None
            values[field.name] = None
        elif field.kind == "flag":
            values[field.name] = False

    def body(namespace: dict[str, Any]) -> None:
        namespace["__annotations__"] = kinds
        namespace["__module__"] = __name__
        namespace["__doc__"] = f"A {entity.name.replace('_', ' ')}."
        namespace.update(values)

    name, options = class_name(entity.name), {"frozen": True, "kw_only": True}
    return cast("type[Record]", pytypes.new_class(name, (Record,), options, body))


def _annotation(field: Field, entity: Entity, shapes: Shapes) -> Any:
    if field.kind == "enum":
        return Literal[field.values]
    return PLAIN[shapes.type(entity.name, field.name, entity.name).kind]


def _state(spec: WorldSpec, shapes: Shapes, records: dict[str, type[Record]]) -> type[SpecState]:
    """The state type: a table per entity, events and invariants."""
    look_up = {op.entity: op.tool for op in reversed(spec.operations) if op.kind == "search"}
    namespace: dict[str, Any] = {
        shapes.tables[entity.name]: table(
            records[entity.name],
            entity.prefix,
            look_up=look_up.get(entity.name, ""),
            most=entity.most,
        )
        for entity in spec.entities
    }
    namespace["__doc__"] = spec.about
    namespace["__module__"] = __name__
    if spec.events:
        next_event, happen = _events(spec, shapes)
        namespace |= {"next_event": next_event, "happen": happen}
    namespace["check"] = _invariants(spec, shapes)
    made: type[SpecState] = type(class_name(spec.name), (SpecState,), namespace)
    return made


def _events(spec: WorldSpec, shapes: Shapes) -> tuple[Callable[..., Any], Callable[..., Any]]:
    compiled = [_event(event, shapes, number) for number, event in enumerate(spec.events, 1)]

    def next_event(self: SpecState) -> datetime | None:
        """The time of the next event."""
        env = {"now": self.now, "me": self.me}
        times = [
            moment
            for rows, at, _ in compiled
            for row in rows(self, env)
            if (moment := getattr(row, at)) is not None
        ]
        return min(times, default=None)

    def happen(self: SpecState) -> None:
        """Run the events that are due."""
        env = {"now": self.now, "me": self.me}
        for rows, at, acts in compiled:
            due = [r.id for r in rows(self, env) if (m := getattr(r, at)) and m <= self.now]
            for key in due:
                row = next((row for row in rows(self, env) if row.id == key), None)
                if row is not None:
                    inside = {**env, "row": row}
                    for act in acts:
                        act(self, inside)

    return next_event, happen


def _event(event: Event, shapes: Shapes, number: int) -> tuple[Any, str, list[Any]]:
    where = f"event {number} of {event.entity}"
    scope = {"now": NOW, "me": TEXT}
    rows = select(Compiler(shapes, scope, where), event.entity, event.where)
    inner = Compiler(shapes, {**scope, "row": Type("record", event.entity)}, where)
    acts, _ = sequence(inner, event.effects)
    return rows, event.at, acts


def _invariants(spec: WorldSpec, shapes: Shapes) -> Callable[..., None]:
    compiled = [_invariant(each, shapes, number) for number, each in enumerate(spec.invariants, 1)]
    references = [
        (shapes.tables[entity.name], field.name, shapes.tables[field.to])
        for entity in spec.entities
        for field in entity.fields
        if field.kind == "reference"
    ]

    def check(self: SpecState) -> None:
        """Assert that references lead somewhere and that the invariants of the spec hold."""
        for name, field, target in references:
            known = table_of(self, target)
            for row in table_of(self, name):
                key = getattr(row, field)
                assert key is None or key in known, f"{row.id} points to {key}, which is gone"
        env: dict[str, Any] = {"now": self.now, "me": self.me}
        for rows, test, says in compiled:
            for row in rows(self, env):
                inside = {**env, "row": row}
                assert test.holds(test.value(self, inside), self, inside), f"{says}: {row}"

    return check


def _invariant(invariant: Invariant, shapes: Shapes, number: int) -> tuple[Any, Any, str]:
    where = f"invariant {number} of {invariant.entity}"
    scope = {"now": NOW, "me": TEXT}
    rows = select(Compiler(shapes, scope, where), invariant.entity, invariant.only)
    row = {**scope, "row": Type("record", invariant.entity)}
    return rows, compile_test(Compiler(shapes, row, where), invariant), where


def asks_of(spec: WorldSpec) -> dict[str, Any]:
    """The words of a spec in the shape of an asks.toml."""
    asks: dict[str, Any] = dict(spec.words)
    asks["kin"] = list(spec.kin)
    refer = {entity.name: list(entity.refer) for entity in spec.entities if entity.refer}
    call = {entity.name: entity.call for entity in spec.entities if entity.call}
    new = {
        f"{op.tool}.{arg.name}": arg.make if isinstance(arg.make, dict) else list(arg.make)
        for op in spec.operations
        for arg in op.arguments
        if arg.make
    }
    lists = {f"_{name}": list(words) for name, words in spec.lists.items()}
    own: dict[str, dict[str, Any]] = {
        "refer": refer,
        "call": call,
        "new": {**new, **lists},
        "asks": {op.tool: list(op.asks) for op in spec.operations},
        "short": {op.tool: {k: list(v) for k, v in op.short.items()} for op in spec.operations},
        "did": {op.tool: op.did for op in spec.operations if op.did},
        "told": {op.tool: op.told for op in spec.operations if op.told},
    }
    for name, entries in own.items():
        asks[name] = {**asks.get(name, {}), **entries}
    return asks
