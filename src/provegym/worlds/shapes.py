"""The types of a spec: of its fields, arguments and formulas, and the names of its tables."""

import re
from typing import NamedTuple

from provegym.kernel import State
from provegym.worlds.spec import Entity, Field, SpecError, WorldSpec

KIND_TYPES = {"name": "text", "code": "text", "enum": "text"}
DEEPEST_COPY = 6
# A result has at most 4,096 bytes, so the texts of one record share that room. A character has at
# most four bytes: control characters, which need six in JSON, are never stored.
ROOM, BYTES = 3_800, 4
LONGEST = {"name": 80, "code": 80, "text": 160}
SHORTEST = 24
SIZES = {"number": 12, "money": 16, "date": 12, "time": 34, "flag": 6, "key": 18}


class Type(NamedTuple):
    """The type of a value: text, number, money, date, time, duration, flag, key or nothing.

    A key or a record has an entity. `optional` values may be null. A text of an enum has `values`;
    any other has at most `longest` characters. A `wide` number may be too large to be stored.
    """

    kind: str
    entity: str = ""
    optional: bool = False
    values: tuple[str, ...] = ()
    longest: int = 0
    wide: bool = False


NOW, NUMBER, MONEY = Type("time"), Type("number"), Type("money")
TEXT, NOTHING = Type("text", longest=80), Type("nothing", optional=True)
DAY, DURATION, FLAG = Type("date"), Type("duration"), Type("flag")


class Shapes:
    """The types of all fields of a spec, by entity and field, and the names of its tables."""

    def __init__(self, spec: WorldSpec) -> None:
        self.spec = spec
        self.entities = {entity.name: entity for entity in spec.entities}
        self.tables = {entity.name: table_name(entity.name) for entity in spec.entities}
        self._types: dict[tuple[str, str], Type] = {}
        self._longest: dict[str, int] = {}

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
        key = entity, name
        if key not in self._types:
            self._types[key] = self._type(entity, name, where, 0)
        return self._types[key]

    def _type(self, entity: str, name: str, where: str, depth: int) -> Type:
        if name == "id":
            return Type("key", entity)
        field = self.field(entity, name, where)
        if depth > DEEPEST_COPY:
            raise SpecError(f"{where}: {entity}.{name} is a copy that leads in a circle or too far")
        if field.kind == "reference":
            return Type("key", field.to, field.empty)
        if field.kind == "copy":
            source, _, rest = field.to.partition(".")
            holder = self.field(entity, source, where)
            if holder.kind != "reference" or not rest:
                raise SpecError(f"{where}: {name} must copy a field such as member_id.name")
            inner = self._type(holder.to, rest, where, depth + 1)
            may_miss = holder.empty and field.start is None
            return inner._replace(optional=may_miss or inner.optional)
        kind = KIND_TYPES.get(field.kind, field.kind)
        longest = 0
        if field.kind in LONGEST:
            longest = min(LONGEST[field.kind], self._room(entity))
        return Type(kind, optional=field.empty, values=field.values, longest=longest)

    def _room(self, entity: str) -> int:
        """How many characters each text of an entity may have, so that a record fits a result."""
        if entity not in self._longest:
            fields = self.entities[entity].fields
            own = sum(field.kind in LONGEST for field in fields)
            # A copy has what its source may have; it is counted as the longest name.
            taken = 40 + sum(
                len(field.name) + 6 + _size(field) for field in fields if field.kind not in LONGEST
            )
            self._longest[entity] = (ROOM - taken) // (BYTES * max(own, 1)) - 12
        return self._longest[entity]

    def size(self, entity: str, where: str) -> int:
        """The largest number of bytes that a record of an entity has as JSON."""
        total = 30
        for field in self.entity(entity, where).fields:
            type_ = self.type(entity, field.name, where)
            longest = max(map(len, type_.values), default=type_.longest)
            texts = BYTES * longest if type_.kind == "text" else SIZES[type_.kind]
            total += len(field.name) + 6 + texts
        return total

    def copies(self, entity: str, names: list[str]) -> list[tuple[Entity, str, Field, str]]:
        """The fields of other entities that copy one of these fields.

        Each with its entity, the reference that it follows, and the field that it copies.
        """
        return [
            (other, source, field, rest)
            for other in self.spec.entities
            for field in other.fields
            if field.kind == "copy"
            for source, _, rest in [field.to.partition(".")]
            if rest in names and self.field(other.name, source, other.name).to == entity
        ]


def _size(field: Field) -> int:
    if field.kind == "copy":
        return BYTES * LONGEST["name"]
    if field.kind == "enum":
        return BYTES * max(map(len, field.values), default=0)
    return SIZES["key" if field.kind == "reference" else field.kind]


def table_name(entity: str) -> str:
    """The name of an entity's table; it must not be the name of a method of a state."""
    plural = f"{entity}es" if re.search(r"(s|x|ch|sh)$", entity) else f"{entity}s"
    if re.search(r"[^aeiou]y$", entity):
        plural = f"{entity[:-1]}ies"
    return f"{plural}_" if plural in ("tables", "changes") or plural in vars(State) else plural


def fits(given: Type, wanted: Type) -> bool:
    """Whether a value of one type can stand where another is wanted."""
    if given.kind == "nothing":
        return wanted.optional
    if wanted.kind == "key":
        return given.kind == "key" and given.entity == wanted.entity
    if wanted.values and not (given.values and {*given.values} <= {*wanted.values}):
        return False
    if given.kind == "key":
        return wanted.kind == "text"
    return given.kind == wanted.kind or (given.kind, wanted.kind) == ("number", "money")


def comparable(one: Type, other: Type) -> bool:
    """Whether values of two types can be compared with each other."""
    if "nothing" in (one.kind, other.kind):
        return one.optional and other.optional
    if one.values and other.values:
        return bool({*one.values} & {*other.values})
    plain = one._replace(values=()), other._replace(values=())
    return fits(*plain) or fits(*reversed(plain))


def named(type_: Type) -> str:
    """A type in words."""
    if type_.kind == "key":
        return f"the id of a {type_.entity}"
    if type_.values:
        return f"one of {', '.join(type_.values)}"
    words = {
        "money": "an amount of money",
        "flag": "true or false",
        "duration": "a duration",
        "nothing": "nothing",
    }
    return words.get(type_.kind, f"a {type_.kind}")
