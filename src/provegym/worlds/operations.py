"""Tools from operations: each becomes a function with a signature and a docstring of its own."""

import inspect
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from provegym.kernel import Label, Sensitive, State, Time
from provegym.worlds.conditions import guarded, named_values, table_of
from provegym.worlds.effects import sequence
from provegym.worlds.formula import Compiler, Env, Work
from provegym.worlds.reads import Made, Records, compile_read
from provegym.worlds.shapes import DAY, LONGEST, NOW, TEXT, Shapes, Type
from provegym.worlds.spec import READS, Argument, Operation, SpecError

MOST_AMOUNT, MOST_NUMBER = 1_000_000, 100_000
REQUIRED = inspect.Parameter.empty
ARGUMENT_TYPES = {"name": "text", "enum": "text"}
Text = Annotated[str, Meta(max_length=LONGEST["text"])]


def tool_function(
    operation: Operation, shapes: Shapes, records: Records
) -> tuple[Callable[..., Any], Work]:
    """The function of an operation, ready for `@server.read` or `@server.write`, and its work."""
    types = {each.name: argument_type(each, operation, shapes) for each in operation.arguments}
    compiler = Compiler(shapes, {**types, "now": NOW, "me": TEXT}, operation.tool)
    make = compile_read if operation.kind in READS else _write
    run, result = make(operation, compiler, records)
    function = _looked_up(types, shapes, run)
    function.__name__ = function.__qualname__ = operation.tool
    function.__doc__ = _docstring(operation, shapes, types)
    hints = {a.name: _hint(a, types[a.name]) for a in operation.arguments}
    function.__annotations__ = {**hints, "return": result}
    first = inspect.Parameter("state", inspect.Parameter.POSITIONAL_ONLY)
    rest = [
        inspect.Parameter(a.name, inspect.Parameter.KEYWORD_ONLY, default=_default(a))
        for a in operation.arguments
    ]
    cast(Any, function).__signature__ = inspect.Signature([first, *rest])
    return function, compiler.work


def argument_type(argument: Argument, operation: Operation, shapes: Shapes) -> Type:
    """The type of an argument."""
    where = f"{operation.tool}({argument.name})"
    optional = not is_required(argument) and argument.default is None
    if argument.of:
        shapes.entity(argument.of, where)
        return Type("key", argument.of, optional)
    if argument.filter and argument.test == "on":
        return DAY._replace(optional=optional)
    if argument.filter:
        type_ = shapes.type(operation.entity, argument.filter, where)
        return type_._replace(optional=optional, values=argument.values or type_.values)
    if not argument.kind:
        raise SpecError(f"{where} needs `of`, `kind` or `filter`")
    kind = ARGUMENT_TYPES.get(argument.kind, argument.kind)
    return Type(kind, "", optional, argument.values, LONGEST.get(argument.kind, 0))


def is_required(argument: Argument) -> bool:
    """Whether a call must give an argument."""
    may_miss = argument.filter or argument.optional or argument.default is not None
    return argument.required or not may_miss


def _default(argument: Argument) -> Any:
    if is_required(argument):
        return REQUIRED
    if isinstance(argument.default, float):
        return Decimal(str(argument.default))
    return argument.default


def _hint(argument: Argument, type_: Type) -> Any:
    """The type hint of an argument, from which the kernel makes its schema."""
    hint: Any = Literal[type_.values] if type_.values else _plain_hint(argument, type_)
    if argument.sensitive:
        sensitive: Any = Sensitive
        hint = sensitive[hint]
    return hint | None if type_.optional else hint


def _plain_hint(argument: Argument, type_: Type) -> Any:
    low, high = argument.low, argument.high
    if type_.kind == "number":
        least = int(low) if low is not None else 0
        return Annotated[int, Meta(ge=least, le=int(high) if high is not None else MOST_NUMBER)]
    if type_.kind == "money":
        most = high if high is not None else MOST_AMOUNT
        if low is not None:
            return Annotated[Decimal, Meta(ge=low, le=most)]
        return Annotated[Decimal, Meta(gt=0, le=most)]
    if type_.kind == "text" and argument.kind == "name":
        return Label
    if type_.kind == "text" and argument.kind == "text":
        return Text
    return {"time": Time, "date": date, "flag": bool}.get(type_.kind, str)


def _docstring(operation: Operation, shapes: Shapes, types: dict[str, Type]) -> str:
    """The description of a tool; an argument that is an id has an example of one."""
    lines = [operation.about, ""]
    if operation.arguments:
        lines.append("Args:")
    for argument in operation.arguments:
        about, type_ = argument.about, types[argument.name]
        if type_.kind == "key":
            prefix = shapes.entity(type_.entity, operation.tool).prefix
            number = 1_000 + sum(map(ord, operation.tool)) * 7 % 8_999
            if not re.search(rf'"{prefix}_\d+"', about):
                about = f'{about.rstrip(".")}, e.g. "{prefix}_{number}".'
        lines.append(f"    {argument.name}: {about}")
    return "\n".join(lines)


def _looked_up(
    types: dict[str, Type], shapes: Shapes, run: Callable[[State, Env], Any]
) -> Callable[..., Any]:
    """Give the arguments names, and look up the records that they point to.

    An optional id that is empty counts as left out. A text is kept on one line.
    """
    names = list(types)
    keys = [
        (name, shapes.tables[type_.entity], type_.optional)
        for name, type_ in types.items()
        if type_.kind == "key"
    ]
    texts = [name for name, type_ in types.items() if type_.kind == "text" and not type_.values]

    def function(state: State, *values: Any) -> Any:
        held = state.__dict__
        env: Env = dict(zip(names, values, strict=True))
        env["now"], env["me"] = held["now"], held["me"]
        for name, table, optional in keys:
            key = env[name]
            if optional and not key:
                env[name] = None
            else:
                held[table][key]
        for name in texts:
            text = env[name]
            if text is not None and not text.isprintable():
                env[name] = "".join(each if each.isprintable() else " " for each in text)
        return run(state, env)

    return function


def _write(operation: Operation, compiler: Compiler, records: Records) -> Made:
    """Check the guards in their order, then carry out the effects in theirs."""
    lets, compiler = named_values(compiler, operation.let)
    guards = []
    for number, guard in enumerate(operation.guards, 1):
        try:
            guards.append(guarded(compiler, guard))
        except SpecError as problem:
            raise SpecError(f"{problem} (guard {number})") from None
    acts, after = sequence(compiler, operation.effects)
    name = operation.returns or _returned(operation, after)
    formula = after.path(name.removeprefix("$"))
    if formula.type.kind != "key" or formula.type.optional:
        raise compiler.fail(f"{name!r} is not always a record, so it cannot be returned")
    table, key = compiler.shapes.tables[formula.type.entity], formula.compute
    removes = any(effect.remove for effect in operation.effects)
    if removes and name.removeprefix("$") not in {each.name for each in operation.arguments}:
        raise compiler.fail("what removes a record returns one of its arguments")
    steps = [*lets, *guards, *acts]

    def run(state: State, env: Env) -> Any:
        for step in steps:
            step(state, env)
        return state.__dict__[table][key(state, env)]

    def run_and_remove(state: State, env: Env) -> Any:
        before = table_of(state, table)[key(state, env)]
        for step in steps:
            step(state, env)
        return before

    return run_and_remove if removes else run, records[formula.type.entity]


def _returned(operation: Operation, after: Compiler) -> str:
    """The record that a write returns: the one it adds, or the argument of its entity."""
    if any(effect.add == operation.entity for effect in operation.effects):
        return operation.entity
    for argument in operation.arguments:
        if argument.of == operation.entity and is_required(argument):
            return argument.name
    raise after.fail("`returns` is missing: which record does it return?")
