"""Properties of schemas in an API description: kinds, values, bounds and references."""

import re
from typing import Any

from provegym.worlds.schemas import api_document, lexicon, nouns
from provegym.worlds.schemas.sketch import Property, PropertyKind

MOST_VALUES = 24
MOST_NUMBER = 1e9


def property_of(
    document: dict[str, Any], name: str, schema: Any, noun: str, known: set[str], *, empty: bool
) -> Property | None:
    """A property of a schema, or None if it is the record's own id."""
    word = nouns.snake(name)
    target = _target(word, schema, known)
    plain = _one(document, schema)
    own = {"id", f"{noun}_id", "uuid", "_id", "object", "kind", "api_version"}
    if not word or word in own:
        return None
    if target:
        return Property(name=word, kind="reference", to=target, empty=empty)
    values = plain.get("enum")
    texts = (
        tuple(str(v) for v in values if isinstance(v, str) and v)
        if isinstance(values, list)
        else ()
    )
    default = plain.get("default")
    kind = _kind(word, plain)
    is_enum = kind == "text" and 1 < len(set(texts)) == len(texts) <= MOST_VALUES
    if is_enum and all(len(text) <= 40 for text in texts):
        start = default if isinstance(default, str) and default in texts else None
        empty = _maybe(word, empty)
        return Property(name=word, kind="enum", values=texts, default=start, empty=empty)
    low, high = _bound(plain, "minimum", 1), _bound(plain, "maximum", -1)
    return Property(name=word, kind=kind, low=low, high=high, empty=empty)


def _maybe(word: str, empty: bool) -> bool:
    """A status is never empty: who creates a record seldom says it, but it always has one."""
    return empty and not (word in lexicon.status_words("columns") or word.endswith("_status"))


def _one(document: dict[str, Any], schema: Any) -> dict[str, Any]:
    """A schema without `$ref`, and without null as an alternative."""
    plain = api_document.resolved(document, schema)
    for name in ("oneOf", "anyOf", "allOf"):
        parts = plain.get(name)
        if isinstance(parts, list) and parts and "type" not in plain:
            inner = [
                api_document.resolved(document, part) for part in parts[: api_document.MAX_PARTS]
            ]
            some = [part for part in inner if part.get("type") != "null"]
            return some[0] if some else {}
    return plain


def _target(word: str, schema: Any, known: set[str]) -> str:
    """The kind of record that a property points to: by an id, or as a record within the record."""
    by_id = re.fullmatch(r"(.+)_id", word)
    if by_id is not None:
        base = nouns.singular(by_id[1])
        whole = [noun for noun in known if base == noun or base.endswith(f"_{noun}")]
        return max(whole, key=len, default="")
    inner = nouns.singular(nouns.snake(api_document.reference_name(schema)))
    return (
        inner if inner in known and inner else word if word in known and _is_record(schema) else ""
    )


def _is_record(schema: Any) -> bool:
    return isinstance(schema, dict) and ("$ref" in schema or schema.get("type") == "object")


def _kind(word: str, schema: dict[str, Any]) -> PropertyKind:
    type_ = schema.get("type")
    if isinstance(type_, list):
        type_ = next((each for each in type_ if each != "null"), None)
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


def _bound(schema: dict[str, Any], name: str, away: int) -> float | None:
    """A bound; an exclusive one is moved by one."""
    value, exclusive = schema.get(name), schema.get(f"exclusive{name.capitalize()}")
    if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
        value, exclusive = exclusive, True
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MOST_NUMBER:
        return None
    return float(value) + (away if exclusive is True else 0)


def status_of(noun: str, made: dict[str, Property]) -> Property | None:
    """The enum that says how far a record is."""
    known = lexicon.status_words("columns")
    enums = [each for each in made.values() if each.kind == "enum"]
    named = [each for each in enums if each.name.removeprefix(f"{noun}_") in known]
    return next(iter(named), None)
