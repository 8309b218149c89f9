"""Tools that read: searches, records with the records that belong to them, and reports."""

import types as pytypes
from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

import msgspec

from provegym.kernel import Record, State
from provegym.kernel.session import MAX_RESULT_BYTES
from provegym.kernel.state import ENCODE
from provegym.worlds.conditions import Holds, Narrow, all_of, measured, select, table_of
from provegym.worlds.formula import Compiler, Env
from provegym.worlds.shapes import Shapes, Type
from provegym.worlds.spec import Argument, Operation, Test

MOST_JOINED = 10
Records = dict[str, type[Record]]
Made = tuple[Callable[[State, Env], Any], Any]
KINDS = {"number": int, "money": Decimal}


def compile_read(operation: Operation, compiler: Compiler, records: Records) -> Made:
    """The function of an operation that reads, and the type of its result."""
    return {"search": _search, "get": _get, "report": _report}[operation.kind](
        operation, compiler, records
    )


def _search(operation: Operation, compiler: Compiler, records: Records) -> Made:
    entity, shapes = operation.entity, compiler.shapes
    rows = select(compiler, entity, operation.where)
    filters = [(each.name, _filter(each, operation, compiler)) for each in operation.arguments]
    sort = _sorting(operation.order, entity, shapes, operation.tool)

    def run(state: State, env: Env) -> list[Any]:
        found = rows(state, env)
        for name, narrow in filters:
            if (value := env[name]) is not None and value != "":
                found = narrow(found, state, env)
        return sort(found)

    return run, pytypes.GenericAlias(list, (records[entity],))


def _sorting(
    order: str, entity: str, shapes: Shapes, where: str
) -> Callable[[list[Any]], list[Any]]:
    """Sorts records by a field; those without a value come last."""
    if not order:
        return lambda found: found
    if order == "newest":
        return lambda found: found[::-1]
    field = order.removeprefix("-")
    shapes.type(entity, field, where)
    held, is_down = attrgetter(field), order.startswith("-")

    def sort(found: list[Any]) -> list[Any]:
        with_value = [row for row in found if held(row) is not None]
        with_value.sort(key=held, reverse=is_down)
        return with_value + [row for row in found if held(row) is None]

    return sort


def _filter(argument: Argument, operation: Operation, compiler: Compiler) -> Narrow:
    """A filter: a text must contain the argument, any other value must be equal to it."""
    name = argument.name
    if argument.tests:
        inner = compiler.within(row=Type("record", operation.entity))
        start = len(compiler.work.terms)
        holds = all_of(inner, argument.tests)
        compiler.work.repeat(operation.entity, start)
        assert holds is not None
        return _switched(name, holds)
    type_ = compiler.shapes.type(operation.entity, argument.filter, operation.tool)
    held = attrgetter(argument.filter)
    if argument.test == "on":
        return lambda rows, state, env: [
            row for row in rows if (v := held(row)) is not None and v.date() == env[name]
        ]
    if argument.test == "least":
        return lambda rows, state, env: [
            row for row in rows if (v := held(row)) is not None and v >= env[name]
        ]
    if argument.test == "most":
        return lambda rows, state, env: [
            row for row in rows if (v := held(row)) is not None and v <= env[name]
        ]
    if type_.kind == "text" and not (argument.values or type_.values):
        return _containing(name, held, may_miss=type_.optional)

    def narrow(rows: Any, state: State, env: Env) -> list[Any]:
        wanted = env[name]
        return [row for row in rows if held(row) == wanted]

    return narrow


def _switched(name: str, holds: Holds) -> Narrow:
    """A condition that counts only if the flag of this name is true."""

    def narrow(rows: Any, state: State, env: Env) -> list[Any]:
        if not env[name]:
            return list(rows)
        kept = []
        for row in rows:
            env["row"] = row
            if holds(state, env):
                kept.append(row)
        return kept

    return narrow


def _containing(name: str, held: Callable[[Any], Any], *, may_miss: bool) -> Narrow:
    if not may_miss:

        def narrow_all(rows: Any, state: State, env: Env) -> list[Any]:
            wanted = env[name].lower()
            return [row for row in rows if wanted in held(row).lower()]

        return narrow_all

    def narrow(rows: Any, state: State, env: Env) -> list[Any]:
        wanted = env[name].lower()
        return [row for row in rows if wanted in (held(row) or "").lower()]

    return narrow


def _get(operation: Operation, compiler: Compiler, records: Records) -> Made:
    key = operation.arguments[0].name
    table = compiler.shapes.tables[operation.entity]
    record = records[operation.entity]
    if not operation.joins:
        return lambda state, env: table_of(state, table)[env[key]], record
    joins = [
        (join.name, select(compiler, join.entity, {**join.where, join.by: f"${key}"}))
        for join in operation.joins
    ]
    fields: list[Any] = [
        (field.name, field.type, field.default)
        if field.default is not msgspec.NODEFAULT
        else (field.name, field.type)
        for field in msgspec.structs.fields(record)
    ]
    fields += [
        (join.name, pytypes.GenericAlias(tuple, (records[join.entity], ...)), ())
        for join in operation.joins
    ]
    details = msgspec.defstruct(
        f"{record.__name__}Details", fields, frozen=True, kw_only=True, omit_defaults=True
    )

    def run(state: State, env: Env) -> Any:
        row = msgspec.structs.asdict(table_of(state, table)[env[key]])
        most = MOST_JOINED
        lists = {name: tuple(rows(state, env))[-most:] for name, rows in joins}
        # A result has a largest size: the newest records are kept as far as they fit.
        while most and len(ENCODE(made := details(**row, **lists))) > MAX_RESULT_BYTES:
            most -= 1
            lists = {name: rows[len(rows) - most :] for name, rows in lists.items()}
        return made

    return run, details


def _report(operation: Operation, compiler: Compiler, records: Records) -> Made:
    subjects = [
        (argument.name, f"{argument.of}_name", compiler.path(f"{argument.name}.{name}").compute)
        for argument in operation.arguments
        if argument.of and (name := name_field(compiler.shapes, argument.of))
    ]
    figures = [
        (each.name, measured(compiler, Test(count=each.count, sum=each.sum, where=each.where)))
        for each in operation.figures
    ]
    fields: list[Any] = []
    for key, name, _ in subjects:
        is_optional = compiler.scope[key].optional
        fields += [(each, str | None, None) if is_optional else (each, str) for each in (key, name)]
    fields += [(name, KINDS[formula.type.kind]) for name, formula in figures]
    result = msgspec.defstruct(
        "".join(part.capitalize() for part in operation.tool.split("_")),
        fields,
        frozen=True,
        kw_only=True,
        omit_defaults=True,
    )
    computed = [(name, formula.compute) for name, formula in figures]

    def run(state: State, env: Env) -> Any:
        values: dict[str, Any] = {}
        for key, name, compute in subjects:
            values |= {key: env[key], name: compute(state, env)}
        return result(**values, **{name: compute(state, env) for name, compute in computed})

    return run, result


def name_field(shapes: Shapes, entity: str) -> str:
    """The field that names a record of an entity; empty if it has none."""
    fields = shapes.entity(entity, entity).fields
    return next((f.name for f in fields if f.kind in ("name", "code")), "")
