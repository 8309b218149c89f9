"""Reads columns and keys from the syntax trees of sqlglot."""

import re
from dataclasses import replace
from typing import Any

from provegym.worlds.schemas import lexicon, nouns, sql_text
from provegym.worlds.schemas.sketch import NOW, PropertyKind
from provegym.worlds.schemas.sql_checks import CheckReader, SqlColumn, SqlTable
from provegym.worlds.spec import Scalar, SpecError

WHOLE = {"INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "SERIAL", "BIGSERIAL", "SMALLSERIAL"}
WHOLE |= {"UINT", "UBIGINT", "USMALLINT", "UTINYINT", "UMEDIUMINT", "YEAR", "INT128"}
TEXTS = {"TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "BPCHAR", "TINYTEXT", "MEDIUMTEXT"}
TEXTS |= {"LONGTEXT", "NAME", "UUID", "INET", "CITEXT"}
TIMES = {"TIMESTAMP", "TIMESTAMPTZ", "DATETIME", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATETIME2"}
BROKEN = {"FLOAT", "DOUBLE", "REAL", "UDOUBLE", "UDECIMAL"}
FLAGS = {"BOOLEAN", "BIT"}
FLAG_NAMES = ("is_", "has_", "can_")
FLAG_WORDS = {"discontinued", "active", "enabled", "deleted", "archived", "verified", "published"}
FLAG_WORDS |= {"locked", "completed", "approved", "confirmed", "visible", "featured", "activebool"}
MOST_COLUMNS, MOST_INDEXED = 200, 32
LOWERED = re.compile(r"(?:lower|upper)\s*\(\s*([\w\"`\[\]]+)\s*\)", re.I)


class TableReader(CheckReader):
    """Reads the statements of a script into tables."""

    def __init__(self, sqlglot: Any, dialect: str, notes: list[str]) -> None:
        super().__init__(sqlglot, dialect, notes)
        self.tables: dict[str, SqlTable] = {}
        self.enums: dict[str, tuple[str, ...]] = {}
        self.domains: dict[str, str] = {}
        self.dropped: dict[str, None] = {}
        self.left_to_parse = sql_text.MAX_PARSED

    def learn_types(self, statements: list[str]) -> None:
        """Remember enum types and domains."""
        for each in statements:
            if match := sql_text.ENUM.match(each):
                values = tuple(re.findall(r"'([^']*)'", match[2]))
                self.enums[sql_text.unquoted(match[1]).lower()] = values
            elif match := sql_text.DOMAIN.match(each):
                self.domains[sql_text.unquoted(match[1]).lower()] = match[2].upper()

    def _parsed(self, statement: str) -> Any | None:
        """The syntax tree of a statement, or None with a note."""
        odd = r"\bSUB_TYPE\s+\w+|\bSEQUENCE\s+NAME\s+[\w.\"]+"
        statement = re.sub(odd, "", statement, flags=re.I)
        errors = (self.sqlglot.errors.SqlglotError, RecursionError)
        for dialect in dict.fromkeys((self.dialect, "sqlite", "postgres", "mysql", "tsql")):
            self.left_to_parse -= len(statement) + sql_text.PARSE_COST
            if self.left_to_parse < 0:
                raise SpecError(
                    f"the tables of a schema take at most {sql_text.MAX_PARSED} characters in all,"
                    " and less if they are hard to read; leave some of them out"
                )
            try:
                return self.sqlglot.parse_one(statement, read=dialect)
            except errors:
                continue
        self.note_unread(statement)
        return None

    def note_unread(self, statement: str, why: str = "it cannot be read") -> None:
        """Note that a statement was left out."""
        head = " ".join(statement.split())[:60]
        self.notes.append(f"left out: the statement {head!r}, since {why}")

    def read_table(self, statement: str) -> None:
        """Read a CREATE TABLE; a partition is a part of another table."""
        exp = self.exp
        if re.match(r"[^(]*\bPARTITION\s+OF\b", statement, re.I):
            return
        listed = sql_text.without_options(statement)
        tree = self._parsed(listed)
        if (
            tree is None
            or not isinstance(tree, exp.Create)
            or not isinstance(tree.this, exp.Schema)
        ):
            if tree is not None:
                self.note_unread(statement, "it lists no columns")
            return
        table = SqlTable(tree.this.this.name)
        if parents := sql_text.INHERITS.match(statement[len(listed) :]):
            self._inherit(table, parents[1])
        if len(tree.this.expressions) > MOST_COLUMNS:
            raise SpecError(f"{table.name} has more than {MOST_COLUMNS} columns")
        checks: list[Any] = []
        for part in tree.this.expressions:
            if isinstance(part, exp.ColumnDef):
                checks += self._column(table, part)
        for part in tree.this.expressions:
            if not isinstance(part, exp.ColumnDef):
                checks += self._constraint(table, part)
        for check in checks:
            self.read_check(table, check)
        if table.name.lower() in self.tables:
            self.notes.append(f"changed: there are two tables {table.name}; the last one counts")
        self.tables[table.name.lower()] = table

    def _inherit(self, table: SqlTable, parents: str) -> None:
        """Give a table the columns of the tables that it INHERITS."""
        for name in parents.split(","):
            parent = self.tables.get(sql_text.unquoted(name.strip()).lower())
            if parent is None:
                self.notes.append(
                    f"left out: what {table.name} inherits, since there is no table {name.strip()}"
                )
                continue
            table.columns |= {key: replace(each) for key, each in parent.columns.items()}
            table.key = table.key or parent.key
            table.comparisons += parent.comparisons

    def drop_tables(self, names: str) -> None:
        """Forget the tables of a DROP TABLE."""
        for name in names.split(","):
            gone = self.tables.pop(sql_text.unquoted(name.strip()).lower(), None)
            if gone is not None:
                self.dropped[gone.name] = None

    def read_alter(self, statement: str) -> None:
        """Read the constraints and columns that an ALTER TABLE adds, drops or renames."""
        if not re.search(r"\b(ADD|DROP|RENAME)\b(?!\s+GENERATED\b)", statement, re.I):
            return
        tree = self._parsed(statement)
        if tree is not None and not isinstance(tree, self.exp.Alter):
            self.note_unread(statement)
        table = (
            self.tables.get(tree.this.name.lower()) if isinstance(tree, self.exp.Alter) else None
        )
        if tree is None or table is None:
            return
        for action in tree.args.get("actions") or ():
            for check in self._altered(table, action):
                self.read_check(table, check)

    def _altered(self, table: SqlTable, action: Any) -> list[Any]:
        """Read one action of an ALTER TABLE; returns its CHECKs."""
        exp = self.exp
        if isinstance(action, exp.AddConstraint):
            return [c for part in action.expressions for c in self._constraint(table, part)]
        if isinstance(action, exp.ColumnDef) and len(table.columns) < MOST_COLUMNS:
            return self._column(table, action)
        if isinstance(action, exp.Drop) and action.args.get("kind") == "COLUMN":
            gone = action.find(exp.Column, exp.Identifier).name.lower()
            table.columns.pop(gone, None)
            table.unique = [u for u in table.unique if gone not in [n.lower() for n in u]]
            used = [c for c in table.comparisons if nouns.snake(gone) not in (c.left, c.right)]
            table.comparisons = used
        elif isinstance(action, exp.AlterRename):
            self._rename(table, action.this.name)
        elif isinstance(action, exp.RenameColumn):
            self.notes.append(f"left out: a new name for a column of {table.name}")
        return []

    def _rename(self, table: SqlTable, name: str) -> None:
        """Give a table another name, also where others refer to it."""
        old = table.name.lower()
        self.tables.pop(old, None)
        table.name = name
        self.tables[name.lower()] = table
        for column in (c for each in self.tables.values() for c in each.columns.values()):
            if column.target == old:
                column.target = name.lower()

    def add_unique(self, table: str, columns: str, *, partial: bool) -> None:
        """Add the columns of a CREATE UNIQUE INDEX."""
        found = self.tables.get(sql_text.unquoted(table).lower())
        if found is None:
            return
        if columns.count(",") >= MOST_INDEXED:
            self.notes.append(f"left out: a unique index of {found.name}, since it is too long")
            return
        # Names are compared without regard to case, so lower(email) is as good as email.
        plain = [LOWERED.sub(r"\1", each) for each in sql_text.split_columns(columns)]
        names = tuple(sql_text.unquoted(each.split()[0]) for each in plain)
        if not names:
            return
        if partial or any(name.lower() not in found.columns for name in names):
            why = "a condition" if partial else "more than columns"
            self.notes.append(f"left out: a unique index of {found.name}, since it has {why}")
            return
        found.unique.append(names)

    def _column(self, table: SqlTable, part: Any) -> list[Any]:
        """Read a column; returns its CHECKs."""
        exp = self.exp
        kind, values, high = self._kind(part)
        if kind == "flag" and self._starts_above_one(part):
            kind = "number"
        column = SqlColumn(part.name, kind, values, high=high)
        column.is_year = part.kind is not None and str(part.kind.this).endswith(".YEAR")
        if kind == "number" and str(part.kind.this.name)[:1] == "U":
            column.low = 0
        table.columns[part.name.lower()] = column
        checks = []
        for constraint in part.args.get("constraints") or ():
            rule = constraint.kind
            if isinstance(rule, exp.NotNullColumnConstraint):
                column.required = not rule.args.get("allow_null")
            elif isinstance(rule, exp.PrimaryKeyColumnConstraint):
                table.key, column.required = (part.name,), True
            elif isinstance(rule, exp.UniqueColumnConstraint):
                table.unique.append((part.name,))
            elif isinstance(rule, exp.DefaultColumnConstraint):
                column.default = self._default(rule.this, column)
            elif isinstance(rule, exp.CheckColumnConstraint):
                checks.append(rule.this)
            elif isinstance(rule, exp.Reference):
                self._refer(table, [part.name], rule)
            elif isinstance(rule, exp.ComputedColumnConstraint) or rule.args.get("expression"):
                column.kind = "unknown"
        return checks

    def _starts_above_one(self, part: Any) -> bool:
        """Whether the default of a column is a number that no flag has."""
        default = part.find(self.exp.DefaultColumnConstraint)
        number = self.number(default.this) if default is not None else None
        return number is not None and number not in (0, 1)

    def _kind(self, part: Any) -> tuple[PropertyKind, tuple[str, ...], float | None]:
        """The kind of a column, its values, and its highest value, from its type and name."""
        name = nouns.snake(part.name)
        type_ = part.kind
        if type_ is None:
            return "text", (), None
        word = str(type_.this).rpartition(".")[2]
        if word == "USERDEFINED":
            own = str(type_.args.get("kind") or "").rpartition(".")[2].strip('"').lower()
            if own in self.enums:
                return self.enum_kind(self.enums[own]), self.enums[own], None
            is_known = own.upper() in TEXTS | {"MONEY", "SMALLMONEY"}
            word = self.domains.get(own, own.upper() if is_known else word)
            word = "INT" if word == "INTEGER" else word
        if word == "ENUM":
            values = tuple(str(each.this) for each in type_.expressions)
            return self.enum_kind(values), values, None
        sizes = [int(str(p.this)) for p in type_.expressions if str(p.this).isdigit()]
        manner = lexicon.of_field(name, "")
        is_flag = name.startswith(FLAG_NAMES) or name in FLAG_WORDS
        if word in FLAGS or (word == "TINYINT" and sizes == [1]) or (word in WHOLE and is_flag):
            return "flag", (), None
        if word in WHOLE:
            return "number", (), None
        if word in ("MONEY", "SMALLMONEY"):
            return "money", (), None
        if word == "DECIMAL":
            scale = sizes[1] if len(sizes) > 1 else 2 if not sizes else 0
            most = 10.0 ** (sizes[0] - scale) - 1 if sizes else None
            return "money" if scale else "number", (), most
        if word in BROKEN:
            return ("money" if manner is not None and manner.money else "unknown"), (), None
        if word == "DATE":
            return "date", (), None
        if word in TIMES:
            return "date" if name.endswith(("date", "birthday", "_on")) else "time", (), None
        if word in TEXTS:
            is_day = manner is not None and manner.low is not None and name.endswith("date")
            return "date" if is_day else "text", (), None
        return "unknown", (), None

    def _default(self, tree: Any, column: SqlColumn) -> Scalar | None:
        """A default as a literal, or NOW; None for anything else."""
        exp = self.exp
        while isinstance(tree, exp.Cast | exp.Paren):
            tree = tree.this
        if isinstance(tree, exp.CurrentTimestamp | exp.CurrentDate) or (
            isinstance(tree, exp.Anonymous | exp.Column | exp.Func)
            and str(tree.name).lower() in ("now", "getdate", "datetime", "current_timestamp")
        ):
            return NOW if column.kind in ("date", "time") else None
        if isinstance(tree, exp.Boolean):
            return bool(tree.this)
        number = self.number(tree)
        if number is not None and column.kind in ("number", "money"):
            return int(number) if number == int(number) else number
        is_text = isinstance(tree, exp.National) or (
            isinstance(tree, exp.Literal) and tree.is_string
        )
        return self.text(tree) if is_text and column.kind in ("text", "enum") else None

    def _constraint(self, table: SqlTable, part: Any) -> list[Any]:
        """Read a constraint of a table; returns its CHECKs."""
        exp = self.exp
        if isinstance(part, exp.Constraint):
            return [check for inner in part.expressions for check in self._constraint(table, inner)]
        if isinstance(part, exp.CheckColumnConstraint):
            return [part.this]
        if isinstance(part, exp.Check):
            return [part.this]
        if isinstance(part, exp.PrimaryKey):
            table.key = tuple(each.name for each in part.expressions)
            for name in table.key:
                if name.lower() in table.columns:
                    table.columns[name.lower()].required = True
        elif isinstance(part, exp.UniqueColumnConstraint) and part.this is not None:
            names = tuple(each.name for each in part.this.expressions)
            if all(name.lower() in table.columns for name in names):
                table.unique += [names] if names else []
            else:
                self.notes.append(
                    f"left out: a rule of {table.name} that something is unique, since it has more"
                    " than columns"
                )
        elif isinstance(part, exp.ExcludeColumnConstraint):
            self.notes.append(f"left out: EXCLUDE of {table.name}, since it compares records")
        elif isinstance(part, exp.ForeignKey):
            self._refer(table, [each.name for each in part.expressions], part.args["reference"])
        return []

    def _refer(self, table: SqlTable, names: list[str], reference: Any) -> None:
        """Note a foreign key."""
        where = f"{table.name}.{', '.join(names)}"
        target = (
            reference.this.this if isinstance(reference.this, self.exp.Schema) else reference.this
        )
        if len(names) != 1:
            self.notes.append(f"left out: the foreign key of {where}, since it has several columns")
            return
        if names[0].lower() not in table.columns:
            return
        column = table.columns[names[0].lower()]
        if column.target:
            return
        column.target = target.name.lower()
        options = " ".join(str(each) for each in reference.args.get("options") or ()).upper()
        if found := re.search(r"ON DELETE (CASCADE|SET NULL|SET DEFAULT)", options):
            self.notes.append(
                f"changed: ON DELETE {found[1]} of {where}; what others point to cannot be removed"
            )
