"""An index of the values in a state, for the fuzzer: by kind of record, field name and link."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from provegym.kernel import Record, State
from provegym.kernel.state import ENCODE, Spec

Scalars = dict[str, list[Any]]


class TableRow(NamedTuple):
    """One record: its kind, its key, and its scalar values by field name."""

    noun: str
    key: str
    fields: Scalars


Known = dict[int, tuple[Record, TableRow]]


def snake(spec: Spec) -> str:
    """The noun of a table in snake case, as in argument names: "menu_item"."""
    return spec.noun.replace(" ", "_")


@lru_cache(maxsize=10_000)
def folded(name: str) -> str:
    """A name in snake case: entityName → entity_name."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def singular(name: str) -> str:
    """The name of one element: tags → tag, item_ids → item_id, entries → entry."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name.removesuffix("s")


def flat(record: dict[str, Any]) -> Scalars:
    """The scalars of a record by field name, including nested ones."""
    fields: Scalars = defaultdict(list)
    _flatten("", record, fields)
    return fields


def records(value: Any, noun: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every record in a result, with a noun from the name of the field it is in."""
    if isinstance(value, list):
        for part in value:
            yield from records(part, noun)
    elif isinstance(value, dict):
        if "items" not in value:
            yield noun, value
        for name, part in value.items():
            if isinstance(part, dict | list):
                yield from records(part, noun if name == "items" else singular(name))


def state_rows(state: State, known: Known | None = None) -> Iterator[tuple[TableRow, bool]]:
    """Every record of a state, and whether people chose its key themselves.

    Records are immutable, so the rows are cached in `known` by the identity of their records.
    """
    known = {} if known is None else known
    for name, spec in state.tables.items():
        records = list(getattr(state, name))
        new = [record for record in records if id(record) not in known]
        for record, plain in zip(new, msgspec.json.decode(ENCODE(new)), strict=True):
            known[id(record)] = record, TableRow(snake(spec), plain[spec.key], flat(plain))
        for record in records:
            yield known[id(record)][1], not spec.prefix


class Pool:
    """The values of the given records, indexed by noun, key and field name."""

    def __init__(self, now: datetime, rows: Iterable[tuple[TableRow, bool]]) -> None:
        self.now = now
        self.rows: list[TableRow] = []
        self.keys: dict[str, list[str]] = defaultdict(list)
        self.natural: list[str] = []
        self.fields: Scalars = defaultdict(list)
        for row, natural in rows:
            self.rows.append(row)
            self.keys[row.noun].append(row.key)
            if natural:
                self.natural.append(row.key)
            for name, values in row.fields.items():
                self.fields[name] += values
        self.by_key = {row.key: row for row in self.rows}
        self.mentions: dict[str, list[TableRow]] = defaultdict(list)
        for row in self.rows:
            for key in self._links(row):
                self.mentions[key].append(row)
        strings = [v for values in self.fields.values() for v in values if isinstance(v, str)]
        self.words = [text for text in strings if len(text) <= 80 and text not in self.by_key]
        self.numbers = [
            value
            for values in self.fields.values()
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        self._live: dict[tuple[str, str], list[str]] = {}

    def _links(self, row: TableRow) -> list[str]:
        values = (value for values in row.fields.values() for value in values)
        return [v for v in values if isinstance(v, str) and v != row.key and v in self.by_key]

    def around(self, row: TableRow, mentioned: dict[str, TableRow]) -> Scalars:
        """The values of a record and of the records linked to it, by argument name."""
        near: Scalars = {f"{row.noun}_id": [row.key], row.noun: [row.key], **row.fields}
        beside = [self.by_key[key] for key in self._links(row)]
        for other in [*beside, *mentioned.values()]:
            own = f"{other.noun}_id"
            near[own] = [*near.get(own, ()), other.key]
            for name, values in other.fields.items():
                near.setdefault(f"{other.noun}_{name}", values)
                near.setdefault(name, values)
        return near

    def nouns(self, name: str, about: str = "") -> list[str]:
        """The kinds of record an argument may refer to, by its name, else by its description."""
        stem = name.removesuffix("_id")
        if stem in self.keys:
            return [stem]
        if named := [noun for noun in self.keys if noun.endswith(stem) or stem.endswith(noun)]:
            return named
        if not name.endswith("_id"):
            return []
        text = about.lower()
        examples = [noun for noun, keys in self.keys.items() if f'"{_prefix(keys[0])}' in text]
        return examples or [noun for noun in self.keys if noun.replace("_", " ") in text]

    def live(self, name: str, about: str = "") -> list[str]:
        """The strings of this world that best fit an argument of this name."""
        if (name, about) not in self._live:
            self._live[name, about] = self._find(name, about)
        return self._live[name, about]

    def _find(self, name: str, about: str) -> list[str]:
        keys = [key for noun in self.nouns(name, about) for key in self.keys[noun]]
        same = [value for value in self.fields.get(name, ()) if isinstance(value, str)]
        if name.endswith("_id"):
            return keys or same or list(self.by_key)
        last = name.rpartition("_")[2]
        tail = [value for value in self.fields.get(last, ()) if isinstance(value, str)]
        return same or keys or tail or [*self.natural, *self.words] or list(self.by_key)


def _prefix(key: str) -> str:
    """The prefix of an id: "acc_" for "acc_4711"."""
    return key[: key.rfind("_") + 1] or key


def _flatten(name: str, value: Any, into: Scalars) -> None:
    if isinstance(value, dict):
        for field, part in value.items():
            _flatten(field, part, into)
    elif isinstance(value, list):
        for part in value:
            _flatten(singular(name), part, into)
    elif value is not None:
        into[folded(name)].append(value)
