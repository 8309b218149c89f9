"""Builds a server from a spec: record types, tables, tools, events, invariants and words."""

import types as pytypes
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Self, cast

from provegym import servers
from provegym.kernel import AnyServer, Record, Seed, Server, State, table
from provegym.worlds import check, check_operations, check_words
from provegym.worlds.conditions import Act, Compared, Rows, compile_test, named_values, select
from provegym.worlds.effects import start_value
from provegym.worlds.events import CompiledEvent, compile_events, happening
from provegym.worlds.formula import Compiler, Work
from provegym.worlds.operations import tool_function
from provegym.worlds.seeding import draw
from provegym.worlds.shapes import NOW, TEXT, Shapes, Type
from provegym.worlds.spec import DESTRUCTIVE, READS, Entity, Field, Invariant, Scalar, WorldSpec
from provegym.worlds.texts import SLOT
from provegym.worlds.work import require_bounded

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

    def __init__(self, seed: Seed) -> None:
        super().__init__(seed)
        self.me = ""

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
    check_operations.operations(spec, shapes)
    check_words.words(spec, shapes)
    records = {entity.name: _record(entity, shapes) for entity in spec.entities}
    tools = {each.tool: tool_function(each, shapes, records) for each in spec.operations}
    events = compile_events(shapes)
    invariants = [_invariant(each, shapes, n) for n, each in enumerate(spec.invariants, 1)]
    check_operations.past(spec, shapes)
    works = {tool: work for tool, (_, work) in tools.items()}
    require_bounded(spec, works, events, [(each.entity, each.work) for each in invariants])
    world = _state(shapes, records, events, _checking(shapes, invariants))
    server: AnyServer = Server(
        spec.name, world, category=spec.category, about=spec.about, version=spec.version
    )
    for operation in spec.operations:
        function, _ = tools[operation.tool]
        if operation.hidden:
            continue
        if operation.kind in READS:
            server.read(function)
        else:
            server.write(destructive=operation.kind in DESTRUCTIVE)(function)
    functions = {tool: function for tool, (function, _) in tools.items()}
    server.seed(lambda seed: draw(shapes, functions, world(seed), seed))
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
        type_ = shapes.type(entity.name, field.name, entity.name)
        kinds[field.name] = Literal[type_.values] if type_.values else PLAIN[type_.kind]
        if type_.optional:
            kinds[field.name] |= None
            values[field.name] = None
        elif type_.kind == "flag":
            values[field.name] = False
        elif field.start is not None:
            values |= _default(field, type_, entity, shapes)

    def body(namespace: dict[str, Any]) -> None:
        namespace["__annotations__"] = kinds
        namespace["__module__"] = __name__
        namespace["__doc__"] = entity.about or f"A {entity.name.replace('_', ' ')}."
        namespace.update(values)

    name, config = class_name(entity.name), {"frozen": True, "kw_only": True}
    return cast("type[Record]", pytypes.new_class(name, (Record,), config, body))


def _default(field: Field, type_: Type, entity: Entity, shapes: Shapes) -> dict[str, Any]:
    """The default of a field that starts with a literal, by its name."""
    compiler = Compiler(shapes, {"now": NOW, "me": TEXT}, f"{entity.name}.{field.name}")
    start = field.start
    assert start is not None
    start_value(compiler, start, type_)
    literal = compiler.value(start, type_).literal
    return {} if literal is None or literal == "" else {field.name: literal}


def _state(
    shapes: Shapes,
    records: dict[str, type[Record]],
    events: list[CompiledEvent],
    check: Callable[..., None],
) -> type[SpecState]:
    """The state type: a table per entity, events and invariants."""
    spec = shapes.spec
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
    namespace |= {"__doc__": spec.about, "__module__": __name__, "check": check}
    if events:
        namespace["next_event"], namespace["happen"] = happening(events)
    made: type[SpecState] = type(class_name(spec.name), (SpecState,), namespace)
    return made


class CompiledInvariant(NamedTuple):
    """An invariant: the records that it is for, its named values, its test, and its work."""

    entity: str
    rows: Rows
    lets: list[Act]
    test: Compared
    says: str
    work: Work


def _invariant(invariant: Invariant, shapes: Shapes, number: int) -> CompiledInvariant:
    where = f"invariant {number} of {invariant.entity}"
    scope = {"now": NOW, "me": TEXT}
    rows = select(Compiler(shapes, scope, where), invariant.entity, invariant.only)
    inner = Compiler(shapes, {**scope, "row": Type("record", invariant.entity)}, where)
    lets, after = named_values(inner, invariant.let)
    test = compile_test(after, invariant)
    return CompiledInvariant(invariant.entity, rows, lets, test, where, inner.work)


def _checking(shapes: Shapes, invariants: list[CompiledInvariant]) -> Callable[..., None]:
    """The method `check` of a state with these invariants."""
    references = [
        (shapes.tables[entity.name], field.name, shapes.tables[field.to])
        for entity in shapes.spec.entities
        for field in entity.fields
        if field.kind == "reference"
    ]

    def check(self: SpecState) -> None:
        """Assert that references lead somewhere and that the invariants of the spec hold."""
        for name, field, target in references:
            known = self.__dict__[target]
            for row in self.__dict__[name]:
                key = getattr(row, field)
                assert key is None or key in known, f"{row.id} points to {key}, which is gone"
        env: dict[str, Any] = {"now": self.now, "me": self.me}
        for _, rows, lets, test, says, _ in invariants:
            for row in rows(self, env):
                inside = {**env, "row": row}
                for let in lets:
                    let(self, inside)
                assert test.holds(test.value(self, inside), self, inside), f"{says}: {row}"

    return check


def asks_of(spec: WorldSpec) -> dict[str, Any]:
    """The words of a spec in the shape of an asks.toml."""
    asks: dict[str, Any] = dict(spec.words)
    asks["kin"] = list(spec.kin)
    refer = {entity.name: list(entity.refer) for entity in spec.entities if entity.refer}
    call = {entity.name: entity.call for entity in spec.entities if entity.call}
    tools = [op for op in spec.operations if not op.hidden]
    new = {
        f"{op.tool}.{arg.name}": arg.make
        if isinstance(arg.make, dict)
        else [_own_list(each, spec) for each in arg.make]
        for op in tools
        for arg in op.arguments
        if arg.make
    }
    lists = {
        f"_{name}": [_own_list(word, spec) for word in words] for name, words in spec.lists.items()
    }
    own: dict[str, dict[str, Any]] = {
        "refer": refer,
        "call": call,
        "new": {**new, **lists},
        "asks": {op.tool: list(op.asks) for op in tools},
        "short": {op.tool: {k: list(v) for k, v in op.short.items()} for op in tools},
        "did": {op.tool: op.did for op in tools if op.did},
        "told": {op.tool: op.told for op in tools if op.told},
    }
    for name, entries in own.items():
        asks[name] = {**asks.get(name, {}), **entries}
    return asks


def _own_list(value: Scalar, spec: WorldSpec) -> Scalar:
    """A made-up value; in asks.toml the word lists of a server have an underscore: {_brand}."""
    if not isinstance(value, str):
        return value
    return SLOT.sub(lambda slot: f"{{_{slot[1]}}}" if slot[1] in spec.lists else slot[0], value)
