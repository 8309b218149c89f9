"""Properties of schemas in an API description: kinds, values, bounds and references."""

import re
from typing import Any

from provegym.worlds.schemas import api_document, lexicon, nouns
from provegym.worlds.schemas.api_document import Document, plain_text
from provegym.worlds.schemas.sketch import Property, PropertyKind

MOST_VALUES = 24
MOST_LOOKED_AT = 200
MOST_NUMBER = 1e9
# Steps of a document that one property costs.
PRICE = 8
# What the body of a request may say of a property that the record's own schema leaves open.
OF_BODIES = (
    *("enum", "default", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
)


def property_of(
    document: Document,
    name: str,
    schema: Any,
    noun: str,
    known: set[str],
    *,
    notes: list[str],
    empty: bool,
) -> Property | None:
    """A property of a schema, or None if it is the record's own id."""
    document.spend(PRICE)
    word = nouns.snake(name)
    target = _target(word, schema, known, noun)
    plain = _one(document, schema)
    values = plain.get("enum")
    own = {"id", f"{noun}_id", "uuid", "_id", "object", "api_version"}
    is_label = word == "kind" and not isinstance(values, list)
    if not word or word in own or is_label:
        return None
    if target:
        return Property(name=word, kind="reference", to=target, empty=empty)
    texts = _texts(values)
    default = plain.get("default")
    kind = _kind(word, plain)
    is_enum = kind == "text" and 1 < len(set(texts)) == len(texts) <= MOST_VALUES
    if is_enum and all(len(text) <= 40 for text in texts):
        start = default if isinstance(default, str) and default in texts else None
        empty = _maybe(word, empty)
        return Property(name=word, kind="enum", values=texts, default=start, empty=empty)
    step = 0.01 if kind == "money" else 1
    low, high = _bound(plain, "minimum", step), _bound(plain, "maximum", -step)
    if low is not None and high is not None and low > high:
        notes.append(f"left out: the bounds of {noun}.{word}, since no number is within them")
        low = high = None
    return Property(name=word, kind=kind, low=low, high=high, empty=empty)


def _texts(values: Any) -> tuple[str, ...]:
    """The texts of an enum."""
    some = values[:MOST_LOOKED_AT] if isinstance(values, list) else []
    texts = (plain_text(value[:200]) for value in some if isinstance(value, str))
    return tuple(text for text in texts if text)


def merged(document: Document, own: Any, given: Any, names: tuple[str, ...] = OF_BODIES) -> Any:
    """A property of a record, with what only a request says of it: bounds, values, a default."""
    if given is None or own is None:
        return own if given is None else given
    held, body = _one(document, own), _one(document, given)
    is_record = _is_record(own) or any(
        api_document.properties(document, choice) for choice in _choices(own)
    )
    if is_record or _main_type(held) != _main_type(body):
        return own
    return {**{name: body[name] for name in names if name in body}, **held}


def _main_type(schema: dict[str, Any]) -> Any:
    """The type of a schema, without null."""
    type_ = schema.get("type")
    if isinstance(type_, list):
        return next((each for each in type_ if each != "null"), None)
    return type_


def _maybe(word: str, empty: bool) -> bool:
    """A status is never empty: who creates a record seldom says it, but it always has one."""
    return empty and not (word in lexicon.status_words("columns") or word.endswith("_status"))


def _one(document: Document, schema: Any) -> dict[str, Any]:
    """A schema without `$ref`, and without null as an alternative."""
    plain = api_document.resolved(document, schema)
    for name in ("oneOf", "anyOf", "allOf"):
        parts = plain.get(name)
        if isinstance(parts, list) and parts and "type" not in plain:
            inner = [
                api_document.resolved(document, part) for part in parts[: api_document.MAX_PARTS]
            ]
            some = [part for part in inner if part.get("type") != "null"]
            enums = [_texts(part.get("enum")) for part in some if part.get("type") == "string"]
            if len(some) > 1 and len(enums) == len(some) and all(enums):
                return {**some[0], "enum": [value for enum in enums for value in enum]}
            return some[0] if some else {}
    return plain


def _target(word: str, schema: Any, known: set[str], own: str) -> str:
    """The kind of record that a property points to: by an id, or as a record within the record."""
    by_id = re.fullmatch(r"(.+)_id", word)
    if by_id is not None:
        base = nouns.singular(by_id[1])
        parts = base.split("_")
        ends = ("_".join(parts[at:]) for at in range(len(parts)))
        is_parent = base == "parent" and own in known
        whole = (end for end in ends if end in known and end != own)
        return next(whole, own if is_parent else "")
    names = [api_document.reference_name(part) for part in (schema, *_choices(schema))]
    inner = [nouns.singular(nouns.snake(name)) for name in names]
    found = next((noun for noun in inner if noun and noun in known), "")
    return found or (word if word in known and word != own and _is_record(schema) else "")


def _choices(schema: Any) -> list[Any]:
    """The alternatives of a schema: an id as text, or the record itself."""
    if not isinstance(schema, dict):
        return []
    parts = (api_document.listed(schema.get(name)) for name in ("oneOf", "anyOf", "allOf"))
    return [choice for choices in parts for choice in choices]


def _is_record(schema: Any) -> bool:
    return isinstance(schema, dict) and ("$ref" in schema or schema.get("type") == "object")


def _kind(word: str, schema: dict[str, Any]) -> PropertyKind:
    type_ = _main_type(schema)
    values = schema.get("enum")
    if type_ is None and _texts(values):
        type_ = "string"
    manner = lexicon.of_field(word, "")
    form = schema.get("format")
    if type_ == "boolean":
        return "flag"
    if type_ == "integer":
        if manner is not None and manner.low is not None and not (manner.number or manner.money):
            return "unknown"  # A time in seconds since 1970.
        return "number"
    if type_ == "number":
        return "money" if manner is None or manner.money else "number" if manner.number else "money"
    if type_ == "string":
        if form == "date":
            return "date"
        if form == "date-time" or word.endswith(("_at", "_time")):
            return "date" if word.endswith(("date", "_on")) else "time"
        if form in ("binary", "byte", "uri", "url", "password", "uuid"):
            return "unknown"
        return "text"
    return "unknown"


def _bound(schema: dict[str, Any], name: str, away: float) -> float | None:
    """A bound; an exclusive one is moved by one, or by a cent."""
    value, exclusive = schema.get(name), schema.get(f"exclusive{name.capitalize()}")
    if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
        value, exclusive = exclusive, True
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not abs(value) <= MOST_NUMBER
    ):
        return None
    return float(value) + (away if exclusive is True else 0)


def status_of(noun: str, made: dict[str, Property]) -> Property | None:
    """The enum that says how far a record is."""
    known = lexicon.status_words("columns")
    enums = [each for each in made.values() if each.kind == "enum"]
    named = [each for each in enums if each.name.removeprefix(f"{noun}_") in known]
    return next(iter(named), None)
