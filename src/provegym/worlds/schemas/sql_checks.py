"""Reads CHECKs from the syntax trees of sqlglot: bounds, lists of values and comparisons."""

import re
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

from provegym.worlds.schemas import nouns
from provegym.worlds.schemas.sketch import Comparison, PropertyKind
from provegym.worlds.spec import Scalar

MOST_VALUES = 24
TESTS = {"GTE": "least", "LTE": "most", "GT": "over", "LT": "under"}
MIRRORED = {"least": "most", "most": "least", "over": "under", "under": "over"}


@dataclass
class SqlColumn:
    """A column of a table; `target` is the table that it refers to, in lower case."""

    name: str
    kind: PropertyKind
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    default: Scalar | None = None
    required: bool = False
    target: str = ""
    is_year: bool = False


@dataclass
class SqlTable:
    """A table with its keys and checks; columns by their names in lower case."""

    name: str
    columns: dict[str, SqlColumn] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)


class CheckReader:
    """Reads the CHECKs of tables; what it does not understand is noted."""

    def __init__(self, sqlglot: Any, dialect: str, notes: list[str]) -> None:
        self.sqlglot = sqlglot
        self.exp = sqlglot.exp
        self.dialect = dialect
        self.notes = notes
        self.is_contradiction = False

    def enum_kind(self, values: tuple[str, ...]) -> PropertyKind:
        """An enum if people could say the values, and a plain text otherwise."""
        plain = all(v.strip() and len(v) <= 40 for v in values)
        return "enum" if plain and 1 < len(set(values)) == len(values) <= MOST_VALUES else "text"

    def number(self, tree: Any) -> float | None:
        """The number that an expression is, or None."""
        exp = self.exp
        while isinstance(tree, exp.Cast | exp.Paren):
            tree = tree.this
        sign = 1
        if isinstance(tree, exp.Neg):
            sign, tree = -1, tree.this
        if isinstance(tree, exp.Literal) and re.fullmatch(r"\d{1,12}(\.\d{1,6})?", str(tree.this)):
            return sign * float(tree.this)
        return None

    def text(self, tree: Any) -> str | None:
        """The text that an expression is, also N'...' of SQL Server, or None."""
        exp = self.exp
        if (national := tree.find(exp.National)) is not None:
            return str(national.this)
        literal = tree.find(exp.Literal)
        return str(literal.this) if literal is not None and literal.is_string else None

    def read_check(self, table: SqlTable, tree: Any) -> None:
        """Read a CHECK of a table."""
        try:
            self._check(table, tree)
        except RecursionError:
            self.notes.append(f"left out: a CHECK of {table.name}, since it is too long")

    def _check(self, table: SqlTable, tree: Any) -> None:
        """Read a CHECK: its parts joined by AND, each a bound, a list of values or a comparison."""
        exp = self.exp
        while isinstance(tree, exp.Paren):
            tree = tree.this
        if isinstance(tree, exp.And):
            self._check(table, tree.left)
            self._check(table, tree.right)
            return
        if isinstance(tree, exp.Or):
            sides = [side.unnest() for side in (tree.left, tree.right)]
            rest = [side for side in sides if not self._is_null(side)]
            if len(rest) == 1:
                self._check(table, rest[0])
                return
        self.is_contradiction = False
        if not (self._values(table, tree) or self._bounds(table, tree) or self._pair(table, tree)):
            why = "it is not a bound, a list of values or a comparison"
            if self.is_contradiction:
                why = "no value could keep it"
            self.notes.append(
                f"left out: CHECK ({' '.join(tree.sql(dialect=self.dialect).split())[:80]}) of"
                f" {table.name}, since {why}"
            )

    def _is_null(self, tree: Any) -> bool:
        return isinstance(tree, self.exp.Is) and isinstance(tree.expression, self.exp.Null)

    def _held(self, table: SqlTable, tree: Any) -> SqlColumn | None:
        """The column that an expression is."""
        while isinstance(tree, self.exp.Paren | self.exp.Cast):
            tree = tree.this
        return table.columns.get(tree.name.lower()) if isinstance(tree, self.exp.Column) else None

    def _values(self, table: SqlTable, tree: Any) -> bool:
        """A list of values: IN, = ANY, or equalities joined by OR."""
        exp = self.exp
        if isinstance(tree, exp.Or):
            parts = list(tree.flatten())
            columns = [self._held(table, p.this) for p in parts if isinstance(p, exp.EQ)]
            options = [p.expression for p in parts if isinstance(p, exp.EQ)]
            if len(columns) < len(parts) or any(column is not columns[0] for column in columns):
                return False
            column = columns[0]
        elif isinstance(tree, exp.In):
            column, options = self._held(table, tree.this), tree.expressions
        elif isinstance(tree, exp.EQ) and isinstance(tree.expression, exp.Any):
            column = self._held(table, tree.this)
            arrays = list(tree.expression.find_all(exp.Array))
            options = arrays[0].expressions if arrays else []
        else:
            return False
        if column is None or not options:
            return False
        return self._limit(column, options)

    def _limit(self, column: SqlColumn, options: list[Any]) -> bool:
        """Restrict a column to some values."""
        exp = self.exp
        numbers = [self.number(each) for each in options]
        if all(number is not None for number in numbers) and column.kind == "number":
            whole = sorted({number for number in numbers if number is not None})
            if whole == [0, 1]:
                column.kind = "flag"
                return True
            is_run = whole == [whole[0] + at for at in range(len(whole))]
            return self._narrow(column, whole[0], whole[-1]) and is_run
        if column.kind == "flag":
            return all(self.number(o) in (0, 1) or isinstance(o, exp.Boolean) for o in options)
        texts = tuple(text for each in options if (text := self.text(each)) is not None)
        if len(texts) < len(options) or column.kind not in ("text", "enum"):
            return False
        column.kind, column.values = self.enum_kind(texts), texts
        return column.kind == "enum"

    def _bounds(self, table: SqlTable, tree: Any) -> bool:
        """A bound of a number."""
        exp = self.exp
        if isinstance(tree, exp.Between):
            column = self._held(table, tree.this)
            low, high = self.number(tree.args["low"]), self.number(tree.args["high"])
            if column is None or low is None or high is None:
                return False
            if column.kind == "flag":
                return (low, high) == (0, 1)
            return self._narrow(column, low, high)
        test = TESTS.get(type(tree).__name__)
        if test is None:
            return False
        column, number = self._held(table, tree.this), self.number(tree.expression)
        if column is None:
            column, number = self._held(table, tree.expression), self.number(tree.this)
            test = MIRRORED[test]
        if column is None or number is None or column.kind not in ("number", "money"):
            return False
        least = 1 if column.kind == "number" else 0.01
        if column.kind == "number":
            number = floor(number) if test in ("over", "most") else ceil(number)
        if test in ("least", "over"):
            return self._narrow(column, number + (least if test == "over" else 0), None)
        return self._narrow(column, None, number - (least if test == "under" else 0))

    def _narrow(self, column: SqlColumn, low: float | None, high: float | None) -> bool:
        """Narrow the bounds of a number, unless nothing would remain between them."""
        if column.kind not in ("number", "money"):
            return False
        lows = [each for each in (column.low, low) if each is not None]
        highs = [each for each in (column.high, high) if each is not None]
        if lows and highs and max(lows) > min(highs):
            self.is_contradiction = True
            return False
        column.low, column.high = max(lows, default=None), min(highs, default=None)
        return True

    def _pair(self, table: SqlTable, tree: Any) -> bool:
        """A comparison of two columns."""
        test: Any = TESTS.get(type(tree).__name__)
        if test is None:
            return False
        left, right = self._held(table, tree.this), self._held(table, tree.expression)
        same = ({"number", "money"}, {"date"}, {"time"})
        if left is None or right is None:
            return False
        if not any({left.kind, right.kind} <= kinds for kinds in same):
            return False
        one, two = nouns.snake(left.name), nouns.snake(right.name)
        table.comparisons.append(Comparison(left=one, test=test, right=two))
        return True
