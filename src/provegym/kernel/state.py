"""Copy-on-write state: tables of immutable records, with an undo log and a diff.

A table shares its rows with its forks until one of them writes. The keys written since the seed
are its diff. The records replaced during the current call are its undo log. Nothing is deep-copied.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

import msgspec
from msgspec import inspect

from provegym.kernel.errors import Bug, NotFound, Rejected, quote
from provegym.kernel.seed import Seed

ENCODE = msgspec.json.Encoder(decimal_format="number").encode
MAX_EVENTS = 200_000
PLAIN = (str, int, float, Decimal, tuple, date)


class RecordMeta(msgspec.StructMeta):
    """Metaclass of records: JSON leaves out null, false and empty fields, but no other default."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> "RecordMeta":
        """Turn all other defaults into factories.

        msgspec leaves out a plain default by identity, so equal records could have different JSON.
        """
        for field, value in list(namespace.items()):
            empty = value is False or value == "" or value == ()
            if not field.startswith("_") and isinstance(value, PLAIN) and not empty:
                namespace[field] = msgspec.field(default_factory=partial(_same, value))
        return super().__new__(mcs, name, bases, namespace, **config)


class Record(msgspec.Struct, metaclass=RecordMeta, frozen=True, kw_only=True, omit_defaults=True):
    """An immutable row of a table; to change it, put a new record in its place."""


def _same(value: Any) -> Any:
    return value


R = TypeVar("R", bound=Record)


class Spec(NamedTuple):
    """The declaration of a table.

    It has the record type, the id prefix, the key field, the tool that lists the records, and the
    largest number of records.
    """

    record: type[Record]
    prefix: str
    key: str
    look_up: str
    most: int
    name: str = ""

    @property
    def noun(self) -> str:
        """The record type in plain words: MenuItem becomes "menu item"."""
        return _spaced(self.record.__name__)

    def missing(self, key: str) -> NotFound:
        """The error for an unknown key; it names the tool that lists the known ones."""
        hint = f"; {self.look_up} shows the ones there are" if self.look_up else ""
        if self.prefix and not key.startswith(f"{self.prefix}_"):
            hint = f": {self.noun} ids start with '{self.prefix}_'{hint}"
        return NotFound(f"no {self.noun} {quote(key)}{hint}")


@lru_cache(maxsize=1_024)
def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def table(
    record: type[R], prefix: str = "", *, key: str = "id", look_up: str = "", most: int = 2_000
) -> "Table[R]":
    """Declare a table in the body of a State; `add` makes ids with the prefix, as "acc_1204"."""
    return cast("Table[R]", Spec(record, prefix, key, look_up, most))


Fields = dict[str, Any] | None


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record that was created, updated or removed; an update holds only changed fields."""

    server: str
    table: str
    key: str
    before: Fields = None
    after: Fields = None


class Written(NamedTuple):
    """An entry of the undo log: the old record and the old id counter.

    For a removed record, `rows` and `late` hold the old order, so that undoing restores it.
    """

    table: str
    key: str
    old: Record | None
    next: int
    rows: dict[str, Any] | None
    late: dict[str, None]


Undo = list[Written]


class Table(Generic[R]):
    """Records by key in insertion order, shared with other sessions until the first write."""

    __slots__ = ("_base", "_changed", "_late", "_next", "_owned", "_rows", "_spec", "_undo")

    def __init__(self, spec: Spec, undo: Undo, start: int) -> None:
        self._spec = spec
        self._undo = undo
        self._next = start
        self._base: dict[str, R] = {}
        self._rows: dict[str, R] = {}
        self._changed: set[str] = set()
        self._late: dict[str, None] = {}
        self._owned = True

    def __getitem__(self, key: str) -> R:
        row = self._rows.get(key)
        if row is None:
            raise self._spec.missing(key)
        return row

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows.values())

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> Iterable[str]:
        """The keys in insertion order."""
        return self._rows.keys()

    def get(self, key: str) -> R | None:
        """The record of a key, or None."""
        return self._rows.get(key)

    def where(self, **fields: object) -> list[R]:
        """The records whose fields have these values."""
        found: Iterable[R] = self._rows.values()
        for name, value in fields.items():
            found = [row for row in found if getattr(row, name) == value]
        return list(found)

    def add(self, **fields: Any) -> R:
        """Create a record with the next id; ids are counted and never reused."""
        number = self._next
        row = cast("R", self._spec.record(id=f"{self._spec.prefix}_{number}", **fields))
        self.put(row)
        self._next = number + 1
        return row

    def put(self, row: R) -> R:
        """Insert a record, or replace the record with the same key."""
        key: str = getattr(row, self._spec.key)
        self._own()
        rows = self._rows
        old = rows.get(key)
        if old is None and len(rows) >= self._spec.most:
            raise Rejected(f"this world holds no more than {len(rows)} {self._spec.noun} records")
        self._undo.append(Written(self._spec.name, key, old, self._next, None, self._late))
        if old is None:
            self._late[key] = None
        rows[key] = row
        self._changed.add(key)
        return row

    def update(self, key: str, **fields: Any) -> R:
        """Replace some fields of a record."""
        return self.put(msgspec.structs.replace(self[key], **fields))

    def remove(self, key: str) -> None:
        """Remove a record; undoing this also restores its position."""
        old = self[key]
        self._own()
        before = self._rows
        self._undo.append(Written(self._spec.name, key, old, self._next, before, self._late))
        self._rows, self._late = before.copy(), self._late.copy()
        self._late.pop(key, None)
        del self._rows[key]
        self._changed.add(key)

    def _own(self) -> None:
        if not self._owned:
            self._rows = self._rows.copy()
            self._changed = self._changed.copy()
            self._late = self._late.copy()
            self._owned = True

    def unwrite(self, written: Written) -> None:
        """Undo the newest write."""
        if written.rows is not None:
            self._rows, self._late = written.rows, written.late
        elif written.old is None:
            del self._rows[written.key], self._late[written.key]
        else:
            self._rows[written.key] = cast("R", written.old)
        self._next = written.next

    def fork(self, undo: Undo) -> "Table[R]":
        """An independent copy-on-write copy: neither side sees the other's later writes."""
        twin: Table[R] = Table.__new__(Table)
        twin._spec, twin._undo, twin._next = self._spec, undo, self._next
        twin._base, twin._rows = self._base, self._rows
        twin._changed, twin._late = self._changed, self._late
        twin._owned = self._owned = False
        return twin

    def freeze(self) -> None:
        """Make the current rows the base of later diffs."""
        self._base, self._changed, self._late, self._owned = self._rows, set(), {}, False

    def tail(self) -> tuple[int, list[str]]:
        """The next id number, and the keys added since the seed in insertion order."""
        return self._next, list(self._late)

    def seeded(self) -> Iterable[R]:
        """The records of the seeded state."""
        return self._base.values()

    def touched(self) -> Iterator[tuple[str, R | None, R | None]]:
        """The key, seeded record and current record of each difference, in key order."""
        for key in sorted(self._changed):
            before, after = self._base.get(key), self._rows.get(key)
            if before != after:
                yield key, before, after


class State:
    """The state of one server in one session: a clock and tables."""

    tables: ClassVar[dict[str, Spec]] = {}
    now: datetime

    def __init_subclass__(cls) -> None:
        specs = {name: spec for name, spec in vars(cls).items() if isinstance(spec, Spec)}
        cls.tables = {name: spec._replace(name=name) for name, spec in specs.items()}
        for spec in cls.tables.values():
            if not _is_immutable(inspect.type_info(spec.record)):
                raise TypeError(
                    f"{spec.record.__name__} must be immutable: use tuples and frozen structs, "
                    "not lists or dicts"
                )

    def __init__(self, seed: Seed) -> None:
        self.now = seed.now
        self.undo: Undo = []
        self.origin = ""
        for name, spec in self.tables.items():
            setattr(self, name, Table(spec, self.undo, seed.random.randrange(1_000, 90_000)))

    def check(self) -> None:
        """Assert the invariants of this state."""

    def next_event(self) -> datetime | None:
        """The time of the next scheduled event, or None."""
        return None

    def happen(self) -> None:
        """Run the events that are due now."""

    def pass_time(self, minutes: int) -> None:
        """Move the clock, stopping at each event, so that an event sees the time it is due."""
        until = self.now + timedelta(minutes=minutes)
        for _ in range(MAX_EVENTS):
            due = self.next_event()
            if due is None or due > until:
                self.now = until
                self.undo.clear()
                return
            self.now = max(self.now, due)
            self.happen()
        raise Bug(f"{type(self).__name__} had more than {MAX_EVENTS} events in {minutes} minutes")

    def fork(self) -> Self:
        """An independent copy-on-write copy, for another session."""
        twin = type(self).__new__(type(self))
        undo: Undo = []
        mine = self.__dict__
        fields = {name: mine[name].fork(undo) for name in self.tables}
        fields["now"], fields["undo"], fields["origin"] = self.now, undo, self.origin
        twin.__dict__ = fields
        return twin

    def freeze(self) -> Self:
        """Make this the state that sessions start from and diffs are taken against."""
        self.origin = ""
        self.origin = self.digest()
        for name in self.tables:
            self.__dict__[name].freeze()
        self.undo.clear()
        return self

    def rollback(self) -> None:
        """Undo every write since the log was last cleared, newest first."""
        while self.undo:
            written = self.undo.pop()
            self.__dict__[written.table].unwrite(written)

    def diff(self, server: str) -> list[Change]:
        """The records that differ from the seed."""
        return [
            Change(server, name, key, *_fields(before, after))
            for name in self.tables
            for key, before, after in self.__dict__[name].touched()
        ]

    def changes(self, server: str) -> list[Change]:
        """The records changed since the undo log was last cleared, that is, by the last call."""
        first: dict[tuple[str, str], Written] = {}
        for written in self.undo:
            first.setdefault((written.table, written.key), written)
        return [
            Change(server, name, key, *_fields(written.old, after))
            for (name, key), written in first.items()
            if (after := self.__dict__[name].get(key)) != written.old
        ]

    def digest(self) -> str:
        """A hash of the records, their order, the clock and the next ids."""
        rows = [
            (n, key, after) for n in self.tables for key, _, after in self.__dict__[n].touched()
        ]
        tails = [self.__dict__[name].tail() for name in self.tables]
        return blake2b(ENCODE((self.origin, self.now, tails, rows)), digest_size=16).hexdigest()

    def size(self) -> int:
        """The number of records."""
        return sum(len(self.__dict__[name]) for name in self.tables)


def _fields(before: Record | None, after: Record | None) -> tuple[Fields, Fields]:
    old, new = (
        None if row is None else msgspec.json.decode(ENCODE(row)) for row in (before, after)
    )
    if old is not None and new is not None:
        names = [name for name in old | new if old.get(name) != new.get(name)]
        old, new = ({name: row[name] for name in names if name in row} for row in (old, new))
    return old, new


SCALARS = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.DecimalType,
    inspect.DateTimeType,
    inspect.DateType,
    inspect.LiteralType,
)


def _is_immutable(kind: inspect.Type, seen: frozenset[object] = frozenset()) -> bool:
    """Whether a type consists only of scalars, tuples and frozen structs."""
    if isinstance(kind, inspect.Metadata):
        return _is_immutable(kind.type, seen)
    if isinstance(kind, inspect.StructType):
        if kind.cls in seen:
            return True
        return kind.cls.__struct_config__.frozen and all(
            _is_immutable(field.type, seen | {kind.cls}) for field in kind.fields
        )
    if isinstance(kind, inspect.UnionType):
        return all(_is_immutable(member, seen) for member in kind.types)
    if isinstance(kind, inspect.TupleType):
        return all(_is_immutable(member, seen) for member in kind.item_types)
    if isinstance(kind, inspect.VarTupleType):
        return _is_immutable(kind.item_type, seen)
    return isinstance(kind, SCALARS)
