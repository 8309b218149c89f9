"""The spec of a world: entities, operations, events and invariants as immutable structs.

A spec is read from TOML or JSON. It has entities with fields and the way a seed draws them,
operations with guards and effects, events of time, invariants, and the words of users and replies.
Nothing in it is run as code: a value is a literal or a small formula (`formula.py`).
"""

import tomllib
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import msgspec

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
MAX_BYTES = 400_000


class SpecError(ValueError):
    """A spec is wrong; the message is one sentence that says where and why."""


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
    - `flag`: true in `share` of the records
    - `reference`: the id of a record of the entity `to`
    - `copy`: a field of the record that a reference points to, such as `member_id.name`

    A field that may be `empty` has no value in `1 - share` of the seeded records. `start` is the
    value of a new record if no effect sets one; a seed uses it too if nothing else can be drawn.
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
    to: str = ""
    empty: bool = False
    start: Value | None = None


class Entity(SpecPart, frozen=True, kw_only=True):
    """A kind of record: `count` of them are drawn; the others come from the world's history.

    `refer` are the names that users give a record, as in asks.toml: "the loan of {item_name}".
    `call` is the word for one of them.
    """

    name: str
    prefix: str
    fields: tuple[Field, ...]
    count: int = 0
    most: int = 500
    refer: tuple[str, ...] = ()
    call: str = ""


class Argument(SpecPart, frozen=True, kw_only=True):
    """An argument of a tool: the id of a record `of` an entity, or a value of some kind.

    In a search, `filter` is the field that it filters by; `test` is how: by default a text must
    contain it, and any other value must be equal to it. An argument is required unless it filters,
    is `optional`, or has a `default`. `make` are values that users make up.
    """

    name: str
    about: str
    of: str = ""
    kind: Literal["name", "text", "number", "money", "date", "time", "enum", "flag", ""] = ""
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    filter: str = ""
    test: Literal["", "least", "most"] = ""
    optional: bool = False
    default: Scalar | None = None
    sensitive: bool = False
    make: tuple[Scalar, ...] | dict[str, tuple[int, ...]] = ()


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


class OperationGuard(Test, frozen=True, kw_only=True):
    """A rule that refuses a call unless its test holds; `says` is the sentence of the refusal.

    The rule `owner` denies, the others reject. A guard with `when` counts only if all those tests
    hold. In `says`, {item_id.name} is a value, {value} the tested one.
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
    that was added. `asks`, `short`, `did` and `told` are as in asks.toml.
    """

    tool: str
    kind: OperationKind
    about: str
    entity: str
    arguments: tuple[Argument, ...] = ()
    where: Where = {}
    order: str = ""
    joins: tuple[Join, ...] = ()
    figures: tuple[Figure, ...] = ()
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
    """

    entity: str
    at: str
    where: Where = {}
    effects: tuple[Effect, ...]


class Invariant(Test, frozen=True, kw_only=True):
    """A test that holds for every record of an entity at all times; `$row` is the record."""

    entity: str
    only: Where = {}


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
        """A hash of the whole spec: equal specs make equal worlds."""
        return blake2b(msgspec.json.encode(self), digest_size=12).hexdigest()


def parse(text: str | bytes, where: str = "the spec") -> WorldSpec:
    """Read a spec from TOML or JSON text; raises SpecError with one sentence if it is wrong."""
    raw = text.encode() if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise SpecError(f"{where}: a spec has at most {MAX_BYTES} bytes, not {len(raw)}")
    try:
        if raw.lstrip()[:1] == b"{":
            return msgspec.json.decode(raw, type=WorldSpec)
        return convert(tomllib.loads(raw.decode()), where)
    except msgspec.ValidationError as problem:
        raise SpecError(f"{where}: {problem}") from None
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SpecError(f"{where} is neither TOML nor JSON: {problem}") from None
    except RecursionError:
        raise SpecError(f"{where} is nested too deeply") from None


def convert(data: dict[str, Any], where: str = "the spec") -> WorldSpec:
    """A spec from plain data."""
    try:
        return msgspec.convert(data, WorldSpec)
    except msgspec.ValidationError as problem:
        raise SpecError(f"{where}: {problem}") from None


def read(file: Path) -> WorldSpec:
    """Read a spec from a file."""
    try:
        return parse(file.read_bytes(), file.name)
    except OSError as problem:
        raise SpecError(f"{file} cannot be read: {problem.strerror}") from None
