"""Worlds from SQL: CREATE TABLE statements of SQLite, Postgres or MySQL become a spec.

Tables are entities, foreign keys references, CHECK and UNIQUE guards. What is not understood is
left out, and the notes that come with the spec say so.
"""

import logging
import re
from collections.abc import Iterable
from typing import Any

from provegym.worlds.schemas import drafting, lexicon, nouns, sql_text
from provegym.worlds.schemas.packages import need
from provegym.worlds.schemas.sketch import Property, Sketch, Subject, TriggerEffect
from provegym.worlds.schemas.sql_checks import SqlColumn, SqlTable
from provegym.worlds.schemas.sql_columns import TableReader
from provegym.worlds.spec import SpecError, WorldSpec

DIALECTS = ("sqlite", "postgres", "mysql")
# The years of a column of the type YEAR whose name says nothing of them.
YEARS = (1990, 2026)
CREATE_TABLE = re.compile(r"CREATE\b[^(]*?\bTABLE\b", re.I)


def spec_of(text: str, name: str, dialect: str = "") -> tuple[WorldSpec, list[str]]:
    """The world of an SQL schema, and notes on what was left out or changed."""
    notes: list[str] = []
    if dialect and dialect not in DIALECTS:
        raise SpecError(f"there is no dialect {dialect!r}: use {', '.join(DIALECTS)}")
    sketch = sketch_of(text, name, dialect or sql_text.guess_dialect(text), notes)
    spec = drafting.draft(sketch, notes)
    return spec, [*dict.fromkeys(notes)]


def sketch_of(text: str, name: str, dialect: str, notes: list[str]) -> Sketch:
    """The sketch of an SQL schema."""
    sqlglot = need("sqlglot")
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    found = list(sql_text.statements(text))
    created = [each for each in found if CREATE_TABLE.match(each)]
    if not created:
        raise SpecError("there is no CREATE TABLE in this text")
    if len(created) > sql_text.MAX_TABLES:
        raise SpecError(f"a schema has at most {sql_text.MAX_TABLES} tables, not {len(created)}")
    reader = TableReader(sqlglot, dialect, notes)
    reader.learn_types(found)
    for each in found:
        _read_statement(reader, each)
    if not reader.tables:
        notes += [
            f"left out: the table {each}, since it is dropped later" for each in reader.dropped
        ]
    triggers = sql_text.triggers(found, notes)
    subjects = _subjects(reader.tables, triggers, notes)
    words = nouns.spaced(name)
    return Sketch(
        name=name,
        about=f"A world of {words}, from a database schema.",
        source=f"SQL ({dialect})",
        subjects=tuple(subjects),
    )


def _read_statement(reader: TableReader, statement: str) -> None:
    """Read a statement that makes, changes or drops a table."""
    if CREATE_TABLE.match(statement):
        reader.read_table(statement)
    elif re.match(r"ALTER\s+TABLE", statement, re.I):
        reader.read_alter(statement)
    elif match := sql_text.DROP.match(statement):
        reader.drop_tables(match[1])
    elif re.match(r"CREATE\s+UNIQUE", statement, re.I):
        is_short = len(statement) < sql_text.MAX_INDEX
        if is_short and (match := sql_text.INDEX.match(statement)):
            columns = sql_text.without_options(match[2])
            is_partial = re.match(r"\s*WHERE\b", match[2][len(columns) :], re.I)
            reader.add_unique(
                match[1], columns[columns.index("(") + 1 : -1], partial=bool(is_partial)
            )
        else:
            reader.note_unread(statement)


def _subjects(
    tables: dict[str, SqlTable], triggers: list[sql_text.PlainTrigger], notes: list[str]
) -> list[Subject]:
    for table in [each for each in tables.values() if not nouns.snake(each.name)]:
        notes.append(f"left out: the table {table.name}, since its name has no Latin letters")
        del tables[table.name.lower()]
    named = _nouns(tables.values())
    subjects = []
    for key, table in tables.items():
        noun = named[key]
        own: list[Property] = []
        for column in table.columns.values():
            if not nouns.snake(column.name):
                notes.append(
                    f"left out: {table.name}.{column.name}, since its name has no Latin letters"
                )
                continue
            own.append(_property(column, table, tables, named, notes))
        effects = _effects(key, table, tables, triggers, notes)
        subjects.append(
            Subject(
                name=noun,
                properties=tuple(own),
                key=tuple(nouns.snake(name) for name in table.key),
                unique=tuple(
                    tuple(nouns.snake(name) for name in group)
                    for group in table.unique
                    if len(group) > 1
                ),
                comparisons=tuple(table.comparisons),
                effects=tuple(effects),
            )
        )
    return subjects


def _nouns(tables: Iterable[SqlTable]) -> dict[str, str]:
    """The noun of each table, by its key; no two have the same."""
    found: dict[str, str] = {}
    tables = list(tables)
    prefixes = {table.name.partition("_")[0].lower() for table in tables}
    # Many scripts begin every name with the same letters: wp_posts, wp_users, wp_terms.
    shared = min(prefixes) if len(prefixes) == 1 and len(tables) > 2 else ""
    is_shared = 0 < len(shared) <= 3 and all("_" in table.name[:-1] for table in tables)
    for table in tables:
        noun = nouns.noun_of_table(table.name[len(shared) + 1 :] if is_shared else table.name)
        if noun in found.values():
            noun = nouns.plain(nouns.snake(table.name), "other")
        while noun in found.values():
            noun = f"other_{noun}"[: nouns.LONGEST]
        found[table.name.lower()] = noun
    return found


def _property(
    column: SqlColumn,
    table: SqlTable,
    tables: dict[str, SqlTable],
    named: dict[str, str],
    notes: list[str],
) -> Property:
    manner = lexicon.of_field(nouns.snake(column.name), named[table.name.lower()])
    values: dict[str, Any] = {
        "name": nouns.snake(column.name),
        "kind": column.kind,
        "values": column.values,
        "low": column.low,
        "high": column.high,
        "default": column.default,
        "empty": not column.required,
        "unique": [column.name.lower()] in [[n.lower() for n in group] for group in table.unique],
    }
    if column.is_year and (manner is None or manner.low is None):
        low, high = column.low, column.high
        first = YEARS[0] if high is None else min(YEARS[0], high - 30)
        last = YEARS[1] if low is None else max(YEARS[1], low + 30)
        values |= {"low": first if low is None else low, "high": last if high is None else high}
    if column.target:
        if column.target in tables:
            values |= {"kind": "reference", "to": named[column.target], "default": None}
        else:
            notes.append(
                f"left out: the foreign key {table.name}.{column.name}, since there is no table"
                f" {column.target}"
            )
            values["kind"] = "unknown"
    return Property(**values)


def _effects(
    key: str,
    table: SqlTable,
    tables: dict[str, SqlTable],
    triggers: list[sql_text.PlainTrigger],
    notes: list[str],
) -> list[TriggerEffect]:
    """The triggers of a table that follow one of its foreign keys."""
    effects = []
    for each in triggers:
        if each.table.lower() != key:
            continue
        by = table.columns.get(each.by.lower())
        target = tables.get(each.target.lower())
        amount: str | int = int(each.amount) if each.amount.isdigit() else nouns.snake(each.amount)
        if by is None or target is None or by.target != each.target.lower():
            notes.append(
                f"left out: a trigger on {table.name}, since {each.by} is no foreign key to"
                f" {each.target}"
            )
            continue
        on: Any = each.event
        sign: Any = each.sign
        effects.append(
            TriggerEffect(
                on=on,
                by=nouns.snake(by.name),
                property=nouns.snake(each.column),
                sign=sign,
                amount=amount,
            )
        )
    return effects
