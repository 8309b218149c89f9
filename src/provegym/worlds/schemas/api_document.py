"""Loads an OpenAPI or Swagger document, and resolves its references within bounds.

YAML aliases are refused, and `$ref`s are followed a few levels deep only, so that a small file
cannot become a huge or endless one.
"""

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from provegym.worlds.schemas.packages import need
from provegym.worlds.spec import SpecError

MAX_BYTES = 16_000_000
MAX_YAML_BYTES = 400_000
MAX_PATHS = 1_500
MAX_DEPTH = 6
MAX_PARTS = 40
MAX_SCHEMAS = 60
MAX_NESTING = 60
MAX_PROPERTIES = 200
YAML_BOOL, YAML_TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
YAML_INT, YAML_FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"


def load(text: str) -> dict[str, Any]:
    """A document from JSON or YAML text."""
    if len(text) > MAX_BYTES:
        raise SpecError(f"an API description has at most {MAX_BYTES} characters, not {len(text)}")
    text = text.removeprefix("\ufeff")
    try:
        document = json.loads(text) if text.lstrip()[:1] == "{" else _yaml(text)
    except SpecError:
        raise
    except ValueError as problem:
        reason = str(problem).splitlines()[0]
        raise SpecError(f"the API description is neither JSON nor YAML: {reason}") from None
    except RecursionError:
        raise SpecError("the API description is nested too deeply") from None
    if not isinstance(document, dict):
        raise SpecError("the API description is not an object")
    version = str(document.get("openapi") or document.get("swagger") or "")
    if not version.startswith(("3.", "2.")):
        raise SpecError("the document has neither `openapi: 3.x` nor `swagger: 2.0`")
    if not isinstance(document.get("paths"), dict) or not document["paths"]:
        raise SpecError("the API description has no paths")
    if len(document["paths"]) > MAX_PATHS:
        raise SpecError(
            f"an API description has at most {MAX_PATHS} paths, not {len(document['paths'])}"
        )
    return document


def _yaml(text: str) -> Any:
    """Plain YAML: no aliases, no tags, and not too large for a parser in Python."""
    if len(text) > MAX_YAML_BYTES:
        raise SpecError(
            f"a YAML description has at most {MAX_YAML_BYTES} characters, not {len(text)};"
            " convert it to JSON"
        )
    yaml = need("yaml")
    loader = _loader(yaml)
    try:
        _check_events(yaml, yaml.parse(text, Loader=loader))
        return _with_text_keys(yaml.load(text, Loader=loader))
    except yaml.YAMLError as problem:
        reason = " ".join(str(problem).split())
        raise SpecError(f"the API description is neither JSON nor YAML: {reason}") from None


def _check_events(yaml: Any, events: Iterable[Any]) -> None:
    """Refuse aliases and deep nesting before anything is built.

    The parser of libyaml builds by recursion in C: a list in a list in a list … would end the
    process.
    """
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise SpecError("the API description has YAML aliases, which are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_NESTING:
            raise SpecError("the API description is nested too deeply")


def _loader(yaml: Any) -> Any:
    """A safe loader that reads `on`, `yes`, `12:30` and dates as text, as YAML 1.2 and JSON do."""
    base = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    loader: Any = type("Loader", (base,), {})
    changed = (YAML_BOOL, YAML_TIME, YAML_INT, YAML_FLOAT)
    loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in known if tag not in changed]
        for first, known in base.yaml_implicit_resolvers.items()
    }
    truth = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
    loader.add_implicit_resolver(YAML_BOOL, truth, "tTfF")
    whole = re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,30})$")
    loader.add_implicit_resolver(YAML_INT, whole, "-+0123456789")
    broken = re.compile(r"^[-+]?[0-9]{0,30}(?:\.[0-9]{1,30}|[0-9]\.)(?:[eE][-+]?[0-9]{1,3})?$")
    loader.add_implicit_resolver(YAML_FLOAT, broken, "-+.0123456789")
    return loader


def _with_text_keys(node: Any) -> Any:
    """A document in which every key is text: a status code such as 200 is a number in YAML."""
    if isinstance(node, dict):
        return {str(key): _with_text_keys(value) for key, value in node.items()}
    return [_with_text_keys(part) for part in node] if isinstance(node, list) else node


def listed(node: Any) -> list[Any]:
    """A list as it is; anything else is an empty one."""
    return node[:MAX_PARTS] if isinstance(node, list) else []


def resolved(document: dict[str, Any], node: Any) -> dict[str, Any]:
    """A node, or what its `$ref` points to; an empty one if that is not in the document."""
    for _ in range(MAX_DEPTH):
        if not isinstance(node, dict):
            return {}
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return node
        node = _at(document, reference)
    return {}


def _at(document: dict[str, Any], reference: str) -> Any:
    """What a reference within the document points to."""
    if not reference.startswith("#/"):
        return {}
    node: Any = document
    for part in reference[2:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        node = node.get(part) if isinstance(node, dict) else None
    return node


def reference_name(node: Any) -> str:
    """The name of the schema that a `$ref` points to."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def properties(document: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The properties of a schema with those of its allOf; of oneOf and anyOf the first."""
    found: dict[str, Any] = {}
    for part in _parts(document, schema):
        own = part.get("properties")
        if isinstance(own, dict) and len(found) < MAX_PROPERTIES:
            some = islice(own.items(), MAX_PROPERTIES - len(found))
            found = {**dict(some), **found}
    return found


def required(document: dict[str, Any], schema: Any) -> set[str]:
    """The required properties of a schema with those of its allOf."""
    names = [name for part in _parts(document, schema) for name in listed(part.get("required"))]
    return {name for name in names if isinstance(name, str)}


def _parts(document: dict[str, Any], schema: Any) -> list[dict[str, Any]]:
    """A schema and what it is made of; what a `$ref` points to is entered once."""
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    todo = [schema]
    while todo and len(found) < MAX_SCHEMAS:
        node = todo.pop(0)
        reference = node.get("$ref") if isinstance(node, dict) else None
        if isinstance(reference, str):
            if reference in seen:
                continue
            seen.add(reference)
        part = resolved(document, node)
        found.append(part)
        choices = listed(part.get("oneOf")) or listed(part.get("anyOf"))
        todo += [*listed(part.get("allOf")), *choices[:1]]
    return found


def body_schema(document: dict[str, Any], operation: dict[str, Any]) -> Any:
    """The schema of the body that an operation takes, in OpenAPI 3 or Swagger 2."""
    body = resolved(document, operation.get("requestBody"))
    if content := body.get("content"):
        return _record_of(document, _media(content))
    for each in listed(operation.get("parameters")):
        parameter = resolved(document, each)
        if parameter.get("in") == "body":
            return _record_of(document, parameter.get("schema"))
    return None


def result_schema(document: dict[str, Any], operation: dict[str, Any]) -> tuple[Any, bool]:
    """The schema of a result, and whether the result is a list of it."""
    responses = operation.get("responses")
    if not isinstance(responses, dict):
        return None, False
    good = [code for code in ("200", "201", "202", 200, 201, "default") if code in responses]
    for code in good:
        response = resolved(document, responses[code])
        content = response.get("content")
        schema = _media(content) if content else response.get("schema")
        if schema is not None:
            found, is_list = _items(document, schema)
            return _record_of(document, found), is_list
    return None, False


def _media(content: Any) -> Any:
    if not isinstance(content, dict) or not content:
        return None
    media = content.get("application/json") or next(iter(content.values()))
    return media.get("schema") if isinstance(media, dict) else None


def _record_of(document: dict[str, Any], schema: Any) -> Any:
    """The schema of the record in an envelope, such as {"data": …} or {"ticket": …}."""
    inner = properties(document, schema)
    records = [name for name, each in inner.items() if properties(document, each)]
    if len(records) == 1 and "id" not in inner:
        name = records[0]
        is_reference = bool(reference_name(inner[name]))
        if name == "data" or (len(inner) == 1 and is_reference):
            schema = inner[name]
            inner = properties(document, schema)
    # JSON:API keeps the properties of a record in `attributes`.
    is_resource = "attributes" in inner and "type" in inner
    return inner["attributes"] if is_resource else schema


def _items(document: dict[str, Any], schema: Any) -> tuple[Any, bool]:
    """The schema of the items of a list, also if the list is in a field such as `data`."""
    plain = resolved(document, schema)
    if plain.get("type") == "array" or "items" in plain:
        return plain.get("items"), True
    inner = properties(document, plain)
    lists = [
        value.get("items")
        for value in (resolved(document, each) for each in inner.values())
        if value.get("type") == "array"
        and resolved(document, value.get("items")).get("type", "object") == "object"
    ]
    if len(inner) <= 8 and len(lists) == 1 and "id" not in inner:
        return lists[0], True
    return schema, False
