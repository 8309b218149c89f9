"""The spec of a world: entities, operations, events and invariants as immutable structs.

A spec is read from TOML or JSON. It has entities with fields and the way a seed draws them,
operations with guards and effects, events of time, invariants, and the words of users and replies.
Nothing in it is run as code: a value is a literal or a small formula (`formula.py`). `plain.py`
says how large and how deep the data of a spec may be.
"""

from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import msgspec

from provegym.worlds.plain import SpecError as SpecError
from provegym.worlds.plain import check_plain, read_bytes, read_text

Scalar = str | int | float | bool
# A literal, or a formula: a text that starts with "$" or "=".
Value = Scalar
Where = dict[str, Value | tuple[Scalar, ...]]

FieldKind = Literal[
    "name", "text", "code", "number", "money", "date", "time", "enum", "flag", "reference", "copy"
]
OperationKind = Literal[
    "search",
    "get",
    "report",
    "create",
    "update",
    "remove",
    "transition",
    "transfer",
    "reserve",
    "assign",
    "link",
    "post",
    "cancel",
]
Rule = Literal[
    "status", "balance", "capacity", "quota", "owner", "window", "unique", "dependency", "different"
]
READS = ("search", "get", "report")
DESTRUCTIVE = ("remove", "cancel")


class SpecPart(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Base class of the parts of a spec."""


class Field(SpecPart, frozen=True, kw_only=True):
    """A field of an entity, and how a seed draws it.

    - `name`: a text that no other record has, drawn from `words`
    - `text`: one of `words`; `{person}` is somebody of this world, `{me}` the acting user
    - `code`: like a name, made of a pattern in `words`: `#` is a digit, `@` a capital letter
    - `number`, `money`: from `low` to `high`
    - `date`, `time`: from `low` to `high` days after the start of the world
    - `enum`: one of `values`; `weights` say how often a seed draws each
    - `flag`: true in `share` of the records, or in exactly `exactly` of them
    - `reference`: the id of a record of the entity `to`
    - `copy`: a field of the record that a reference points to, such as `member_id.name`

    A field that may be `empty` has no value in `1 - share` of the seeded records. `start` is the
    value of a new record if no effect sets one; a seed uses it too if nothing else can be drawn,
    and a copy if its reference is empty.
    """

    name: str
    kind: FieldKind
    words: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    weights: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    share: float = 0.5
    exactly: int | None = None
    to: str = ""
    empty: bool = False
    start: Value | None = None


class Entity(SpecPart, frozen=True, kw_only=True):
    """A kind of record: `count` of them are drawn; the others come from the world's history.

    `refer` are the names that users give a record, as in asks.toml: "the loan of {item_name}".
    `call` is the word for one of them. `about` says what a record is; the model reads it.
    """

    name: str
    prefix: str
    about: str = ""
    fields: tuple[Field, ...]
    count: int = 0
    most: int = 500
    refer: tuple[str, ...] = ()
    call: str = ""


class Test(SpecPart, frozen=True, kw_only=True):
    """A condition on a value: a formula, the count of records, or the sum of a field over them.

    `count` names an entity and `sum` a field of one ("loan.days"); `where` chooses the records.
    The value is compared with `is_`, `is_not`, `least`, `most`, `over` or `under`.
    """

    of: Value | None = None
    count: str = ""
    sum: str = ""
    where: Where = {}
    is_: Value | tuple[Scalar, ...] | None = msgspec.field(default=None, name="is")
    is_not: Value | tuple[Scalar, ...] | None = None
    least: Value | None = None
    most: Value | None = None
    over: Value | None = None
    under: Value | None = None


class Let(SpecPart, frozen=True, kw_only=True):
    """A named value of an operation or event, computed before its guards and effects.

    It is a formula (`of`), the `first` record of an entity, the `count` of records or the `sum` of
    a field over them; `where` chooses the records. If the tests of `when` do not all hold, it is
    `otherwise`, by default nothing.
    """

    name: str
    of: Value | None = None
    first: str = ""
    count: str = ""
    sum: str = ""
    where: Where = {}
    when: tuple[Test, ...] = ()
    otherwise: Value | None = None


class Argument(SpecPart, frozen=True, kw_only=True):
    """An argument of a tool: the id of a record `of` an entity, or a value of some kind.

    In a search, `filter` is the field that it filters by; `test` is how: by default a text must
    contain it, and any other value must be equal to it; `on` is the day of a time. A flag of a
    search has `tests` instead: if it is true, only records are listed for which they hold; `$row`
    is the record. An argument is required unless it filters, is `optional`, or has a `default`; a
    filter can be `required` too. `make` are values that users make up.
    """

    name: str
    about: str
    of: str = ""
    kind: Literal["name", "text", "number", "money", "date", "time", "enum", "flag", ""] = ""
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    filter: str = ""
    test: Literal["", "least", "most", "on"] = ""
    tests: tuple[Test, ...] = ()
    required: bool = False
    optional: bool = False
    default: Scalar | None = None
    sensitive: bool = False
    make: tuple[Scalar, ...] | dict[str, tuple[int, ...]] = ()


class OperationGuard(Test, frozen=True, kw_only=True):
    """A rule that refuses a call unless its test holds; `says` is the sentence of the refusal.

    The rule `owner` denies, the others reject. A guard with `when` counts only if all those tests
    hold. In `says`, {item_id.name} is a value, {value} the tested one. A time is said to the
    minute; {loan_id.due_at:full} has seconds and zone.
    """

    rule: Rule
    says: str
    when: tuple[Test, ...] = ()
    denies: bool = False


class Effect(SpecPart, frozen=True, kw_only=True):
    """A change: `add` a record, `change` or `remove` one, or change `each` record `where` …

    `set` gives the fields. A record that is added can be named later by its entity: `$loan`.
    """

    add: str = ""
    change: str = ""
    remove: str = ""
    each: str = ""
    where: Where = {}
    set: dict[str, Value] = {}
    when: tuple[Test, ...] = ()


class Join(SpecPart, frozen=True, kw_only=True):
    """A list of other records in the result of `get`: those that point to the record by `by`."""

    name: str
    entity: str
    by: str
    where: Where = {}


class Figure(SpecPart, frozen=True, kw_only=True):
    """A figure of a report: the count of records, or the sum of a field over them."""

    name: str
    count: str = ""
    sum: str = ""
    where: Where = {}


class Operation(SpecPart, frozen=True, kw_only=True):
    """A tool: what it does to which entity, its arguments, guards, effects and words.

    A search lists the records `where` …, in the order of a field (`-field` for the largest first)
    or `newest` first. `returns` names the record that a write returns: an argument or an entity
    that was added. `asks`, `short`, `did` and `told` are as in asks.toml. A `hidden` operation is
    no tool: only the past calls it, for what other people did.
    """

    tool: str
    kind: OperationKind
    about: str
    entity: str
    hidden: bool = False
    arguments: tuple[Argument, ...] = ()
    where: Where = {}
    order: str = ""
    joins: tuple[Join, ...] = ()
    figures: tuple[Figure, ...] = ()
    let: tuple[Let, ...] = ()
    guards: tuple[OperationGuard, ...] = ()
    effects: tuple[Effect, ...] = ()
    returns: str = ""
    asks: tuple[str, ...] = ()
    short: dict[str, tuple[str, ...]] = {}
    did: str | dict[str, Any] = ""
    told: dict[str, Any] = {}


class Event(SpecPart, frozen=True, kw_only=True):
    """What happens to records by the passing of time: at the time in field `at`, if `where` holds.

    In its effects, `$row` is the record. They must change a field of it, so that it happens once.
    Events of one entity that follow each other are tried in their order: of those that are due for
    a record, only the first happens.
    """

    entity: str
    at: str
    where: Where = {}
    let: tuple[Let, ...] = ()
    effects: tuple[Effect, ...]


class Invariant(Test, frozen=True, kw_only=True):
    """A test that holds for every record of an entity at all times; `$row` is the record."""

    entity: str
    only: Where = {}
    let: tuple[Let, ...] = ()


class Past(SpecPart, frozen=True, kw_only=True):
    """An operation that a seed carries out at random times in the past, if no rule refuses it.

    `given` restricts the values of arguments.
    """

    tool: str
    times: int
    given: dict[str, tuple[Scalar, ...]] = {}


class WorldSpec(SpecPart, frozen=True, kw_only=True):
    """A whole world as data.

    `days` is the length of its past. `lists` are word lists that `words` can name in braces.
    `words` are further tables of asks.toml (new, say, question, slots, fields, relation, reply …).
    `kin` are servers that could serve the same requests.
    """

    name: str
    about: str
    category: str = "drawn"
    version: int = 1
    source: str = "by hand"
    kin: tuple[str, ...] = ()
    entities: tuple[Entity, ...]
    operations: tuple[Operation, ...]
    events: tuple[Event, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    days: int = 30
    past: tuple[Past, ...] = ()
    lists: dict[str, tuple[str, ...]] = {}
    words: dict[str, Any] = {}

    def entity(self, name: str) -> Entity:
        """An entity by name."""
        return next(entity for entity in self.entities if entity.name == name)

    def operation(self, tool: str) -> Operation:
        """An operation by the name of its tool."""
        return next(operation for operation in self.operations if operation.tool == tool)

    def hash(self) -> str:
        """A hash of the whole spec: equal specs make equal worlds.

        It is the hash of the spec as it is read from JSON, where 1 and 1.0 are the same bound.
        """
        as_read = msgspec.json.decode(msgspec.json.encode(self), type=WorldSpec)
        return blake2b(msgspec.json.encode(as_read), digest_size=12).hexdigest()


def parse(text: str | bytes, where: str = "the spec") -> WorldSpec:
    """Read a spec from TOML or JSON text; raises SpecError with one sentence if it is wrong."""
    return convert(read_text(text, where), where)


def convert(data: Any, where: str = "the spec") -> WorldSpec:
    """A spec from plain data."""
    check_plain(data, where)
    try:
        return msgspec.convert(data, WorldSpec)
    except msgspec.ValidationError as problem:
        raise SpecError(f"{where}: {problem}") from None


def read(file: Path) -> WorldSpec:
    """Read a spec from a file."""
    return parse(read_bytes(file), file.name)
