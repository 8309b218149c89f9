"""Sketches: what a database schema or an API description says of a world, in one form for both.

A reader (`from_sql.py`, `from_openapi.py`) makes a sketch. It has no words, no drawn values and no
tools yet; `drafting.py` turns it into a `WorldSpec`.
"""

from typing import Literal

import msgspec

from provegym.worlds.spec import Scalar

PropertyKind = Literal[
    "text", "number", "money", "date", "time", "enum", "flag", "reference", "unknown"
]
Deed = Literal["list", "get", "create", "update", "remove"]
DEEDS: tuple[Deed, ...] = ("list", "get", "create", "update", "remove")
# The default of a column that takes the time of its creation.
NOW = "now()"


class Property(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table, or a property of a schema.

    `to` is the subject that a reference points to. A property without a value may be left `empty`.
    """

    name: str
    kind: PropertyKind
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    default: Scalar | None = None
    empty: bool = False
    unique: bool = False
    to: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two properties of the same record that must stand in an order, such as start and end."""

    left: str
    test: Literal["least", "most", "over", "under"]
    right: str


class TriggerEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a new or removed record changes: a number of the record that `by` points to.

    It grows or shrinks by `amount`: a number, or the name of a property of the record.
    """

    on: Literal["create", "remove"]
    by: str
    property: str
    sign: Literal["+", "-"]
    amount: str | int


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A verb that sets a status, such as `cancel`: the property and the value it then has."""

    verb: str
    property: str
    value: str


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of record: a table, or a resource of an API.

    `key` are the properties of the primary key, `unique` further groups of properties that no two
    records share. `filters` and `updates` are properties that a source names; empty means any.
    """

    name: str
    properties: tuple[Property, ...]
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    effects: tuple[TriggerEffect, ...] = ()
    moves: tuple[Move, ...] = ()
    deeds: tuple[Deed, ...] = DEEDS
    filters: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()

    def get(self, name: str) -> Property | None:
        """A property by name."""
        return next((each for each in self.properties if each.name == name), None)

    @property
    def references(self) -> tuple[Property, ...]:
        """The properties that point to other records."""
        return tuple(each for each in self.properties if each.kind == "reference")

    @property
    def is_link(self) -> bool:
        """Whether this is a join table: it only says that two records belong together."""
        pairs = [each for each in self.references if each.name in self.key]
        others = [p for p in self.properties if p not in pairs and not p.empty]
        bare = all(p.default is not None or p.kind in ("time", "date") for p in others)
        return len(pairs) == 2 and len(self.key) == 2 and bare and len(self.properties) <= 4


class Sketch(msgspec.Struct, frozen=True, kw_only=True):
    """All subjects of a source."""

    name: str
    about: str
    source: str
    subjects: tuple[Subject, ...]
