"""Formulas of a spec: literals, paths to values, sums and products, compiled to closures.

A text that starts with `$` or `=` is a formula, any other value a literal. `$item_id.owner_id.name`
follows references from an argument. `$now` is the time, `$me` the acting user. Formulas have
`+ - *`, brackets, the functions days, date, min, max and abs, and durations such as 7d, 4h, 30m.
Types are checked when the spec is compiled; nothing is evaluated as code.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from provegym.kernel import State, money
from provegym.worlds.spec import Entity, Field, Scalar, SpecError, Value, WorldSpec

Env = dict[str, Any]
Compute = Callable[[State, Env], Any]

TOKEN = re.compile(r"\s*(?:(\$[a-z_][\w.]*)|(\d+(?:\.\d+)?)([dhm])?|([a-z]+)(?=\()|([-+*(),]))")
UNITS = {"d": "days", "h": "hours", "m": "minutes"}
LONGEST = 200
DEEPEST = 12
KIND_TYPES = {"name": "text", "code": "text", "enum": "text", "copy": "text"}


class Type(NamedTuple):
    """The type of a value: text, number, money, date, time, duration, flag or key.

    A key or a record has an entity. `optional` values may be null.
    """

    kind: str
    entity: str = ""
    optional: bool = False


class Formula(NamedTuple):
    """A compiled formula: its type, the function that computes it, and the literal if it is one."""

    type: Type
    compute: Compute
    literal: Any = None


NOW, TEXT, NUMBER, MONEY = Type("time"), Type("text"), Type("number"), Type("money")
DAY, DURATION, FLAG = Type("date"), Type("duration"), Type("flag")


class Shapes:
    """The types of all fields of a spec, by entity and field, and the names of its tables."""

    def __init__(self, spec: WorldSpec) -> None:
        self.spec = spec
        self.entities = {entity.name: entity for entity in spec.entities}
        self.tables = {entity.name: table_name(entity.name) for entity in spec.entities}

    def entity(self, name: str, where: str) -> Entity:
        """An entity by name; raises SpecError if there is none."""
        found = self.entities.get(name)
        if found is None:
            raise SpecError(f"{where}: there is no entity {name!r}")
        return found

    def field(self, entity: str, name: str, where: str) -> Field:
        """A field of an entity; raises SpecError if there is none."""
        fields = self.entity(entity, where).fields
        found = next((field for field in fields if field.name == name), None)
        if found is None:
            known = ", ".join(["id", *(field.name for field in fields)])
            raise SpecError(f"{where}: {entity} has no field {name!r}; it has {known}")
        return found

    def type(self, entity: str, name: str, where: str) -> Type:
        """The type of a field."""
        if name == "id":
            return Type("key", entity)
        field = self.field(entity, name, where)
        if field.kind == "reference":
            return Type("key", field.to, field.empty)
        if field.kind == "copy":
            source, _, rest = field.to.partition(".")
            holder = self.field(entity, source, where)
            if holder.kind != "reference" or not rest:
                raise SpecError(f"{where}: {name} must copy a field such as member_id.name")
            return self.type(holder.to, rest, where)._replace(optional=holder.empty)
        return Type(KIND_TYPES.get(field.kind, field.kind), optional=field.empty)


def table_name(entity: str) -> str:
    """The name of an entity's table; it must not be the name of a method of a state."""
    plural = f"{entity[:-1]}ies" if re.search(r"[^aeiou]y$", entity) else f"{entity}s"
    return f"{plural}_" if plural in ("tables", "changes") or plural in vars(State) else plural


Scope = Mapping[str, Type]


class Compiler:
    """Compiles the values of one place of a spec; `where` names the place in errors."""

    def __init__(self, shapes: Shapes, scope: Scope, where: str) -> None:
        self.shapes = shapes
        self.scope = scope
        self.where = where

    def within(self, **more: Type) -> "Compiler":
        """The same place with further names."""
        return Compiler(self.shapes, {**self.scope, **more}, self.where)

    def fail(self, problem: str) -> SpecError:
        """An error at this place."""
        return SpecError(f"{self.where}: {problem}")

    def value(self, value: Value, wanted: Type | None = None) -> Formula:
        """Compile a literal or a formula; with `wanted`, its type must fit."""
        if isinstance(value, str) and value[:1] in ("$", "="):
            formula = self._formula(value)
        else:
            formula = self._literal(value, wanted)
        if wanted is not None and not fits(formula.type, wanted):
            raise self.fail(f"{value!r} is {named(formula.type)}, where {named(wanted)} is needed")
        return formula

    def _literal(self, value: Scalar, wanted: Type | None) -> Formula:
        """A literal; a date or a money literal is converted if one is wanted."""
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
            type_ = TEXT
        return Formula(type_, lambda state, env: given, given)

    def _formula(self, text: str) -> Formula:
        if len(text) > LONGEST:
            raise self.fail(f"a formula has at most {LONGEST} characters")
        tokens = []
        at = 1 if text.startswith("=") else 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if found is None:
                raise self.fail(f"cannot read the formula {text!r} from {text[at:]!r} on")
            tokens.append(found)
            at = found.end()
        return _Parser(self, text, tokens).whole()

    def path(self, path: str) -> Formula:
        """A path such as item_id.name: a name in scope, then fields, through references."""
        root, *fields = path.split(".")
        type_ = self.scope.get(root)
        if type_ is None:
            known = ", ".join(sorted(self.scope))
            raise self.fail(f"there is no {root!r} here; known are {known}")
        if type_.kind == "record":
            if not fields:
                return Formula(Type("key", type_.entity), lambda state, env: env[root].id)
            first, *fields = fields
            compute, type_ = _field_of_row(root, first), self._field(type_.entity, first)
        else:
            compute = _root(root)
        for field in fields:
            if type_.kind != "key":
                raise self.fail(f"{path!r}: only a record has fields, and this is {named(type_)}")
            was_optional, holder = type_.optional, type_.entity
            type_ = self._field(holder, field)
            compute = _field_of_key(compute, self.shapes.tables[holder], field)
            type_ = type_._replace(optional=type_.optional or was_optional)
        return Formula(type_, compute)

    def _field(self, entity: str, name: str) -> Type:
        return self.shapes.type(entity, name, self.where)


def _root(name: str) -> Compute:
    return lambda state, env: env[name]


def _field_of_row(root: str, field: str) -> Compute:
    return lambda state, env: getattr(env[root], field)


def _field_of_key(holder: Compute, table: str, field: str) -> Compute:
    def compute(state: State, env: Env) -> Any:
        key = holder(state, env)
        return None if key is None else getattr(getattr(state, table)[key], field)

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
        token = self.tokens[self.at]
        path, number, unit, function, sign = token.groups()
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
        if unit:
            span = timedelta(**{UNITS[unit]: float(number)})
            return Formula(DURATION, lambda state, env: span)
        value: Any = money(number) if "." in number else int(number)
        return Formula(MONEY if "." in number else NUMBER, lambda state, env: value)

    def _call(self, name: str) -> Formula:
        self._take("(")
        given = [self._sum()]
        while self._peek() == ",":
            self.at += 1
            given.append(self._sum())
        self._take(")")
        first = given[0]
        kinds = {formula.type.kind for formula in given}
        if name == "days" and kinds == {"duration"} and len(given) == 1:
            return Formula(NUMBER, lambda state, env: first.compute(state, env).days)
        if name == "date" and kinds == {"time"} and len(given) == 1:
            return Formula(DAY, lambda state, env: first.compute(state, env).date())
        if name == "abs" and kinds <= {"number", "money"} and len(given) == 1:
            return Formula(first.type, lambda state, env: abs(first.compute(state, env)))
        if name in ("min", "max") and len(given) == 2:
            pick = min if name == "min" else max
            one, two = given
            type_ = self._combine(one, "-", two).type
            type_ = first.type if type_.kind == "duration" else type_
            return Formula(type_, lambda s, env: pick(one.compute(s, env), two.compute(s, env)))
        raise self.compiler.fail(
            f"{name}({', '.join(sorted(kinds))}) is no function;"
            " there are days, date, min, max and abs"
        )

    def _combine(self, left: Formula, sign: str, right: Formula) -> Formula:
        pair = (left.type.kind, sign, right.type.kind)
        kind = RESULTS.get(pair)
        if kind is None:
            raise self.compiler.fail(
                f"{named(left.type)} {sign} {named(right.type)} makes no sense in {self.text!r}"
            )
        one, two = left.compute, right.compute
        if sign == "+":
            return Formula(Type(kind), lambda s, env: one(s, env) + two(s, env))
        if sign == "-":
            return Formula(Type(kind), lambda s, env: one(s, env) - two(s, env))
        if kind == "money":
            return Formula(Type(kind), lambda s, env: money(one(s, env) * two(s, env)))
        return Formula(Type(kind), lambda s, env: one(s, env) * two(s, env))


RESULTS = {
    **{(a, sign, a): a for a in ("number", "money", "duration") for sign in "+-"},
    **{
        (a, sign, b): "money"
        for a, b in (("money", "number"), ("number", "money"))
        for sign in "+-*"
    },
    **{(moment, sign, "duration"): moment for moment in ("time", "date") for sign in "+-"},
    ("number", "*", "number"): "number",
    ("number", "*", "duration"): "duration",
    ("duration", "*", "number"): "duration",
    ("time", "-", "time"): "duration",
    ("date", "-", "date"): "duration",
}


def fits(given: Type, wanted: Type) -> bool:
    """Whether a value of one type can stand where another is wanted."""
    if wanted.kind == "key":
        return given.kind == "key" and given.entity == wanted.entity
    if given.kind == "key":
        return wanted.kind == "text"
    return given.kind == wanted.kind or (given.kind, wanted.kind) == ("number", "money")


def named(type_: Type) -> str:
    """A type in words."""
    if type_.kind == "key":
        return f"the id of a {type_.entity}"
    words = {"money": "an amount of money", "flag": "true or false", "duration": "a duration"}
    return words.get(type_.kind, f"a {type_.kind}")


def convert(value: Any, wanted: Type) -> Any:
    """A computed value as it is stored: money is exact to the cent."""
    if wanted.kind == "money" and isinstance(value, int | Decimal):
        return money(value)
    return value


def shown(value: Any) -> str:
    """A value in a sentence of an error."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return value.isoformat()
    return "nothing" if value is None else str(value)
