"""Normalises the JSON schema of a foreign tool to an equivalent one that ProveGym can read."""

from collections.abc import Mapping
from typing import Any

from provegym.kernel import BadArguments
from provegym.kernel.errors import quote, suggest
from provegym.toolbox import JSON_TYPES, fits

Json = dict[str, Any]

DEEPEST = 6
MOMENTS = ("date", "date-time")
DROPPED = ("$schema", "$id", "$defs", "definitions", "$ref", "allOf", "oneOf", "const")


def tidy(schema: Json) -> Json:
    """Normalise the schema of a tool's arguments: an object schema without references."""
    part = _part({**schema, "type": "object"}, schema, DEEPEST)
    required = [name for name in part.get("required", ()) if name in part["properties"]]
    return {**part, "required": required}


def _part(schema: Any, root: Json, depth: int) -> Json:
    if not isinstance(schema, dict) or depth == 0:
        return {}
    schema = _whole(schema, root, depth)
    part = {name: value for name, value in schema.items() if name not in DROPPED}
    if "const" in schema:
        part["enum"] = [schema["const"]]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return _either([_part(option, root, depth - 1) for option in options], part)
    kinds = _kinds(part)
    if "object" in kinds:
        fields = part.get("properties") or {}
        part["properties"] = {name: _part(value, root, depth - 1) for name, value in fields.items()}
    if "array" in kinds:
        part["items"] = _part(part.get("items"), root, depth - 1)
    part.pop("type", None)
    if kinds:
        part["type"] = kinds[0] if len(kinds) == 1 else kinds
    return _told(part)


def _whole(schema: Json, root: Json, depth: int) -> Json:
    """A schema merged with the targets of its $ref and allOf."""
    for other in (_followed(schema.get("$ref"), root), *schema.get("allOf", ())):
        if isinstance(other, dict) and depth:
            schema = _merged(_whole(other, root, depth - 1), schema)
    return schema


def _followed(reference: Any, root: Json) -> Any:
    """The target of a $ref within the document, or None."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for name in reference[2:].split("/"):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _merged(one: Json, two: Json) -> Json:
    """One schema that combines two; the second wins where they differ."""
    fields = {**(one.get("properties") or {}), **(two.get("properties") or {})}
    needed = [*(one.get("required") or ()), *(two.get("required") or ())]
    both = {"properties": fields, "required": needed}
    return {**one, **two, **{name: value for name, value in both.items() if value}}


def _either(options: list[Json], part: Json) -> Json:
    """An anyOf of schemas; if only one is not null, that one, with null added to its types."""
    rest = {name: value for name, value in part.items() if name not in ("anyOf", "type")}
    solid = [option for option in options if option.get("type") != "null"]
    if len(solid) == 1 and isinstance(solid[0].get("type"), str):
        kinds = [solid[0]["type"]] + ["null"] * (len(options) > 1)
        return {**solid[0], **rest, "type": kinds if len(kinds) > 1 else kinds[0]}
    return {**rest, "anyOf": options}


def _kinds(part: Json) -> list[str]:
    """The JSON types of a schema: those it names, or those that its other keywords imply."""
    named = part.get("type", [])
    kinds = [k for k in ([named] if isinstance(named, str) else named) if k in JSON_TYPES]
    if kinds or "enum" in part:
        return kinds or [k for k in JSON_TYPES if all(JSON_TYPES[k](v) for v in part["enum"])][:1]
    return ["object"] if "properties" in part else ["array"] if "items" in part else []


def _told(part: Json) -> Json:
    """Move pattern and unknown format to the description; a foreign regex is never compiled."""
    said = [str(part.get("description", ""))] if part.get("description") else []
    if "pattern" in part:
        said.append(f"(pattern: {part.pop('pattern')})")
    if "format" in part and part["format"] not in MOMENTS:
        said.append(f"(format: {part.pop('format')})")
    return {**part, "description": " ".join(said)} if said else part


def check(schema: Json, arguments: Mapping[str, Any]) -> None:
    """Raise BadArguments if arguments do not fit a schema."""
    fields = schema["properties"]
    if missing := [name for name in schema["required"] if name not in arguments]:
        raise BadArguments(f"missing required argument {missing[0]!r}")
    for name, value in arguments.items():
        if name not in fields and schema.get("additionalProperties", True) is False:
            raise BadArguments(f"unknown argument {quote(name)}; {suggest(name, list(fields))}")
        if name in fields and not fits(fields[name], value):
            kind = fields[name].get("type", "of the published schema")
            raise BadArguments(f"argument {name!r} must be {kind}, got {quote(value)}")
