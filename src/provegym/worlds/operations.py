"""Tools from operations: each becomes a function with a signature and a docstring of its own."""

import inspect
import types as pytypes
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from provegym.kernel import Label, Record, Rejected, Sensitive, State, Time
from provegym.worlds.conditions import guarded, select, table_of
from provegym.worlds.effects import sequence
from provegym.worlds.formula import NOW, TEXT, Compiler, Env, Shapes, Type
from provegym.worlds.spec import READS, Argument, Operation, SpecError

MOST_AMOUNT = 1_000_000
# A longer text would not fit into a result of 4 kB in every script.
Note = Annotated[str, Meta(max_length=400)]
MOST_JOINED = 10
NOTHING = inspect.Parameter.empty
Records = dict[str, type[Record]]
ARGUMENT_TYPES = {"name": "text", "enum": "text"}


def tool_function(operation: Operation, shapes: Shapes, records: Records) -> Callable[..., Any]:
    """The function of an operation, ready for `@server.read` or `@server.write`."""
    where = operation.tool
    scope = {
        argument.name: argument_type(argument, operation, shapes)
        for argument in operation.arguments
    }
    compiler = Compiler(shapes, {**scope, "now": NOW, "me": TEXT}, where)
    makers = {"search": _search, "get": _get, "report": _report}
    run, result = makers.get(operation.kind, _write)(operation, compiler, records)
    checked = _looked_up(operation, shapes, run)
    checked.__name__ = checked.__qualname__ = operation.tool
    checked.__doc__ = _docstring(operation, shapes)
    hints = {a.name: _hint(a, operation, shapes) for a in operation.arguments}
    checked.__annotations__ = {**hints, "return": result}
    first = inspect.Parameter("state", inspect.Parameter.POSITIONAL_ONLY)
    rest = [
        inspect.Parameter(a.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=_default(a))
        for a in operation.arguments
    ]
    cast(Any, checked).__signature__ = inspect.Signature([first, *rest])
    return checked


def argument_type(argument: Argument, operation: Operation, shapes: Shapes) -> Type:
    """The type of an argument."""
    optional = not is_required(argument) and argument.default is None
    if argument.of:
        shapes.entity(argument.of, f"{operation.tool}({argument.name})")
        return Type("key", argument.of, optional)
    if argument.filter:
        where = f"{operation.tool}({argument.name})"
        return shapes.type(operation.entity, argument.filter, where)._replace(optional=True)
    if not argument.kind:
        raise SpecError(f"{operation.tool}({argument.name}) needs `of`, `kind` or `filter`")
    return Type(ARGUMENT_TYPES.get(argument.kind, argument.kind), optional=optional)


def is_required(argument: Argument) -> bool:
    """Whether a call must give an argument."""
    return not (argument.filter or argument.optional or argument.default is not None)


def _default(argument: Argument) -> Any:
    if is_required(argument):
        return NOTHING
    if isinstance(argument.default, float):
        return Decimal(str(argument.default))
    return argument.default


def _hint(argument: Argument, operation: Operation, shapes: Shapes) -> Any:
    """The type hint of an argument, from which the kernel makes its schema."""
    type_ = argument_type(argument, operation, shapes)
    values = argument.values
    if argument.filter and not argument.of:
        field = shapes.field(operation.entity, argument.filter, operation.tool)
        values = values or field.values
    hint: Any = Literal[values] if values else _plain_hint(argument, type_)
    if argument.sensitive:
        sensitive: Any = Sensitive
        hint = sensitive[hint]
    return hint | None if not is_required(argument) and argument.default is None else hint


def _plain_hint(argument: Argument, type_: Type) -> Any:
    low, high = argument.low, argument.high
    if type_.kind == "number":
        least = int(low) if low is not None else 0
        return Annotated[int, Meta(ge=least, le=int(high) if high is not None else 100_000)]
    if type_.kind == "money":
        most = high if high is not None else MOST_AMOUNT
        if low is not None:
            return Annotated[Decimal, Meta(ge=low, le=most)]
        return Annotated[Decimal, Meta(gt=0, le=most)]
    if type_.kind == "text" and argument.kind == "name":
        return Label
    if type_.kind == "text" and argument.kind == "text":
        return Note
    return {"time": Time, "date": date, "flag": bool}.get(type_.kind, str)


def _docstring(operation: Operation, shapes: Shapes) -> str:
    lines = [operation.about, ""]
    if operation.arguments:
        lines.append("Args:")
    for argument in operation.arguments:
        about = argument.about
        type_ = argument_type(argument, operation, shapes)
        if type_.kind == "key":
            prefix = shapes.entity(type_.entity, operation.tool).prefix
            number = 1_000 + sum(map(ord, operation.tool)) * 7 % 8_999
            about = f'{about.rstrip(".")}, e.g. "{prefix}_{number}".'
        lines.append(f"    {argument.name}: {about}")
    return "\n".join(lines)


def _looked_up(
    operation: Operation, shapes: Shapes, run: Callable[[State, Env], Any]
) -> Callable[..., Any]:
    """Give the arguments names, and look up the records that they point to."""
    names = [argument.name for argument in operation.arguments]
    keys = [
        (argument.name, shapes.tables[type_.entity])
        for argument in operation.arguments
        if (type_ := argument_type(argument, operation, shapes)).kind == "key"
    ]

    def function(state: State, *values: Any) -> Any:
        env: Env = dict(zip(names, values, strict=True))
        env["now"], env["me"] = state.now, cast(Any, state).me
        for name, table in keys:
            if env[name] is not None:
                table_of(state, table)[env[name]]
        try:
            return run(state, env)
        except OverflowError:
            raise Rejected("that is too far from now or too much") from None

    return function


Made = tuple[Callable[[State, Env], Any], Any]


def _search(operation: Operation, compiler: Compiler, records: Records) -> Made:
    rows = select(compiler, operation.entity, operation.where)
    filters = [_filter(argument, operation, compiler.shapes) for argument in operation.arguments]
    order = operation.order
    if order not in ("", "newest"):
        compiler.shapes.type(operation.entity, order.removeprefix("-"), operation.tool)
    field = order.removeprefix("-")

    def run(state: State, env: Env) -> list[Any]:
        active = [(n, f, test) for n, f, test in filters if env[n] is not None]
        found = [
            row
            for row in rows(state, env)
            if all(test(getattr(row, field), env[name]) for name, field, test in active)
        ]
        if order == "newest":
            return found[::-1]
        if not order:
            return found
        with_value = [row for row in found if getattr(row, field) is not None]
        with_value.sort(key=lambda row: getattr(row, field), reverse=order.startswith("-"))
        return with_value + [row for row in found if getattr(row, field) is None]

    return run, pytypes.GenericAlias(list, (records[operation.entity],))


def _filter(
    argument: Argument, operation: Operation, shapes: Shapes
) -> tuple[str, str, Callable[[Any, Any], bool]]:
    """A filter: a text must contain the argument, any other value must be equal to it."""
    field = shapes.field(operation.entity, argument.filter, operation.tool)
    type_ = shapes.type(operation.entity, argument.filter, operation.tool)
    contains = type_.kind == "text" and not (argument.values or field.values or argument.test)
    test = TESTS["contains" if contains else argument.test]
    return argument.name, argument.filter, test


TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "": lambda held, wanted: bool(held == wanted),
    "contains": lambda held, wanted: held is not None and wanted.lower() in held.lower(),
    "least": lambda held, wanted: held is not None and held >= wanted,
    "most": lambda held, wanted: held is not None and held <= wanted,
}


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
        row = table_of(state, table)[env[key]]
        lists = {name: tuple(rows(state, env))[-MOST_JOINED:] for name, rows in joins}
        return details(**msgspec.structs.asdict(row), **lists)

    return run, details


def _report(operation: Operation, compiler: Compiler, records: Records) -> Made:
    subjects = [
        (argument.name, f"{argument.of}_name", compiler.path(f"{argument.name}.{name}").compute)
        for argument in operation.arguments
        if argument.of and (name := _name_field(compiler, argument.of))
    ]
    figures = [
        _figure(compiler, figure.name, figure.count, figure.sum, figure.where)
        for figure in operation.figures
    ]
    fields: list[Any] = []
    for key, name, _ in subjects:
        fields += [(key, str), (name, str)]
    fields += [(name, kind) for name, kind, _ in figures]
    result = msgspec.defstruct(
        "".join(part.capitalize() for part in operation.tool.split("_")),
        fields,
        frozen=True,
        kw_only=True,
    )

    def run(state: State, env: Env) -> Any:
        values: dict[str, Any] = {}
        for key, name, compute in subjects:
            values |= {key: env[key], name: compute(state, env)}
        return result(**values, **{name: compute(state, env) for name, _, compute in figures})

    return run, result


def _name_field(compiler: Compiler, entity: str) -> str:
    fields = compiler.shapes.entity(entity, compiler.where).fields
    return next((f.name for f in fields if f.kind in ("name", "code")), "")


def _figure(
    compiler: Compiler, name: str, count: str, total: str, where: Any
) -> tuple[str, Any, Callable[[State, Env], Any]]:
    entity, _, field = (count or total).partition(".")
    rows = select(compiler, entity, where)
    if count:
        return name, int, lambda state, env: sum(1 for _ in rows(state, env))
    kind = compiler.shapes.type(entity, field, compiler.where).kind
    if kind not in ("number", "money"):
        raise compiler.fail(f"{total} cannot be summed up")
    start: Any = Decimal(0) if kind == "money" else 0
    return (
        name,
        Decimal if kind == "money" else int,
        lambda state, env: sum((getattr(row, field) for row in rows(state, env)), start),
    )


def _write(operation: Operation, compiler: Compiler, records: Records) -> Made:
    guards = []
    for number, guard in enumerate(operation.guards, 1):
        try:
            guards.append(guarded(compiler, guard))
        except SpecError as problem:
            raise SpecError(f"{problem} (guard {number})") from None
    acts, after = sequence(compiler, operation.effects)
    name = operation.returns or _returned(operation, after)
    formula = after.path(name)
    if formula.type.kind != "key":
        raise compiler.fail(f"{name!r} is not a record, so it cannot be returned")
    table = compiler.shapes.tables[formula.type.entity]
    removes = any(effect.remove for effect in operation.effects)

    def run(state: State, env: Env) -> Any:
        for guard in guards:
            guard(state, env)
        before = table_of(state, table)[formula.compute(state, env)] if removes else None
        for act in acts:
            act(state, env)
        return before or table_of(state, table)[formula.compute(state, env)]

    return run, records[formula.type.entity]


def _returned(operation: Operation, after: Compiler) -> str:
    """The record that a write returns: the one it adds, or the argument of its entity."""
    if operation.kind not in READS and any(e.add == operation.entity for e in operation.effects):
        return operation.entity
    for argument in operation.arguments:
        if argument.of == operation.entity:
            return argument.name
    raise after.fail("`returns` is missing: which record does it return?")
