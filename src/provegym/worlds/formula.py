"""Formulas of a spec: literals, paths to values, sums and products, compiled to closures.

A text that starts with `$` or `=` is a formula, any other value a literal. `$item_id.owner_id.name`
follows references from an argument. `$now` is the time, `$me` the acting user, `$nothing` no value.
Formulas have `+ - *`, brackets, the functions days, date, min, max and abs, and durations such as
7d, 4h, 30m. Types are checked when the spec is compiled; nothing is evaluated as code.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from operator import add, sub
from typing import Any, NamedTuple, TypeGuard

from provegym.kernel import State, money
from provegym.worlds import arithmetic
from provegym.worlds.shapes import (
    DAY,
    DURATION,
    FLAG,
    MONEY,
    NOTHING,
    NUMBER,
    Shapes,
    Type,
    fits,
    named,
)
from provegym.worlds.spec import Scalar, SpecError, Value

Env = dict[str, Any]
Compute = Callable[[State, Env], Any]
Scope = Mapping[str, Type]

TOKEN = re.compile(r"\s*(?:(\$[a-z_][\w.]*)|(\d+(?:\.\d+)?)([dhm])?|([a-z]+)(?=\()|([-+*(),]))")
UNITS = {"d": "days", "h": "hours", "m": "minutes"}
LONGEST = 200
DEEPEST = 12
LARGEST, LONGEST_SPAN = 1_000_000_000, 1_000_000


class Formula(NamedTuple):
    """A compiled formula: its type, the function that computes it, and the literal if it is one.

    A `plain` one is a literal or a path. `low` is a value that it is never below, where one is
    known: of a time, the seconds after now.
    """

    type: Type
    compute: Compute
    literal: Any = None
    plain: bool = False
    low: float | None = None


class Work:
    """How many records a compiled piece may look at: products of tables, one tuple for each."""

    def __init__(self) -> None:
        self.terms: list[tuple[str, ...]] = []

    def add(self, *entities: str) -> None:
        """Count a loop over all records of an entity, or nested loops over several."""
        self.terms.append(entities)

    def repeat(self, entity: str, start: int) -> None:
        """Count what was added from `start` on once for each record of an entity."""
        self.terms[start:] = [(entity, *term) for term in self.terms[start:]]

    def rows(self, sizes: Mapping[str, int]) -> int:
        """The number of records, if tables have these sizes."""
        total = 0
        for term in self.terms:
            product = 1
            for entity in term:
                product *= sizes[entity]
            total += product
        return total


class Compiler:
    """Compiles the values of one place of a spec; `where` names the place in errors.

    A `forgiving` place is an event: what cannot be done there is left out, because nobody is there
    to read an error.
    """

    def __init__(
        self, shapes: Shapes, scope: Scope, where: str, *, forgiving: bool = False
    ) -> None:
        self.shapes = shapes
        self.scope = scope
        self.where = where
        self.forgiving = forgiving
        self.work = Work()

    def within(self, **more: Type) -> "Compiler":
        """The same place with further names."""
        twin = Compiler(self.shapes, {**self.scope, **more}, self.where, forgiving=self.forgiving)
        twin.work = self.work
        return twin

    def fail(self, problem: str) -> SpecError:
        """An error at this place."""
        return SpecError(f"{self.where}: {problem}")

    def value(self, value: Value, wanted: Type | None = None) -> Formula:
        """Compile a literal or a formula; with `wanted`, its type must fit."""
        formula = self._formula(value) if is_formula(value) else self._literal(value, wanted)
        if wanted is not None and not fits(formula.type, wanted):
            plain = formula.type if is_formula(value) else formula.type._replace(values=())
            raise self.fail(f"{value!r} is {named(plain)}, where {named(wanted)} is needed")
        return formula

    def _literal(self, value: Scalar, wanted: Type | None) -> Formula:
        """A literal; a number is converted to money if an amount is wanted."""
        kind = wanted.kind if wanted else ""
        given: Any = value
        if isinstance(value, bool):
            type_ = FLAG
        elif isinstance(value, int | float):
            is_money = kind == "money" or isinstance(value, float)
            given = money(str(value)) if is_money else value
            type_ = MONEY if is_money else NUMBER
        elif kind == "key":
            raise self.fail(f"{value!r} is a literal, where the id of a record is needed")
        else:
            type_ = Type("text", values=(value,), longest=len(value))
            if wanted is not None and wanted.values and value not in wanted.values:
                raise self.fail(f"it is never {value!r}; it is {named(wanted)}")
        low = None if isinstance(value, str) else float(value)
        return Formula(type_, lambda state, env: given, given, plain=True, low=low)

    def _formula(self, text: str) -> Formula:
        if len(text) > LONGEST:
            raise self.fail(f"a formula has at most {LONGEST} characters")
        tokens = []
        text = text.rstrip()
        at = 1 if text.startswith("=") else 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:
                raise self.fail(f"cannot read the formula {text!r} from {text[at:]!r} on")
            tokens.append(found)
            at = found.end()
        return _Parser(self, text, tokens).whole()

    def path(self, path: str) -> Formula:
        """A path such as item_id.name: a name in scope, then fields, through references."""
        root, *fields = path.split(".")
        if path == "nothing":
            return Formula(NOTHING, lambda state, env: None, plain=True)
        type_ = self.scope.get(root)
        if type_ is None:
            known = ", ".join(sorted(self.scope))
            raise self.fail(f"there is no {root!r} here; known are {known}")
        if type_.kind == "record":
            if not fields:
                return Formula(Type("key", type_.entity), _field_of_row(root, "id"), plain=True)
            first, *fields = fields
            compute, type_ = _field_of_row(root, first), self._field(type_.entity, first)
        else:
            compute = _root(root)
        for number, field in enumerate(fields):
            if type_.kind != "key":
                raise self.fail(f"{path!r}: only a record has fields, and this is {named(type_)}")
            holder = type_
            type_ = self._field(holder.entity, field)
            table = self.shapes.tables[holder.entity]
            is_direct = number == 0 and self.scope[root].kind == "key" and not holder.optional
            compute = (
                _field_of_argument(root, table, field)
                if is_direct
                else _field_of_key(compute, table, field, optional=holder.optional)
            )
            type_ = type_._replace(optional=type_.optional or holder.optional)
        low = 0.0 if path == "now" else None
        return Formula(type_, compute, plain=not type_.wide, low=low)

    def _field(self, entity: str, name: str) -> Type:
        return self.shapes.type(entity, name, self.where)


def _root(name: str) -> Compute:
    return lambda state, env: env[name]


def _field_of_row(root: str, field: str) -> Compute:
    return lambda state, env: getattr(env[root], field)


def _field_of_argument(root: str, table: str, field: str) -> Compute:
    """The same as a path of a root and a field, with one call less."""
    return lambda state, env: getattr(state.__dict__[table][env[root]], field)


def _field_of_key(holder: Compute, table: str, field: str, *, optional: bool) -> Compute:
    if not optional:
        return lambda state, env: getattr(state.__dict__[table][holder(state, env)], field)

    def compute(state: State, env: Env) -> Any:
        key = holder(state, env)
        return None if key is None else getattr(state.__dict__[table][key], field)

    return compute


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, compiler: Compiler, text: str, tokens: list[re.Match[str]]) -> None:
        self.compiler = compiler
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Formula:
        formula = self._sum()
        if self.at < len(self.tokens):
            raise self.compiler.fail(f"the formula {self.text!r} does not end where it should")
        return formula

    def _peek(self) -> str:
        return self.tokens[self.at][0].strip() if self.at < len(self.tokens) else ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise self.compiler.fail(f"{wanted!r} is missing in the formula {self.text!r}")
        self.at += 1

    def _sum(self) -> Formula:
        left = self._product()
        while (sign := self._peek()) in ("+", "-"):
            self.at += 1
            left = self._combine(left, sign, self._product())
        return left

    def _product(self) -> Formula:
        left = self._atom()
        while self._peek() == "*":
            self.at += 1
            left = self._combine(left, "*", self._atom())
        return left

    def _atom(self) -> Formula:
        self.depth += 1
        if self.depth > DEEPEST or self.at == len(self.tokens):
            raise self.compiler.fail(f"the formula {self.text!r} is not complete or too deep")
        path, number, unit, function, sign = self.tokens[self.at].groups()
        self.at += 1
        try:
            if path:
                return self.compiler.path(path[1:])
            if number:
                return self._number(number, unit)
            if function:
                return self._call(function)
            if sign == "(":
                inner = self._sum()
                self._take(")")
                return inner
            if sign == "-":
                zero = Formula(NUMBER, lambda state, env: 0)
                return self._combine(zero, "-", self._atom())
        finally:
            self.depth -= 1
        raise self.compiler.fail(f"{sign!r} is not expected in the formula {self.text!r}")

    def _number(self, number: str, unit: str | None) -> Formula:
        size = float(number)
        if size > (LONGEST_SPAN if unit else LARGEST):
            raise self.compiler.fail(f"{number[:20]} is too large in a formula")
        if unit:
            span = timedelta(**{UNITS[unit]: size})
            return Formula(DURATION, lambda state, env: span, low=span.total_seconds())
        value: Any = money(number) if "." in number else int(number)
        type_ = MONEY if "." in number else NUMBER
        return Formula(type_, lambda state, env: value, low=size)

    def _call(self, name: str) -> Formula:
        self._take("(")
        given = [self._sum()]
        while self._peek() == ",":
            self.at += 1
            given.append(self._sum())
        self._take(")")
        first = given[0]
        kinds = {formula.type.kind for formula in given}
        if name in ("min", "max") and len(given) == 2:
            return self._pick(name, first, given[1])
        types = {
            ("days", "duration"): NUMBER,
            ("date", "time"): DAY,
            ("abs", "number"): NUMBER,
            ("abs", "money"): MONEY,
        }
        type_ = types.get((name, first.type.kind))
        if type_ is None or len(given) != 1:
            raise self.compiler.fail(
                f"{name}({', '.join(sorted(kinds))}) is no function;"
                " there are days, date, min, max and abs"
            )
        return _applied(arithmetic.FUNCTIONS[name], type_, first)

    def _pick(self, name: str, one: Formula, two: Formula) -> Formula:
        """The smaller or the larger of two values."""
        difference = self._combine(one, "-", two).type
        type_ = one.type._replace(optional=False) if difference.kind == "duration" else difference
        lows = [formula.low for formula in (one, two) if formula.low is not None]
        low = max(lows, default=None)
        if name == "min":
            low = min(lows) if len(lows) == 2 else None
        return _applied(min if name == "min" else max, type_, one, two)._replace(low=low)

    def _combine(self, left: Formula, sign: str, right: Formula) -> Formula:
        kind = RESULTS.get((left.type.kind, sign, right.type.kind))
        if kind is None:
            raise self.compiler.fail(
                f"{named(left.type)} {sign} {named(right.type)} makes no sense in {self.text!r}"
            )
        low = None
        if left.low is not None and right.low is not None:
            if sign == "+":
                low = left.low + right.low
            elif sign == "*" and min(left.low, right.low) >= 0:
                low = left.low * right.low
        made = _applied(arithmetic.OPERATIONS[sign, kind], Type(kind), left, right)
        return made._replace(low=low)


def _applied(function: Callable[..., Any], type_: Type, *given: Formula) -> Formula:
    """A function of formulas; without a value, if one of them has none."""
    optional = any(formula.type.optional for formula in given)
    type_ = type_._replace(optional=optional)
    if len(given) == 1:
        only = given[0].compute
        if not optional:
            return Formula(type_, lambda state, env: function(only(state, env)))
        return Formula(
            type_, lambda state, env: None if (v := only(state, env)) is None else function(v)
        )
    one, two = (formula.compute for formula in given)
    if not optional and function is add:
        return Formula(type_, lambda state, env: one(state, env) + two(state, env))
    if not optional and function is sub:
        return Formula(type_, lambda state, env: one(state, env) - two(state, env))
    if not optional:
        return Formula(type_, lambda state, env: function(one(state, env), two(state, env)))

    def compute(state: State, env: Env) -> Any:
        left, right = one(state, env), two(state, env)
        return None if left is None or right is None else function(left, right)

    return Formula(type_, compute)


SAME = ("number", "money", "duration")
MIXED = (("money", "number"), ("number", "money"))
RESULTS = {
    **{(kind, sign, kind): kind for kind in SAME for sign in "+-"},
    **{(one, sign, two): "money" for one, two in MIXED for sign in "+-*"},
    **{(moment, sign, "duration"): moment for moment in ("time", "date") for sign in "+-"},
    ("number", "*", "number"): "number",
    ("number", "*", "duration"): "duration",
    ("duration", "*", "number"): "duration",
    ("time", "-", "time"): "duration",
    ("date", "-", "date"): "duration",
}


def is_formula(value: Value) -> TypeGuard[str]:
    """Whether a value is a formula, not a literal."""
    return isinstance(value, str) and value[:1] in ("$", "=")


def shown(value: Any) -> str:
    """A value in a sentence of an error."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return value.isoformat()
    return "nothing" if value is None else str(value)
