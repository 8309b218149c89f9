"""Worlds that cost nothing to copy: frozen records in copy-on-write tables.

A table shares its rows with every fork until one of them writes. The keys it wrote since the seed
are its diff; what it replaced during the present call is its undo log. Nothing is deep-copied.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
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
    """Lets JSON leave out what says nothing (null, false, empty), and no other default."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> "RecordMeta":
        """Make the other defaults factories: msgspec leaves a plain default out by identity.

        Of two equal records one could show a zero and the other not, and hide a status.
        """
        for field, value in list(namespace.items()):
            empty = value is False or value == "" or value == ()
            if not field.startswith("_") and isinstance(value, PLAIN) and not empty:
                namespace[field] = msgspec.field(default_factory=partial(_same, value))
        return super().__new__(mcs, name, bases, namespace, **config)


class Record(msgspec.Struct, metaclass=RecordMeta, frozen=True, kw_only=True, omit_defaults=True):
    """One thing a world knows; to change it, put a new one in its place."""


def _same(value: Any) -> Any:
    return value


R = TypeVar("R", bound=Record)


class Spec(NamedTuple):
    """How a table is declared: record type, id prefix, key field, the tool that lists it, a cap."""

    record: type[Record]
    prefix: str
    key: str
    look_up: str
    most: int
    name: str = ""

    @property
    def noun(self) -> str:
        """What people call one of these: MenuItem becomes "menu item"."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.record.__name__).lower()

    def missing(self, key: str) -> NotFound:
        """Say that a key is unknown and where the known ones are to be had."""
        hint = f"; {self.look_up} shows the ones there are" if self.look_up else ""
        if self.prefix and not key.startswith(f"{self.prefix}_"):
            hint = f": {self.noun} ids start with '{self.prefix}_'{hint}"
        return NotFound(f"no {self.noun} {quote(key)}{hint}")


def table(
    record: type[R], prefix: str = "", *, key: str = "id", look_up: str = "", most: int = 2_000
) -> "Table[R]":
    """Declare a table in the body of a State; `add` counts ids with its prefix ("acc_1204")."""
    return cast("Table[R]", Spec(record, prefix, key, look_up, most))


Fields = dict[str, Any] | None


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record that differs from the seed; of an update, only the fields that changed."""

    server: str
    table: str
    key: str
    before: Fields = None
    after: Fields = None


class Written(NamedTuple):
    """A write of the present call: what stood there, and how to go back.

    `rows` and `late` are kept where a record was taken away, so that undoing restores its place.
    """

    table: str
    key: str
    old: Record | None
    next: int
    rows: dict[str, Any] | None
    late: dict[str, None]


Undo = list[Written]


class Table(Generic[R]):
    """Records by key, in the order they came, shared with other sessions until the first write."""

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
        """The keys, in the order their records came."""
        return self._rows.keys()

    def get(self, key: str) -> R | None:
        """The record of a key, or None."""
        return self._rows.get(key)

    def where(self, **fields: object) -> list[R]:
        """The records whose fields equal these."""
        found: Iterable[R] = self._rows.values()
        for name, value in fields.items():
            found = [row for row in found if getattr(row, name) == value]
        return list(found)

    def add(self, **fields: Any) -> R:
        """Make a record with the next id; ids are counted and never used twice."""
        number = self._next
        row = cast("R", self._spec.record(id=f"{self._spec.prefix}_{number}", **fields))
        self.put(row)
        self._next = number + 1
        return row

    def put(self, row: R) -> R:
        """Put a record in the place of the one with its key, or as a new one."""
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
        """Take a record away; undoing it restores its place in the order as well."""
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
        """A table that goes its own way from here; neither side sees the other's later writes."""
        twin: Table[R] = Table.__new__(Table)
        twin._spec, twin._undo, twin._next = self._spec, undo, self._next
        twin._base, twin._rows = self._base, self._rows
        twin._changed, twin._late = self._changed, self._late
        twin._owned = self._owned = False
        return twin

    def freeze(self) -> None:
        """Make the present rows the ones that diffs are taken against."""
        self._base, self._changed, self._late, self._owned = self._rows, set(), {}, False

    def tail(self) -> tuple[int, list[str]]:
        """The next number, and the keys that came since the seed, in the order they stand."""
        return self._next, list(self._late)

    def seeded(self) -> Iterable[R]:
        """The records the world started with."""
        return self._base.values()

    def touched(self) -> Iterator[tuple[str, R | None, R | None]]:
        """Key, seeded and present record of whatever differs from the seed, in key order."""
        for key in sorted(self._changed):
            before, after = self._base.get(key), self._rows.get(key)
            if before != after:
                yield key, before, after


class State:
    """What one server knows in one session: a clock and tables."""

    tables: ClassVar[dict[str, Spec]] = {}
    now: datetime

    def __init_subclass__(cls) -> None:
        specs = {name: spec for name, spec in vars(cls).items() if isinstance(spec, Spec)}
        cls.tables = {name: spec._replace(name=name) for name, spec in specs.items()}
        for spec in cls.tables.values():
            if not _is_immutable(inspect.type_info(spec.record)):
                raise TypeError(
                    f"{spec.record.__name__} may hold tuples and structs, no list or dict"
                )

    def __init__(self, seed: Seed) -> None:
        self.now = seed.now
        self.undo: Undo = []
        self.origin = ""
        for name, spec in self.tables.items():
            setattr(self, name, Table(spec, self.undo, seed.random.randrange(1_000, 90_000)))

    def check(self) -> None:
        """Assert what is true of this world at any moment."""

    def next_event(self) -> datetime | None:
        """When something is next due to happen by itself, if anything is."""
        return None

    def happen(self) -> None:
        """Let happen what is due at this moment."""

    def pass_time(self, minutes: int) -> None:
        """Move the clock, stopping at each event on the way so that every one sees its own time."""
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
        """The same world in a session of its own."""
        twin = type(self).__new__(type(self))
        undo: Undo = []
        mine = self.__dict__
        fields = {name: mine[name].fork(undo) for name in self.tables}
        fields["now"], fields["undo"], fields["origin"] = self.now, undo, self.origin
        twin.__dict__ = fields
        return twin

    def freeze(self) -> Self:
        """Make this the world that sessions start from."""
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
        """The records that differ from before the log was last cleared: what one call did."""
        first: dict[tuple[str, str], Written] = {}
        for written in self.undo:
            first.setdefault((written.table, written.key), written)
        return [
            Change(server, name, key, *_fields(written.old, after))
            for (name, key), written in first.items()
            if (after := self.__dict__[name].get(key)) != written.old
        ]

    def digest(self) -> str:
        """A fingerprint: equal for worlds with the same records, order, clock and next ids."""
        rows = [
            (n, key, after) for n in self.tables for key, _, after in self.__dict__[n].touched()
        ]
        tails = [self.__dict__[name].tail() for name in self.tables]
        return blake2b(ENCODE((self.origin, self.now, tails, rows)), digest_size=16).hexdigest()

    def size(self) -> int:
        """How many records there are."""
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
    """Whether a type holds scalars, tuples and frozen structs alone."""
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
