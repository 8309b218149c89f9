"""Conditions of a spec, compiled to closures over a state: selections, tests, guards and lets.

An environment (`Env`) holds the arguments of the call, `now`, `me`, the values of `let`, the
records that were added so far by the name of their entity, and `row` inside searches, events,
invariants and `each`.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter, eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from provegym.kernel import Denied, Rejected, State, Table, money
from provegym.servers import plain_name
from provegym.worlds.formula import Compiler, Compute, Env, Formula, is_formula, shown
from provegym.worlds.shapes import NUMBER, Type, comparable, named
from provegym.worlds.spec import Let, OperationGuard, Scalar, SpecError, Test, Value, Where

Act = Callable[[State, Env], None]
Holds = Callable[[State, Env], bool]
Rows = Callable[[State, Env], list[Any]]
# Keeps some of the given records.
Narrow = Callable[[Iterable[Any], State, Env], list[Any]]

SLOT = re.compile(r"\{([a-z_][\w.]*)(:full)?\}")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "is_": eq,
    "is_not": ne,
    "least": ge,
    "most": le,
    "over": gt,
    "under": lt,
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
    compiler.work.add(entity)
    narrow = narrowing(compiler, entity, where, loose=loose)
    table = compiler.shapes.tables[entity]
    return lambda state, env: narrow(state.__dict__[table], state, env)


def narrowing(compiler: Compiler, entity: str, where: Where, *, loose: bool = False) -> Narrow:
    """Keeps those of some records of an entity whose fields have these values."""
    compiler.shapes.entity(entity, compiler.where)
    passes = [_narrow(compiler, entity, name, value, loose) for name, value in where.items()]
    if not passes:
        return lambda rows, state, env: list(rows)
    if len(passes) == 1:
        return passes[0]
    first, *others = passes

    def narrow(rows: Iterable[Any], state: State, env: Env) -> list[Any]:
        found = first(rows, state, env)
        for other in others:
            found = other(found, state, env)
        return found

    return narrow


def _narrow(
    compiler: Compiler, entity: str, name: str, value: Value | tuple[Scalar, ...], loose: bool
) -> Narrow:
    type_ = compiler.shapes.type(entity, name, compiler.where)
    held = attrgetter(name)
    if isinstance(value, tuple | list):
        options = _literals(compiler, value, type_)
        return lambda rows, state, env: [row for row in rows if held(row) in options]
    compute = compiler.value(
        value, type_._replace(values=()) if is_formula(value) else type_
    ).compute
    if loose and type_.kind == "text" and not type_.values:
        return _loosely(held, compute)

    def narrow(rows: Iterable[Any], state: State, env: Env) -> list[Any]:
        wanted = compute(state, env)
        return [row for row in rows if held(row) == wanted]

    return narrow


def _literals(compiler: Compiler, values: tuple[Scalar, ...], type_: Type) -> frozenset[Any]:
    if any(map(is_formula, values)):
        raise compiler.fail("a list of values has no formulas")
    return frozenset(compiler.value(each, type_).literal for each in values)


def _loosely(held: Callable[[Any], Any], compute: Compute) -> Narrow:
    def narrow(rows: Iterable[Any], state: State, env: Env) -> list[Any]:
        wanted = plain_name(compute(state, env) or "")
        return [row for row in rows if plain_name(held(row) or "") == wanted]

    return narrow


def compile_test(compiler: Compiler, test: Test, *, loose: bool = False) -> Compared:
    """Compile a test."""
    if sum(map(bool, (test.of is not None, test.count, test.sum))) != 1:
        raise compiler.fail("a test has exactly one of `of`, `count` and `sum`")
    formula = measured(compiler, test, loose=loose)
    checks = [
        _comparison(compiler, formula, name, other)
        for name in COMPARISONS
        if (other := getattr(test, name)) is not None
    ]
    if not checks:
        raise compiler.fail("a test has one of is, is_not, least, most, over and under")
    if len(checks) == 1:
        return Compared(formula.compute, checks[0])

    def holds(value: Any, state: State, env: Env) -> bool:
        return all(check(value, state, env) for check in checks)

    return Compared(formula.compute, holds)


def measured(compiler: Compiler, test: Test | Let, *, loose: bool = False) -> Formula:
    """The value of a formula, the count of records, or the sum of a field over them."""
    if test.of is not None:
        if test.where:
            raise compiler.fail("`where` needs `count`, `sum` or `first`")
        return compiler.value(test.of)
    entity, _, field = (test.count or test.sum).partition(".")
    rows = select(compiler, entity, test.where, loose=loose)
    if test.count:
        if field:
            raise compiler.fail(f"`count` names an entity, not {test.count!r}")
        return Formula(NUMBER, lambda state, env: len(rows(state, env)))
    return total(compiler, entity, field, rows)


def total(compiler: Compiler, entity: str, field: str, rows: Rows) -> Formula:
    """The sum of a field over records; one without a value counts as 0."""
    type_ = compiler.shapes.type(entity, field, compiler.where)
    if type_.kind not in ("number", "money"):
        raise compiler.fail(f"{entity}.{field} cannot be summed up: it is {named(type_)}")
    held, none = attrgetter(field), money(0) if type_.kind == "money" else 0
    return Formula(
        type_._replace(optional=False),
        lambda state, env: sum((held(row) or none for row in rows(state, env)), none),
    )


def _comparison(
    compiler: Compiler, formula: Formula, name: str, other: Value | tuple[Scalar, ...]
) -> Callable[[Any, State, Env], bool]:
    type_ = formula.type
    if isinstance(other, tuple | list):
        options = _literals(compiler, other, type_)
        if name == "is_":
            return lambda value, state, env: value in options
        if name == "is_not":
            return lambda value, state, env: value not in options
        raise compiler.fail(f"only is and is_not take a list, not {name}")
    wanted = compiler.value(other)
    if wanted.literal is not None and type_.kind != "key":
        wanted = compiler.value(other, type_._replace(optional=True))
    if not comparable(wanted.type, type_):
        raise compiler.fail(f"{named(type_)} cannot be compared with {named(wanted.type)}")
    compare, compute = COMPARISONS[name], wanted.compute
    may_miss = type_.optional or wanted.type.optional
    if wanted.literal is not None and (name in ("is_", "is_not") or not may_miss):
        literal = wanted.literal
        if name == "is_":
            return lambda value, state, env: bool(value == literal)
        return lambda value, state, env: compare(value, literal)
    if name in ("is_", "is_not") or not may_miss:
        return lambda value, state, env: compare(value, compute(state, env))

    def check(value: Any, state: State, env: Env) -> bool:
        against = compute(state, env)
        return value is not None and against is not None and compare(value, against)

    return check


def all_of(compiler: Compiler, tests: Iterable[Test]) -> Holds | None:
    """Whether all of these tests hold; None if there are none."""
    compiled = [compile_test(compiler, each) for each in tests]
    if not compiled:
        return None
    if len(compiled) == 1:
        value, holds = compiled[0]
        return lambda state, env: holds(value(state, env), state, env)
    return lambda state, env: all(holds(value(state, env), state, env) for value, holds in compiled)


def sentence(compiler: Compiler, template: str) -> Callable[[State, Env], str]:
    """A sentence with values in braces."""
    parts = SLOT.split(template)
    if any("{" in part or "}" in part for part in parts[::3]):
        raise compiler.fail(f"a brace is open or not a value in {template!r}")
    slots = [compiler.path(path).compute for path in parts[1::3]]
    show = [str if full else shown for full in parts[2::3]]

    def said(state: State, env: Env) -> str:
        texts = [form(slot(state, env)) for slot, form in zip(slots, show, strict=True)]
        return "".join(text for pair in zip(parts[::3], [*texts, ""], strict=True) for text in pair)

    return said


def guarded(compiler: Compiler, guard: OperationGuard) -> Act:
    """Compile a guard: it raises Rejected or Denied unless its test holds."""
    look, holds = compile_test(compiler, guard, loose=guard.rule == "unique")
    when = all_of(compiler, guard.when)
    if not guard.says.strip():
        raise compiler.fail("`says` is missing: the sentence of the refusal")
    says = sentence(compiler.within(value=Type("text")), guard.says)
    error = Denied if guard.rule == "owner" or guard.denies else Rejected

    def act(state: State, env: Env) -> None:
        value = look(state, env)
        if not holds(value, state, env):
            raise error(says(state, {**env, "value": value}))

    if when is None:
        return act

    def conditional(state: State, env: Env) -> None:
        if when(state, env):
            act(state, env)

    return conditional


def named_values(compiler: Compiler, lets: Iterable[Let]) -> tuple[list[Act], Compiler]:
    """Compile the named values of an operation or event; each is known to the next."""
    acts: list[Act] = []
    for let in lets:
        if let.name in compiler.scope:
            raise compiler.fail(f"there is already a value {let.name!r} here")
        try:
            formula = _let(compiler, let)
        except SpecError as problem:
            raise SpecError(f"{problem} (let {let.name})") from None
        acts.append(partial(_remember, let.name, formula.compute))
        type_ = formula.type._replace(wide=not formula.plain)
        compiler = compiler.within(**{let.name: type_})
    return acts, compiler


def _remember(name: str, compute: Compute, state: State, env: Env) -> None:
    env[name] = compute(state, env)


def _let(compiler: Compiler, let: Let) -> Formula:
    if sum(map(bool, (let.of is not None, let.first, let.count, let.sum))) != 1:
        raise compiler.fail("a let has exactly one of `of`, `first`, `count` and `sum`")
    if let.first:
        rows = select(compiler, let.first, let.where)
        formula = Formula(
            Type("key", let.first, optional=True),
            lambda state, env: next((row.id for row in rows(state, env)), None),
        )
    else:
        formula = measured(compiler, let)
    when = all_of(compiler, let.when)
    if when is None:
        if let.otherwise is not None:
            raise compiler.fail("`otherwise` needs `when`")
        return formula
    return _chosen(compiler, formula, let, when)


def _chosen(compiler: Compiler, formula: Formula, let: Let, when: Holds) -> Formula:
    """One value if the tests hold, and another one otherwise."""
    type_ = formula.type
    other = compiler.value("$nothing" if let.otherwise is None else let.otherwise)
    if other.literal is not None and type_.kind == "money":
        other = compiler.value(let.otherwise or 0, type_)
    if other.type.kind not in (type_.kind, "nothing") or other.type.entity not in (
        type_.entity,
        "",
    ):
        raise compiler.fail(f"it is {named(type_)}, but otherwise {named(other.type)}")
    values = (*type_.values, *other.type.values) if type_.values and other.type.values else ()
    if other.type.kind == "nothing":
        values = type_.values
    one, two = formula.compute, other.compute
    return Formula(
        type_._replace(
            optional=type_.optional or other.type.optional,
            values=tuple(dict.fromkeys(values)),
            longest=max(type_.longest, other.type.longest),
        ),
        lambda state, env: one(state, env) if when(state, env) else two(state, env),
    )
