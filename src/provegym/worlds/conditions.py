"""Conditions of a spec, compiled to closures over a state: selections, tests and guards.

An environment (`Env`) holds the arguments of the call, `now`, `me`, the records that were added so
far by the name of their entity, and `row` inside events, invariants and `each`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from provegym.kernel import Denied, Rejected, State, Table
from provegym.servers import plain_name
from provegym.worlds.formula import (
    NUMBER,
    Compiler,
    Compute,
    Env,
    Formula,
    Type,
    convert,
    fits,
    named,
    shown,
)
from provegym.worlds.spec import OperationGuard, Scalar, Test, Value, Where

Check = Callable[[State, Env], bool]
Act = Callable[[State, Env], None]
Rows = Callable[[State, Env], Iterator[Any]]

SLOT = re.compile(r"\{([a-z_][\w.]*)\}")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "is_": lambda value, other: bool(value == other),
    "is_not": lambda value, other: bool(value != other),
    "least": lambda value, other: bool(value >= other),
    "most": lambda value, other: bool(value <= other),
    "over": lambda value, other: bool(value > other),
    "under": lambda value, other: bool(value < other),
}


class Compared(NamedTuple):
    """A compiled test: the value it looks at, and whether it holds for that value."""

    value: Compute
    holds: Callable[[Any, State, Env], bool]


def table_of(state: State, name: str) -> Table[Any]:
    """A table of a state by name."""
    table: Table[Any] = state.__dict__[name]
    return table


def select(compiler: Compiler, entity: str, where: Where, *, loose: bool = False) -> Rows:
    """The records of an entity whose fields have these values.

    With `loose`, texts are compared without regard to case and extra blanks.
    """
    compiler.shapes.entity(entity, compiler.where)
    table = compiler.shapes.tables[entity]
    tests = [_matcher(compiler, entity, name, value, loose) for name, value in where.items()]

    def rows(state: State, env: Env) -> Iterator[Any]:
        found: Iterable[Any] = table_of(state, table)
        wanted = [(name, compare, compute(state, env)) for name, compare, compute in tests]
        for row in found:
            if all(compare(getattr(row, name), value) for name, compare, value in wanted):
                yield row

    return rows


Matcher = tuple[str, Callable[[Any, Any], bool], Compute]


def _matcher(
    compiler: Compiler, entity: str, name: str, value: Value | tuple[Scalar, ...], loose: bool
) -> Matcher:
    type_ = compiler.shapes.type(entity, name, compiler.where)
    if isinstance(value, tuple | list):
        options = tuple(known(compiler, entity, name, each) for each in value)
        return name, lambda held, any_of: held in any_of, lambda state, env: options
    formula = compiler.value(value, type_)
    if formula.literal is not None:
        known(compiler, entity, name, value)
    if loose and type_.kind == "text":
        return name, lambda held, text: plain_name(held or "") == plain_name(text), formula.compute
    return name, COMPARISONS["is_"], formula.compute


def known(compiler: Compiler, entity: str, name: str, value: Scalar) -> Any:
    """A literal for a field; of an enum it must be one of the values."""
    literal = compiler.value(value, compiler.shapes.type(entity, name, compiler.where)).literal
    if name != "id" and (values := enum_of(compiler, entity, name)) and literal not in values:
        raise compiler.fail(f"{entity}.{name} is never {value!r}; it is one of {', '.join(values)}")
    return literal


def enum_of(compiler: Compiler, entity: str, name: str) -> tuple[str, ...]:
    """The values of an enum field; empty for any other."""
    if name == "id":
        return ()
    field = compiler.shapes.field(entity, name, compiler.where)
    if field.kind == "copy":
        source, _, rest = field.to.partition(".")
        holder = compiler.shapes.field(entity, source, compiler.where)
        return enum_of(compiler, holder.to, rest)
    return field.values if field.kind == "enum" else ()


def compile_test(compiler: Compiler, test: Test, *, loose: bool = False) -> Compared:
    """Compile a test."""
    if sum(map(bool, (test.of is not None, test.count, test.sum))) != 1:
        raise compiler.fail("a test has exactly one of `of`, `count` and `sum`")
    formula = _looked_at(compiler, test, loose)
    checks = []
    for name in COMPARISONS:
        other = getattr(test, name)
        if other is not None:
            checks.append(_comparison(compiler, test, formula, name, other))
    if not checks:
        raise compiler.fail("a test has one of is, is_not, least, most, over and under")

    def holds(value: Any, state: State, env: Env) -> bool:
        return all(check(value, state, env) for check in checks)

    return Compared(formula.compute, holds)


def _looked_at(compiler: Compiler, test: Test, loose: bool) -> Formula:
    """The value that a test looks at."""
    if test.of is not None:
        return compiler.value(test.of)
    entity, _, field = (test.count or test.sum).partition(".")
    rows = select(compiler, entity, test.where, loose=loose)
    if test.count:
        return Formula(NUMBER, lambda state, env: sum(1 for _ in rows(state, env)))
    type_ = compiler.shapes.type(entity, field, compiler.where)
    if type_.kind not in ("number", "money"):
        raise compiler.fail(f"{test.sum} cannot be summed up: it is {named(type_)}")
    return Formula(
        type_, lambda state, env: convert(sum(getattr(r, field) for r in rows(state, env)), type_)
    )


def _comparison(
    compiler: Compiler, test: Test, formula: Formula, name: str, other: Value | tuple[Scalar, ...]
) -> Callable[[Any, State, Env], bool]:
    type_ = formula.type
    if isinstance(other, tuple | list):
        options = tuple(compiler.value(each, type_).literal for each in other)
        _require_values(compiler, test, options)
        if name == "is_":
            return lambda value, state, env: value in options
        if name == "is_not":
            return lambda value, state, env: value not in options
        raise compiler.fail(f"only is and is_not take a list, not {name}")
    wanted = compiler.value(other)
    if not (fits(wanted.type, type_) or fits(type_, wanted.type)):
        raise compiler.fail(f"{named(type_)} cannot be compared with {named(wanted.type)}")
    if wanted.literal is not None:
        wanted = compiler.value(other, type_ if type_.kind != "key" else None)
        _require_values(compiler, test, (wanted.literal,))
    ordered = name not in ("is_", "is_not")
    compare = COMPARISONS[name]
    compute = wanted.compute

    def check(value: Any, state: State, env: Env) -> bool:
        against = compute(state, env)
        if ordered and (value is None or against is None):
            return False
        return compare(value, against)

    return check


def _require_values(compiler: Compiler, test: Test, options: tuple[Any, ...]) -> None:
    """A literal that is compared with an enum must be one of its values."""
    path = test.of if isinstance(test.of, str) else ""
    root, *fields = path.removeprefix("$").split(".")
    type_ = compiler.scope.get(root)
    if (
        not path.startswith("$")
        or not fields
        or type_ is None
        or not re.fullmatch(r"\$[\w.]+", path)
    ):
        return
    for field in fields[:-1]:
        type_ = compiler.shapes.type(type_.entity, field, compiler.where)
    values = enum_of(compiler, type_.entity, fields[-1])
    for option in options:
        if values and option not in values:
            raise compiler.fail(f"{path} is never {option!r}; it is one of {', '.join(values)}")


def sentence(compiler: Compiler, template: str) -> Callable[[State, Env], str]:
    """A sentence with values in braces."""
    parts = SLOT.split(template)
    slots = [compiler.path(path).compute for path in parts[1::2]]

    def said(state: State, env: Env) -> str:
        texts = [shown(slot(state, env)) for slot in slots]
        return "".join(texts[at // 2] if at % 2 else part for at, part in enumerate(parts))

    return said


def guarded(compiler: Compiler, guard: OperationGuard) -> Act:
    """Compile a guard: it raises Rejected or Denied unless its test holds."""
    test = compile_test(compiler, guard, loose=guard.rule == "unique")
    when = [compile_test(compiler, each) for each in guard.when]
    type_ = Type("text")
    says = sentence(compiler.within(value=type_), guard.says)
    error = Denied if guard.rule == "owner" or guard.denies else Rejected

    def act(state: State, env: Env) -> None:
        for each in when:
            if not each.holds(each.value(state, env), state, env):
                return
        value = test.value(state, env)
        if not test.holds(value, state, env):
            raise error(says(state, {**env, "value": value}))

    return act
