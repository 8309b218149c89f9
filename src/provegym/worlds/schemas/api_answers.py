"""What the operations of an API take and answer: the schemas of bodies and of results.

A record may stand in an envelope, such as {"data": …}, and a list in a field. What an operation
answers when it fails is no record.
"""

import re
from typing import Any

from provegym.worlds.schemas.api_document import (
    Document,
    listed,
    properties,
    reference_name,
    resolved,
)

# 200, 201 and so on, or 2XX.
GOOD = re.compile(r"2(\d\d|xx)", re.I)
OTHER = re.compile(r"[123](\d\d|xx)", re.I)
ERROR = re.compile(r"error|problem|fault|failure|exception", re.I)
ERROR_PROPERTIES = frozenset(
    (
        *("code", "message", "error", "errors", "detail", "details", "status", "title", "type"),
        *("instance", "reason", "fields", "trace_id", "request_id", "requestId", "statusCode"),
    )
)
# The record of an envelope is looked for among so many properties.
MAX_ENVELOPE = 20


def body_schema(document: Document, operation: dict[str, Any]) -> Any:
    """The schema of the body that an operation takes, in OpenAPI 3 or Swagger 2."""
    body = resolved(document, operation.get("requestBody"))
    if content := body.get("content"):
        return _record_of(document, _media(content))
    for each in listed(operation.get("parameters")):
        parameter = resolved(document, each)
        if parameter.get("in") == "body":
            return _record_of(document, parameter.get("schema"))
    return None


def result_schema(document: Document, operation: dict[str, Any]) -> tuple[Any, bool]:
    """The schema of a result, and whether the result is a list of it."""
    responses = operation.get("responses")
    if not isinstance(responses, dict):
        return None, False
    for code in _good(responses):
        response = resolved(document, responses[code])
        content = response.get("content")
        schema = _media(content) if content else response.get("schema")
        if schema is None:
            continue
        if code == "default" and _is_error(document, responses[code], schema):
            continue
        found, is_list = _items(document, schema)
        return _record_of(document, found), is_list
    return None, False


def _good(responses: dict[str, Any]) -> list[str]:
    """The codes of results: 2xx; `default` only if no code says what else it could be."""
    good = sorted(code for code in responses if GOOD.fullmatch(code))
    if "default" in responses and not any(OTHER.fullmatch(code) for code in responses):
        good.append("default")
    return good


def _is_error(document: Document, response: Any, schema: Any) -> bool:
    """Whether a default response is an error, by its name or by its properties."""
    if ERROR.search(reference_name(response)) or ERROR.search(reference_name(schema)):
        return True
    held = properties(document, schema).keys()
    return bool(held & {"message", "error", "errors", "detail"}) and held <= ERROR_PROPERTIES


def _media(content: Any) -> Any:
    if not isinstance(content, dict) or not content:
        return None
    media = content.get("application/json") or next(iter(content.values()))
    return media.get("schema") if isinstance(media, dict) else None


def _record_of(document: Document, schema: Any) -> Any:
    """The schema of the record in an envelope, such as {"data": …} or {"ticket": …}."""
    inner = properties(document, schema)
    if "id" not in inner and 0 < len(inner) <= MAX_ENVELOPE:
        name = "data" if "data" in inner else next(iter(inner))
        is_envelope = name == "data" or (len(inner) == 1 and bool(reference_name(inner[name])))
        if is_envelope and _records(document, inner) == [name]:
            schema = inner[name]
            inner = properties(document, schema)
    # JSON:API keeps the properties of a record in `attributes`.
    is_resource = "attributes" in inner and "type" in inner
    return inner["attributes"] if is_resource else schema


def _records(document: Document, inner: dict[str, Any]) -> list[str]:
    """The properties that are records themselves."""
    return [name for name, each in inner.items() if properties(document, each)]


def _items(document: Document, schema: Any) -> tuple[Any, bool]:
    """The schema of the items of a list, also if the list is in a field such as `data`."""
    plain = resolved(document, schema)
    if plain.get("type") == "array" or "items" in plain:
        return plain.get("items"), True
    inner = properties(document, plain)
    if len(inner) > 8 or "id" in inner:
        return schema, False
    lists = [
        value.get("items")
        for value in (resolved(document, each) for each in inner.values())
        if value.get("type") == "array"
        and resolved(document, value.get("items")).get("type", "object") == "object"
    ]
    return (lists[0], True) if len(lists) == 1 else (schema, False)
