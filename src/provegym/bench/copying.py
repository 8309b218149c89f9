"""Copies the records of one world into the tables of another, as far as their fields exist there.

A spec that was made from a schema has some of the tables and fields of the real server. What has no
counterpart is left out; a field that the real record lacks gets a neutral value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import inspect

from provegym.kernel import AnyServer, Record, Seed, Session, State
from provegym.servers import people
from provegym.worlds.schemas import nouns
from provegym.worlds.shapes import table_name
from provegym.worlds.spec import Entity, Field, WorldSpec

MOST_RECORDS = 100_000
TEXTS = ("name", "text", "code", "enum", "reference")
TEXT_TYPES = (inspect.StrType, inspect.LiteralType)
NUMBER_TYPES = (inspect.IntType, inspect.FloatType, inspect.DecimalType)
TYPES: dict[str, tuple[Any, ...]] = {
    "number": (inspect.IntType,),
    "money": NUMBER_TYPES,
    "flag": (inspect.BoolType,),
    "date": (inspect.DateType,),
    "time": (inspect.DateTimeType,),
}


@dataclass(frozen=True)
class EntityMatch:
    """An entity of a spec and the table of the real server that holds the same records.

    `fields` are the names of real fields by the names of those of the spec.
    """

    entity: Entity
    table: str
    key: str
    fields: Mapping[str, str]

    @property
    def held(self) -> str:
        """The name of the entity's table in the state of the spec's server."""
        return table_name(self.entity.name)


def match_entity(entity: Entity, real: AnyServer, table: str) -> EntityMatch:
    """Match the fields of an entity with those of a table by name and type."""
    declared = real.state.tables[table]
    known = {part.name: part.type for part in msgspec.structs.fields(declared.record)}
    found = {}
    for each in entity.fields:
        name = same_name(each.name, entity.name, known)
        if name and _fits(each, known[name]):
            found[each.name] = name
    return EntityMatch(entity, table, declared.key, found)


def same_name(name: str, noun: str, known: Mapping[str, Any]) -> str:
    """The name among the known ones that a name of a spec was made from, or ""."""
    if name in known:
        return name
    for other in known:
        if name in (nouns.plain(other, noun), f"{noun}_{other}") or other == f"{noun}_{name}":
            return other
    return ""


def _fits(each: Field, kind: Any) -> bool:
    """Whether values of a type can be the values of a field."""
    types = inspect.type_info(kind)
    members = types.types if isinstance(types, inspect.UnionType) else (types,)
    plain = [each.type if isinstance(each, inspect.Metadata) else each for each in members]
    known = [type(each) for each in plain if not isinstance(each, inspect.NoneType)]
    return len(known) == 1 and known[0] in TYPES.get(each.kind, TEXT_TYPES)


@dataclass
class Copier:
    """Keeps the world of a spec's server equal to a real world; each record is converted once."""

    server: AnyServer
    spec: WorldSpec
    real: AnyServer
    matches: Mapping[str, EntityMatch]
    made: dict[int, tuple[Record, dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = self.server.state.tables
        self.server.state.tables = {
            name: declared._replace(most=MOST_RECORDS) for name, declared in tables.items()
        }

    def session(self, real: Session) -> Session:
        """A session of the spec's server on the records that the real one has now."""
        world, seed = real.state(self.real), Seed(real.seed, self.real.name)
        state = self.server.state(seed)
        state.now, state.me = world.now, people.acting_user(seed).name
        values = {name: self._values(each, world) for name, each in self.matches.items()}
        for name, rows in values.items():
            match = self.matches[name]
            table = getattr(state, match.held)
            record = state.tables[match.held].record
            for key, row in rows.items():
                copies = self._copies(match.entity, row, values)
                table.put(record(id=key, **{**row, **copies}))
            table._next = getattr(world, match.table).tail()[0]
        return Session.over(self.server, state)

    def _values(self, match: EntityMatch, world: State) -> dict[str, dict[str, Any]]:
        """The fields of the records of one entity, by their keys."""
        found = {}
        for row in getattr(world, match.table):
            known = self.made.get(id(row))
            if known is None:
                held = msgspec.structs.asdict(row)
                given = {
                    each.name: _value(each, held.get(match.fields.get(each.name, "")))
                    for each in match.entity.fields
                }
                known = self.made[id(row)] = (row, given)
            found[getattr(row, match.key)] = known[1]
        return found

    def _copies(
        self, entity: Entity, row: dict[str, Any], values: Mapping[str, dict[str, dict[str, Any]]]
    ) -> dict[str, Any]:
        """What a record copies from others, if the real record does not say it itself."""
        found = {}
        for each in entity.fields:
            if each.kind != "copy" or row[each.name] is not None:
                continue
            held: Any = row
            at = entity
            for step in each.to.split("."):
                source = next(f for f in at.fields if f.name == step)
                held = held.get(step) if held else None
                if source.kind == "reference":
                    at = self.spec.entity(source.to)
                    held = values.get(source.to, {}).get(held)
            found[each.name] = held if held is not None else ""
        return found


def _value(each: Field, value: Any) -> Any:
    """A real value as the value of a field; a neutral one if there is none."""
    if value is None:
        return None if each.empty or each.kind == "copy" else _neutral(each)
    if each.kind == "money":
        return Decimal(str(value))
    return value


def _neutral(each: Field) -> Any:
    """A value for a field that the real record does not have."""
    start = each.start
    if each.kind in TEXTS:
        is_plain = isinstance(start, str) and not start.startswith(("$", "="))
        return start if is_plain else (each.values or ("",))[0]
    if each.kind == "flag":
        return False
    if each.kind in ("date", "time"):
        return date(2000, 1, 1) if each.kind == "date" else datetime.fromisoformat("2000-01-01T00Z")
    zero = start if isinstance(start, int | float) else 0
    return Decimal(str(zero)) if each.kind == "money" else int(zero)
