"""Static checks of operations: the shape of each kind, arguments, and the calls of the past."""

import re
from typing import Any

from provegym.worlds.check import at_most, require_lists, require_name, unique
from provegym.worlds.operations import argument_type, is_required
from provegym.worlds.reads import name_field
from provegym.worlds.shapes import BYTES, SIZES, Shapes, Type
from provegym.worlds.spec import READS, Argument, Operation, Scalar, SpecError, WorldSpec
from provegym.worlds.texts import require_balanced, slots

TOOL = re.compile(r"[a-z][a-z0-9_]{0,63}")
MOST_BOUND, MOST_DAYS_AWAY, MOST_REPORT = 1_000_000, 40_000, 3_900
ADDING = ("create", "reserve", "link", "post")


def operations(spec: WorldSpec, shapes: Shapes) -> None:
    """Each operation has the shape of its kind."""
    for operation in spec.operations:
        where = operation.tool
        if not TOOL.fullmatch(where):
            raise SpecError(f"{where!r} is no name of a tool: use a-z, 0-9 and _")
        if operation.hidden and operation.kind in READS:
            raise SpecError(f"{where}: an operation that reads is not hidden")
        shapes.entity(operation.entity, where)
        at_most(where, "arguments", len(operation.arguments))
        parts = (*operation.let, *operation.guards, *operation.effects)
        at_most(where, "parts", len(parts) + len(operation.joins) + len(operation.figures))
        unique(where, (argument.name for argument in operation.arguments))
        if not operation.about.strip():
            raise SpecError(f"{where}: `about` is missing; the model reads it")
        for argument in operation.arguments:
            _argument(operation, argument, shapes)
        for let in operation.let:
            require_name(let.name, f"{where}, let {let.name}")
        if operation.kind in READS:
            _read(operation, shapes)
        else:
            _written(operation, shapes)
    for number, event in enumerate(spec.events, 1):
        where = f"event {number} of {event.entity}"
        at_most(where, "parts", len(event.let) + len(event.effects))
        for let in event.let:
            require_name(let.name, f"{where}, let {let.name}")


def _argument(operation: Operation, argument: Argument, shapes: Shapes) -> None:
    where = f"{operation.tool}({argument.name})"
    require_name(argument.name, where)
    if len(argument.about.strip()) < 5:
        raise SpecError(f"{where}: `about` is one line that says what it is")
    if argument.required and (
        not argument.filter or argument.optional or argument.default is not None
    ):
        raise SpecError(
            f"{where}: `required` is for a filter without a default; other arguments are"
            " required unless they are optional"
        )
    is_search = operation.kind == "search"
    if argument.filter and (not is_search or argument.tests):
        raise SpecError(f"{where}: only a search filters, by a field or by tests")
    if argument.tests and (not is_search or argument.kind != "flag" or is_required(argument)):
        raise SpecError(f"{where}: `tests` are for a flag of a search with default = false")
    if is_search and not (argument.filter or argument.tests):
        raise SpecError(f"{where}: an argument of a search filters by a field or has tests")
    if argument.of and (argument.kind or argument.values or argument.make):
        raise SpecError(f"{where}: the id of a record has no kind, values or make")
    if argument.kind == "enum" and not argument.filter and not argument.values:
        raise SpecError(f"{where}: an enum has values")
    if argument.values and argument.kind not in ("enum", ""):
        raise SpecError(f"{where}: only an enum has values")
    unique(where, argument.values)
    type_ = argument_type(argument, operation, shapes)
    if argument.filter:
        _filter(operation, argument, type_, shapes)
    _bounds(argument, type_, where)
    if argument.default is not None:
        require_fit(argument, type_, argument.default, f"{where}: default")
    _make(argument, type_, where)
    for text in argument.make if isinstance(argument.make, tuple) else ():
        if isinstance(text, str):
            require_balanced(text, where)
            require_lists(shapes.spec, text, where)
            if "me" in slots(text):
                raise SpecError(f"{where}: `make` has no {{me}}")


def _filter(operation: Operation, argument: Argument, type_: Type, shapes: Shapes) -> None:
    where = f"{operation.tool}({argument.name})"
    held = shapes.type(operation.entity, argument.filter, where)
    if argument.of and held.entity != argument.of:
        raise SpecError(f"{where}: {argument.filter} does not hold the id of a {argument.of}")
    if held.values and not {*type_.values} <= {*held.values}:
        raise SpecError(f"{where}: {argument.filter} is one of {', '.join(held.values)}")
    if argument.test == "on":
        if held.kind != "time" or argument.kind not in ("", "date"):
            raise SpecError(f"{where}: the test on is for the day of a time")
        return
    if argument.kind not in ("", "enum", "name", "text", held.kind):
        raise SpecError(f"{where}: {argument.filter} is not a {argument.kind}")
    if argument.test and held.kind not in ("number", "money", "date", "time"):
        raise SpecError(f"{where}: least and most are for numbers, amounts and times")


def _bounds(argument: Argument, type_: Type, where: str) -> None:
    low, high = argument.low, argument.high
    if low is None and high is None:
        return
    if type_.kind not in ("number", "money"):
        raise SpecError(f"{where}: only a number or an amount has low and high")
    least = low if low is not None else 0
    if max(abs(least), abs(high or 0)) > MOST_BOUND:
        raise SpecError(f"{where}: low and high are between -{MOST_BOUND:,} and {MOST_BOUND:,}")
    if high is not None and least > high:
        raise SpecError(f"{where}: low is above high")
    if type_.kind == "number" and any(bound is not None and bound % 1 for bound in (low, high)):
        raise SpecError(f"{where}: the bounds of a whole number are whole")


def _make(argument: Argument, type_: Type, where: str) -> None:
    make = argument.make
    if isinstance(make, dict):
        if type_.kind not in ("date", "time") or make.keys() - {"hours"} != {"days"}:
            raise SpecError(f"{where}: `make` of a date or time has days = [first, last]")
        for first, last in (_pair(pair, where) for pair in make.values()):
            if first > last or max(abs(first), abs(last)) > MOST_DAYS_AWAY:
                raise SpecError(f"{where}: `make` goes from a first to a last day that is near")
        return
    for value in make:
        require_fit(argument, type_, value, f"{where}: make")


def _pair(pair: tuple[int, ...], where: str) -> tuple[int, int]:
    if len(pair) != 2:
        raise SpecError(f"{where}: `make` has pairs: [first, last]")
    return pair[0], pair[1]


def require_fit(argument: Argument, type_: Type, value: Scalar, where: str) -> None:
    """Raise SpecError unless a literal is one that the schema of an argument allows."""
    low = argument.low if argument.low is not None else (0.01 if type_.kind == "money" else 0)
    high = argument.high if argument.high is not None else 100_000
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits: dict[str, Any] = {
        "text": isinstance(value, str) and (not type_.values or value in type_.values),
        "flag": isinstance(value, bool),
        "number": is_number and isinstance(value, int) and low <= value <= high,
        "money": is_number and low <= value and value <= high,  # type: ignore[operator]
    }
    if not fits.get(type_.kind):
        raise SpecError(f"{where}: {value!r} is not a {type_.kind} that the argument allows")
    if isinstance(value, str) and argument.kind == "name" and len(value) > type_.longest:
        raise SpecError(f"{where}: {value!r} is longer than {type_.longest} characters")


def _read(operation: Operation, shapes: Shapes) -> None:
    where, kind = operation.tool, operation.kind
    if operation.effects or operation.guards or operation.let or operation.returns:
        raise SpecError(f"{where}: a {kind} has no let, guards, effects and returns")
    if operation.joins and kind != "get":
        raise SpecError(f"{where}: only a get has joins")
    if operation.figures and kind != "report":
        raise SpecError(f"{where}: only a report has figures")
    if (operation.where or operation.order) and kind != "search":
        raise SpecError(f"{where}: only a search has where and order")
    if kind == "get":
        _get(operation, shapes)
    if kind == "report":
        _report(operation, shapes)


def _get(operation: Operation, shapes: Shapes) -> None:
    where, entity = operation.tool, operation.entity
    arguments = operation.arguments
    if [argument.of for argument in arguments] != [entity] or not is_required(arguments[0]):
        raise SpecError(f"{where}: a get has one argument, the id of a {entity}")
    fields = (field.name for field in shapes.entity(entity, where).fields)
    unique(where, (*fields, "id", *(join.name for join in operation.joins)))
    for join in operation.joins:
        require_name(join.name, f"{where}, join {join.name}")
        type_ = shapes.type(join.entity, join.by, where)
        if type_.kind != "key" or type_.entity != entity:
            raise SpecError(f"{where}: {join.entity}.{join.by} does not point to a {entity}")


def _report(operation: Operation, shapes: Shapes) -> None:
    where = operation.tool
    if not operation.figures:
        raise SpecError(f"{where}: a report has figures")
    shown, size = [], 20
    for argument in operation.arguments:
        if argument.of and (name := name_field(shapes, argument.of)):
            shown += [argument.name, f"{argument.of}_name"]
            longest = shapes.type(argument.of, name, where).longest
            size += BYTES * longest + SIZES["key"] + 2 * len(argument.name) + 20
    for figure in operation.figures:
        require_name(figure.name, f"{where}, figure {figure.name}")
        if bool(figure.count) == bool(figure.sum):
            raise SpecError(f"{where}: the figure {figure.name} has either a count or a sum")
        size += len(figure.name) + 24
    unique(where, (*shown, *(figure.name for figure in operation.figures)))
    if size > MOST_REPORT:
        raise SpecError(f"{where}: a report could have {size} bytes, more than {MOST_REPORT}")


def _written(operation: Operation, shapes: Shapes) -> None:
    where, kind, entity, effects = (
        operation.tool,
        operation.kind,
        operation.entity,
        operation.effects,
    )
    if operation.joins or operation.figures or operation.where or operation.order:
        raise SpecError(f"{where}: a {kind} has no joins, figures, where and order")
    if not effects:
        raise SpecError(f"{where}: a {kind} has at least one effect")
    own = {argument.name for argument in operation.arguments if argument.of == entity}
    sets = {name for each in effects if each.change.removeprefix("$") in own for name in each.set}
    kinds = {shapes.field(entity, name, where).kind for name in sets if name != "id"}
    problem = ""
    if kind in ADDING and not any(effect.add == entity for effect in effects):
        problem = f"adds a {entity}"
    elif kind == "reserve" and not operation.guards:
        problem = "has a guard: what cannot run out needs no reserving"
    elif kind == "remove" and not any(e.remove.removeprefix("$") in own for e in effects):
        problem = f"removes the {entity} of an argument"
    elif kind in ("transition", "cancel") and "enum" not in kinds:
        problem = f"sets an enum field of the {entity} of an argument"
    elif kind == "assign" and "reference" not in kinds:
        problem = f"sets a reference of the {entity} of an argument"
    elif kind == "update" and not sets:
        problem = f"sets a field of the {entity} of an argument"
    elif kind == "transfer" and sum(bool(e.change) for e in effects) < 2:
        problem = "changes two records"
    if problem:
        raise SpecError(f"{where}: a {kind} {problem}")


def past(spec: WorldSpec, shapes: Shapes) -> None:
    """The past calls operations that there are, and that write, with values they allow."""
    tools = {operation.tool: operation for operation in spec.operations}
    for each in spec.past:
        operation = tools.get(each.tool)
        if operation is None or operation.kind in READS or each.times < 0:
            raise SpecError(f"past: {each.tool!r} is not a tool that writes")
        arguments = {argument.name: argument for argument in operation.arguments}
        for name, values in each.given.items():
            argument = arguments.get(name)
            if argument is None or argument.of:
                raise SpecError(f"past: {each.tool} has no argument {name!r} with given values")
            type_ = argument_type(argument, operation, shapes)
            for value in values:
                require_fit(argument, type_, value, f"past: {each.tool}({name})")
