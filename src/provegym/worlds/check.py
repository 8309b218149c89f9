"""Static checks of a spec: its names and sizes, and the fields of its entities.

Each problem is one sentence that names the place. Types of formulas are checked by the compiler.
"""

import keyword
import re
from collections import Counter
from collections.abc import Iterable

from provegym.worlds.formula import Compiler
from provegym.worlds.shapes import NOW, TEXT, Shapes
from provegym.worlds.spec import Entity, Field, SpecError, WorldSpec
from provegym.worlds.texts import combinations, longest, require_balanced, slots

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
PREFIX = re.compile(r"[a-z]{2,8}")
RESERVED = {"now", "me", "row", "value", "id", "limit", "offset", "state", "nothing"}
MOST = {
    "entities": 12,
    "fields": 24,
    "operations": 60,
    "arguments": 12,
    "parts": 24,
    "events": 24,
    "invariants": 24,
    "lists": 60,
    "kin": 60,
}
MOST_RECORDS, MOST_WORDS, MOST_PAST, MOST_DAYS = 400, 400, 400, 1_000
MOST_IN_TABLE, MOST_NUMBER, MOST_DAYS_AWAY, MOST_BYTES = 2_000, 10_000_000, 40_000, 3_900
DRAWN = ("number", "money", "date", "time")
TEXTS = ("name", "code", "text")


def sizes(spec: WorldSpec) -> None:
    """Names are plain, and nothing is larger than a world may be."""
    if not NAME.fullmatch(spec.name):
        raise SpecError(
            f"{spec.name!r} is no name of a world: use a-z, 0-9 and _, from a letter on"
        )
    if not spec.entities or all(operation.hidden for operation in spec.operations):
        raise SpecError("a spec has at least one entity and one operation that is not hidden")
    for what in ("entities", "operations", "events", "invariants", "lists", "kin"):
        at_most("the spec", what, len(getattr(spec, what)))
    unique("the spec", (entity.name for entity in spec.entities))
    unique("the spec", (entity.prefix for entity in spec.entities))
    unique("the spec", (operation.tool for operation in spec.operations))
    drawn = sum(entity.count for entity in spec.entities)
    if drawn > MOST_RECORDS:
        raise SpecError(f"a world draws at most {MOST_RECORDS} records, not {drawn}")
    lived = sum(past.times for past in spec.past)
    if lived > MOST_PAST or not 0 <= spec.days <= MOST_DAYS:
        raise SpecError(f"a past has at most {MOST_PAST} calls in 0 to {MOST_DAYS} days")
    if not spec.about.strip() or not NAME.fullmatch(spec.category) or spec.version < 1:
        raise SpecError("a spec has an `about`, a category of a-z, 0-9 and _, and a version from 1")
    for name, words in spec.lists.items():
        where = f"lists.{name}"
        require_name(name, where)
        if name in ("person", "me") or not words:
            raise SpecError(f"{where}: a word list has words, and is not called person or me")
        check_texts(where, words)
        for text in words:
            require_lists(spec, text, where)
            if "me" in slots(text):
                raise SpecError(f"{where}: a word list has no {{me}}")
    for name in spec.lists:
        longest(f"{{{name}}}", spec.lists, f"lists.{name}")


def at_most(where: str, what: str, count: int) -> None:
    """Raise SpecError if there are too many of something."""
    if count > MOST[what]:
        raise SpecError(f"{where} has {count} {what}; at most {MOST[what]} are allowed")


def unique(where: str, names: Iterable[str]) -> None:
    """Raise SpecError if a name occurs twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise SpecError(f"{where} has {name!r} {count} times")


def require_name(name: str, where: str) -> None:
    """Raise SpecError unless a name is plain and not reserved."""
    if not NAME.fullmatch(name) or name in RESERVED or keyword.iskeyword(name):
        raise SpecError(f"{where}: a name has a-z, 0-9 and _, and is not a reserved word")


def check_texts(where: str, texts: Iterable[str]) -> None:
    """Raise SpecError if there are too many texts, an empty one, or braces that do not match."""
    found = list(texts)
    if len(found) > MOST_WORDS:
        raise SpecError(f"{where}: at most {MOST_WORDS} texts, not {len(found)}")
    for text in found:
        if not text.strip():
            raise SpecError(f"{where}: a text is empty")
        require_balanced(text, where)


def entities(spec: WorldSpec, shapes: Shapes) -> None:
    """Fields can be drawn, references point to entities that are drawn before."""
    unique("the tables", shapes.tables.values())
    before: set[str] = set()
    for entity in spec.entities:
        where = f"entity {entity.name!r}"
        require_name(entity.name, where)
        if not PREFIX.fullmatch(entity.prefix):
            raise SpecError(f"{where}: its prefix {entity.prefix!r} must be 2 to 8 letters a-z")
        if not 1 <= entity.most <= MOST_IN_TABLE or not 0 <= entity.count <= entity.most:
            raise SpecError(f"{where}: count is from 0 to most, and most from 1 to {MOST_IN_TABLE}")
        at_most(where, "fields", len(entity.fields))
        if not entity.fields:
            raise SpecError(f"{where}: it has no fields")
        unique(where, (field.name for field in entity.fields))
        for field in entity.fields:
            _field(spec, shapes, entity, field, before)
        if (size := shapes.size(entity.name, where)) > MOST_BYTES:
            raise SpecError(
                f"{where}: a record could have {size} bytes, more than {MOST_BYTES}:"
                " use fewer fields of text"
            )
        _names(entity, where)
        if entity.count:
            before.add(entity.name)
    _require_makeable(spec)


def _require_makeable(spec: WorldSpec) -> None:
    """Raise SpecError if records need each other in a circle, so that none can be the first."""
    needs = {
        entity.name: {f.to for f in entity.fields if f.kind == "reference" and not f.empty}
        for entity in spec.entities
    }
    while free := [name for name, others in needs.items() if not others & needs.keys()]:
        for name in free:
            del needs[name]
    if needs:
        names = ", ".join(sorted(needs))
        raise SpecError(f"records of {names} need each other: let one of the references be empty")


def _names(entity: Entity, where: str) -> None:
    known = {field.name for field in entity.fields}
    check_texts(where, entity.refer)
    for way in entity.refer:
        for slot in slots(way):
            if slot not in known:
                raise SpecError(f"{where}: {way!r} names a field {slot!r} that there is not")


def _field(spec: WorldSpec, shapes: Shapes, entity: Entity, field: Field, before: set[str]) -> None:
    where = f"{entity.name}.{field.name}"
    require_name(field.name, where)
    check_texts(where, (*field.words, *field.values))
    if (field.kind == "enum") != bool(field.values):
        raise SpecError(f"{where}: an enum has values, and nothing else has")
    unique(where, field.values)
    if field.weights and (
        len(field.weights) != len(field.values) or min(field.weights) < 0 or not any(field.weights)
    ):
        raise SpecError(f"{where}: weights are one number per value, not negative, not all 0")
    if not 0 <= field.share <= 1:
        raise SpecError(f"{where}: share is from 0 to 1")
    if field.exactly is not None and (
        field.kind != "flag" or field.empty or not 0 <= field.exactly <= entity.count
    ):
        raise SpecError(f"{where}: `exactly` is for a flag, from 0 to the count of records")
    _bounds(field, where)
    type_ = shapes.type(entity.name, field.name, where)
    if field.kind == "reference":
        shapes.entity(field.to, where)
        if entity.count and field.to not in before and not field.empty:
            raise SpecError(f"{where}: {field.to!r} must be drawn before {entity.name!r}")
    if field.kind == "copy":
        names = [each.name for each in entity.fields]
        if names.index(field.to.partition(".")[0]) > names.index(field.name):
            raise SpecError(f"{where}: the reference it copies from must stand before it")
        if field.empty:
            raise SpecError(f"{where}: a copy is empty if its reference is")
    if field.start is not None:
        Compiler(shapes, {"now": NOW, "me": TEXT}, where).value(field.start, type_)
    _drawable(spec, field, where, entity.count)
    room = type_.longest
    if field.kind in TEXTS and any(longest(w, spec.lists, where) > room for w in field.words):
        raise SpecError(f"{where}: its words may be longer than {room} characters")


def _bounds(field: Field, where: str) -> None:
    low, high, step = field.low, field.high, field.step
    if (low is None) != (high is None):
        raise SpecError(f"{where}: low and high belong together")
    if low is not None and high is not None:
        if field.kind not in DRAWN:
            raise SpecError(f"{where}: a {field.kind} has no low and high")
        if low > high:
            raise SpecError(f"{where}: low is above high")
        most = MOST_DAYS_AWAY if field.kind in ("date", "time") else MOST_NUMBER
        if max(abs(low), abs(high)) > most:
            raise SpecError(f"{where}: low and high are between {-most:,} and {most:,}")
    least = 0.01 if field.kind == "money" else 1
    if step is not None and not least <= step <= MOST_NUMBER:
        raise SpecError(f"{where}: a step is at least {least}")


def _drawable(spec: WorldSpec, field: Field, where: str, count: int) -> None:
    for text in field.words:
        require_lists(spec, text, where)
    if not count:
        return
    if field.kind in TEXTS and not field.words and field.start is None and not field.empty:
        raise SpecError(f"{where}: its words are missing")
    if field.kind in ("name", "code"):
        different = sum(combinations(w, spec.lists, field.kind == "code") for w in field.words)
        if field.words and different < count:
            raise SpecError(f"{where}: its words make {different} names for {count} records")
    bounded = field.low is not None and field.high is not None
    if field.kind in DRAWN and not field.empty and not bounded and field.start is None:
        raise SpecError(f"{where}: low and high are missing")


def require_lists(spec: WorldSpec, text: str, where: str) -> None:
    """Raise SpecError if a text names a word list that there is not."""
    for slot in slots(text):
        if slot not in ("person", "me") and slot not in spec.lists:
            raise SpecError(f"{where}: there is no word list {slot!r}")
