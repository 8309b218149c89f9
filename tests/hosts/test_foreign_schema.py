"""Schemas of foreign tools: what is shown of them, and how arguments are held to them."""

import time
from typing import Any

import msgspec
import pytest

from provegym.hosts.foreign import ForeignArguments
from provegym.hosts.foreign_schema import tidy
from provegym.kernel import BadArguments


def test_schemas_are_tidied() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"$ref": "#/$defs/id"},
            "kind": {"oneOf": [{"const": "a"}, {"type": "null"}]},
            "tags": {"type": "array"},
            "place": {"allOf": [{"$ref": "#/$defs/place"}], "description": "Where."},
            "self": {"$ref": "#/$defs/loop"},
            "odd": {"type": "wondrous", "format": "uri"},
        },
        "required": ["id", "ghost"],
        "$defs": {
            "id": {"type": "string", "pattern": "(unclosed"},
            "place": {"properties": {"x": {"type": "number"}}, "required": ["x"]},
            "loop": {"type": "object", "properties": {"self": {"$ref": "#/$defs/loop"}}},
        },
    }
    tidied = tidy(schema)
    parts = tidied["properties"]
    assert tidied["required"] == ["id", "ghost"]
    assert parts["ghost"] == {}
    assert parts["id"] == {"type": "string", "description": "(pattern: (unclosed)"}
    assert parts["kind"] == {"enum": ["a"], "type": ["string", "null"]}
    assert parts["tags"]["items"] == {}
    assert parts["place"]["properties"] == {"x": {"type": "number"}}
    assert parts["odd"] == {"description": "(format: uri)"}
    assert "$ref" not in msgspec.json.encode(tidied).decode()


PLACES = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "level": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["land", "sea"]},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "places": {"type": "array", "items": {"$ref": "#/definitions/place"}},
        "mail": {"type": "string", "format": "email"},
    },
    "required": ["code"],
    "additionalProperties": False,
    "definitions": {
        "place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    },
}


def refusal(schema: dict[str, Any], **arguments: Any) -> str:
    """What is wrong with arguments; empty if they fit."""
    try:
        ForeignArguments(schema, frozenset()).bind(arguments)
    except BadArguments as problem:
        return str(problem)
    return ""


def test_arguments_are_held_to_the_published_schema() -> None:
    fine = {"code": "ABC", "level": 2.0, "note": None, "places": [{"x": 1}], "mail": "nobody"}
    assert refusal(PLACES, **fine) == ""
    assert refusal(PLACES, level=2) == "missing required argument 'code'"
    for wrong, says in (
        ({"cod": 1}, "unknown argument 'cod'; did you mean 'code'?"),
        ({"code": 7}, "argument 'code' must be string, got 7"),
        ({"code": "abc"}, "argument 'code': the value does not match \"^[A-Z]{3}$\", got 'abc'"),
        ({"level": 0}, "argument 'level': the value is less than the minimum of 1, got 0"),
        (
            {"kind": "air"},
            "argument 'kind': the value is not one of \"land\" or \"sea\", got 'air'",
        ),
        ({"note": 7}, "argument 'note' must be string or null, got 7"),
        ({"places": [{"x": "y"}]}, "argument 'places/0/x' must be number, got 'y'"),
        ({"places": [{}]}, "argument 'places/0': \"x\" is a required property, got {}"),
    ):
        assert refusal(PLACES, **{"code": "ABC", **wrong}) == says
    either = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert refusal(either, b=1) == ""
    assert refusal(either, c=1).startswith("the arguments: the value is not valid under any of")


def test_a_pattern_takes_linear_time() -> None:
    schema = {"properties": {"text": {"pattern": "^(a+)+$"}}}
    began = time.process_time()
    assert "does not match" in refusal(schema, text="a" * 50_000 + "b")
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "part",
    [
        {"pattern": "(unclosed"},
        {"pattern": "(?=look)around"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/$defs/none"},
        {"minimum": "much"},
        {"required": True},
        {"properties": [], "anyOf": {}, "allOf": 5, "oneOf": "x"},
        {"type": [{}], "enum": 7},
    ],
)
def test_an_invalid_schema_is_checked_roughly(part: dict[str, Any]) -> None:
    schema = {"properties": {"odd": part, "count": {"type": "integer"}}, "required": ["count"]}
    arguments = ForeignArguments(schema, frozenset())
    assert arguments.problem
    assert refusal(schema, odd="x", count=1) == ""
    assert refusal(schema, count="1") == "argument 'count' must be integer, got '1'"
    assert refusal(schema) == "missing required argument 'count'"
    assert ForeignArguments({**part, "type": "object"}, frozenset()).bind({})


def test_arguments_that_are_nested_too_deeply_are_refused() -> None:
    text = "[" * 900 + "]" * 900
    with pytest.raises(BadArguments):
        ForeignArguments(PLACES, frozenset()).bind('{"code": "ABC", "places": ' + text + "}")
