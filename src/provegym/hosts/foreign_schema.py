"""The JSON schema of a foreign tool: normalised for ProveGym to read, and compiled to a validator.

Arguments are validated by jsonschema-rs against the schema as it was published. A schema that it
cannot compile is checked roughly: names, required arguments and JSON types.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from jsonschema_rs import (
    RegexOptions,
    ValidationError,
    ValidationErrorKind,
    Validator,
    validator_for,
)

from provegym.kernel import BadArguments
from provegym.kernel.errors import quote, suggest
from provegym.toolbox import JSON_TYPES, fits

Json = dict[str, Any]

DEEPEST = 6
MOMENTS = ("date", "date-time")
DROPPED = ("$schema", "$id", "$defs", "definitions", "$ref", "allOf", "oneOf", "const")
# The Python types of the keywords that are read here; a keyword of another type is ignored.
SHAPES: Json = {
    "properties": dict,
    "required": list,
    "allOf": list,
    "anyOf": list,
    "oneOf": list,
    "enum": list,
    "type": (str, list),
}


def tidy(schema: Json) -> Json:
    """Normalise the schema of a tool's arguments: an object schema without references."""
    part = _part({**schema, "type": "object"}, schema, DEEPEST)
    required = part.get("required", [])
    fields = part.get("properties", {})
    undescribed: Json = {name: {} for name in required if name not in fields}
    return {**part, "properties": {**fields, **undescribed}, "required": required}


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
    schema = _sound(schema)
    for other in (_followed(schema.get("$ref"), root), *schema.get("allOf", ())):
        if isinstance(other, dict) and depth:
            schema = _merged(_whole(other, root, depth - 1), schema)
    return schema


def _sound(schema: Json) -> Json:
    """A schema without keywords of the wrong type."""
    sound = {key: part for key, part in schema.items() if isinstance(part, SHAPES.get(key, object))}
    if required := sound.get("required"):
        sound["required"] = [name for name in required if isinstance(name, str)]
    return sound


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
    names = [named] if isinstance(named, str) else named
    kinds = [name for name in names if isinstance(name, str) and name in JSON_TYPES]
    if kinds or "enum" in part:
        return kinds or [k for k in JSON_TYPES if all(JSON_TYPES[k](v) for v in part["enum"])][:1]
    return ["object"] if "properties" in part else ["array"] if "items" in part else []


def _told(part: Json) -> Json:
    """Move pattern and unknown format to the description, where a model reads them."""
    said = [str(part.get("description", ""))] if part.get("description") else []
    if "pattern" in part:
        said.append(f"(pattern: {part.pop('pattern')})")
    if "format" in part and part["format"] not in MOMENTS:
        said.append(f"(format: {part.pop('format')})")
    return {**part, "description": " ".join(said)} if said else part


def compiled(schema: Json) -> Validator:
    """A validator for a published schema, of the draft that it declares or else 2020-12.

    Patterns run on the regex engine that takes linear time; it knows no look-around and no
    back-references. References to other documents are never fetched. Formats are not asserted.

    Raises ValueError if the schema is invalid.
    """
    return validator_for(
        {**schema, "type": "object"},
        retriever=_refuse,
        pattern_options=RegexOptions(),
        validate_formats=False,
        mask="the value",
    )


def _refuse(uri: str) -> NoReturn:
    raise ValueError("references to other documents are not followed")


def check(schema: Json, validator: Validator | None, arguments: Mapping[str, Any]) -> None:
    """Raise BadArguments if arguments do not fit a schema; without a validator, check roughly."""
    if validator is None:
        _check_roughly(schema, arguments)
        return
    try:
        found = list(validator.iter_errors(arguments))
    except ValueError as problem:  # nested too deeply
        raise BadArguments(f"the arguments cannot be checked: {problem}") from None
    if found:
        outermost = min(found, key=lambda problem: len(problem.instance_path))
        raise BadArguments(_sentence(outermost, list(schema["properties"])))


def _sentence(problem: ValidationError, known: list[str]) -> str:
    """What is wrong with which argument."""
    path = "/".join(map(str, problem.instance_path))
    match problem.kind:
        case ValidationErrorKind.Required(name) if not path:
            return f"missing required argument {name!r}"
        case ValidationErrorKind.AdditionalProperties([name, *_]) if not path:
            return f"unknown argument {quote(name)}; {suggest(name, known)}"
    where = f"argument {quote(path)}" if path else "the arguments"
    if kinds := _types(problem):
        return f"{where} must be {' or '.join(kinds)}, got {quote(problem.instance)}"
    return f"{where}: {problem.message}, got {quote(problem.instance)}"


def _types(problem: ValidationError) -> list[str]:
    """The JSON types that were expected, if the type is all that is wrong."""
    match problem.kind:
        case ValidationErrorKind.Type(types):
            return types
        case ValidationErrorKind.AnyOf(options) | ValidationErrorKind.OneOfNotValid(options):
            firsts = [errors[0] for errors in options]
            if all(each.instance_path == problem.instance_path for each in firsts):
                found = [_types(each) for each in firsts]
                return [kind for kinds in found for kind in kinds] if all(found) else []
    return []


def _check_roughly(schema: Json, arguments: Mapping[str, Any]) -> None:
    """Raise BadArguments if a name or a JSON type is wrong."""
    fields = schema["properties"]
    if missing := [name for name in schema["required"] if name not in arguments]:
        raise BadArguments(f"missing required argument {missing[0]!r}")
    for name, value in arguments.items():
        if name not in fields and schema.get("additionalProperties", True) is False:
            raise BadArguments(f"unknown argument {quote(name)}; {suggest(name, list(fields))}")
        if name in fields and not fits(fields[name], value):
            kind = fields[name].get("type", "of the published schema")
            raise BadArguments(f"argument {name!r} must be {kind}, got {quote(value)}")
