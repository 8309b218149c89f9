"""API descriptions as tools and people write them: errors, verbs, envelopes; and hostile ones."""

import json
from time import process_time
from typing import Any

import pytest

from provegym.worlds import from_openapi
from provegym.worlds.spec import SpecError, WorldSpec
from worlds.schemas import field

Json = dict[str, Any]
NAMED = {"type": "object", "properties": {"id": {}, "name": {"type": "string"}}}
SCHEMAS: Json = {
    "Parcel": NAMED,
    "Error": {"properties": {"code": {"type": "string"}, "message": {"type": "string"}}},
    "Wrap": {"properties": {"data": {"type": "array", "items": {"type": "object"}}}},
}


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def body(schema: Json) -> Json:
    return {"content": {"application/json": {"schema": schema}}}


def many(schema: Json) -> Json:
    return body({"type": "array", "items": schema})


PARCELS: Json = {"get": {"responses": {"200": many(reference("Parcel"))}}}


def api(paths: Json, **schemas: Json) -> tuple[WorldSpec, list[str]]:
    document = {"openapi": "3.1.0", "paths": paths, "components": {"schemas": SCHEMAS | schemas}}
    return from_openapi.spec_of(json.dumps(document), "made")


def tools(spec: WorldSpec) -> set[str]:
    return {each.tool for each in spec.operations}


def fields(spec: WorldSpec, name: str) -> set[str]:
    return {each.name for each in spec.entity(name).fields}


def titled(title: str, **more: Json) -> str:
    info = {"title": title}
    document = {"openapi": "3.0.0", "info": info, "paths": {"/parcels": PARCELS}}
    return json.dumps({**document, "components": {"schemas": SCHEMAS | more}})


@pytest.mark.parametrize("text", [titled("a \ud800"), titled("a", Size={"enum": ["\udfff", "b"]})])
def test_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="half of a character"):
        from_openapi.spec_of(text, "made")


def test_control_characters_of_a_title_are_spaces_and_whole_pairs_are_read() -> None:
    spec, _ = from_openapi.spec_of(titled("a\u001b[2J \U0001f4e6"), "made")
    assert spec.about.endswith(": a [2J \U0001f4e6.")


def test_a_number_with_very_many_digits_is_too_long() -> None:
    text = titled("a", Size={"minimum": 0}).replace('"minimum": 0', '"minimum": ' + "9" * 100_000)
    with pytest.raises(SpecError, match="too many digits"):
        from_openapi.spec_of(text, "made")


@pytest.mark.parametrize("count", [20, 250])
def test_a_web_of_schemas_takes_no_long_time(count: int) -> None:
    web = {
        f"S{n}": {
            "allOf": [reference(f"S{(n * 7 + at) % count}") for at in range(30)],
            "properties": {f"p{at}": reference(f"S{(n + at) % count}") for at in range(150)},
        }
        for n in range(count)
    }
    paths = {
        f"/s{chr(97 + n // 26)}{chr(97 + n % 26)}": {
            "get": {"responses": {"200": many(reference(f"S{n}"))}}
        }
        for n in range(count)
    }
    start = process_time()
    with pytest.raises(SpecError):
        api(paths, **web)
    assert process_time() - start < 3


def test_a_later_part_of_an_envelope_says_more() -> None:
    for parts in ([0, 1], [1, 0]):
        both = [
            reference("Wrap"),
            {"properties": {"data": {"type": "array", "items": reference("Parcel")}}},
        ]
        whole = {"allOf": [both[part] for part in parts]}
        spec, _ = api({"/parcels": {"get": {"responses": {"200": body(whole)}}}})
        assert fields(spec, "parcel") == {"name"}


def test_a_later_part_keeps_what_it_leaves_open() -> None:
    sized = {"properties": {"size": {"type": "string", "enum": ["small", "large"]}}}
    box = {"allOf": [NAMED, sized, {"properties": {"size": {"description": "How large."}}}]}
    spec, _ = api({"/boxes": {"get": {"responses": {"200": many(box)}}}})
    assert field(spec.entity("box"), "size").values == ("small", "large")


@pytest.mark.parametrize("code", ["2XX", "2xx", "206", "default"])
def test_results_of_any_good_code_are_read(code: str) -> None:
    spec, _ = api({"/parcels": {"get": {"responses": {code: many(reference("Parcel"))}}}})
    assert fields(spec, "parcel") == {"name"}


@pytest.mark.parametrize(
    "error", [reference("Error"), {"properties": {"status": {}, "detail": {"type": "string"}}}]
)
def test_an_error_is_no_record(error: Json) -> None:
    failing = {"default": body(error)}
    responses = [{"2XX": many(reference("Parcel")), **failing}, failing, {"204": {}, **failing}]
    paths = {
        "/parcels": {"get": {"responses": responses[0]}, "post": {"responses": responses[1]}},
        "/parcels/{id}": {"get": {"responses": responses[2]}},
    }
    spec, _ = api(paths)
    assert fields(spec, "parcel") == {"name"}


def test_last_words_that_name_a_deed_are_no_records() -> None:
    size = {"type": "string", "enum": ["small", "large"]}
    courier = {"type": "object", "properties": {"name": {"type": "string"}, "size": size}}
    paths: Json = {
        "/courier/create": {"post": {"requestBody": body(courier), "responses": {}}},
        "/courier/list": {"get": {"responses": {"200": many(courier)}}},
        "/courier/search": {"get": {"responses": {"200": many(courier)}}},
        "/courier/update/{id}": {"put": {"requestBody": body(courier), "responses": {}}},
        "/courier/{id}/delete": {"post": {"responses": {}}},
    }
    spec, _ = api(paths)
    assert [each.name for each in spec.entities] == ["courier"]
    made = {"add_courier", "list_couriers", "change_courier_size", "remove_courier"}
    assert made == tools(spec)


def test_a_verb_of_a_record_that_a_longer_path_lists_is_no_record() -> None:
    states = {"type": "string", "enum": ["sent", "returned"]}
    parcel = {"type": "object", "properties": {"name": {"type": "string"}, "status": states}}
    listing = {"get": {"responses": {"200": many(parcel)}}}
    spec, _ = api(
        {
            "/organizations": PARCELS,
            "/parcels/{id}/return": {"post": {"responses": {}}},
            "/organizations/{o}/parcels": listing,
        }
    )
    assert [each.name for each in spec.entities] == ["organization", "parcel"]
    assert "return_parcel" in tools(spec)
    assert field(spec.entity("parcel"), "organization_id").to == "organization"


def test_bounds_that_contradict_each_other_are_left_out() -> None:
    weight = {"type": "integer", "minimum": 5, "maximum": 2}
    parcel = {"type": "object", "properties": {"name": {"type": "string"}, "weight": weight}}
    spec, notes = api({"/parcels": {"get": {"responses": {"200": many(parcel)}}}})
    assert "weight" in fields(spec, "parcel")
    assert "left out: the bounds of parcel.weight, since no number is within them" in notes


def test_what_a_verb_must_be_given_and_no_record_has_is_noted() -> None:
    freeze = {"properties": {"until": {"type": "string"}, "fee": {"type": "number"}}}
    taken = body({**freeze, "required": ["until", "fee"]})
    paths: Json = {
        "/members": PARCELS,
        "/members/{id}/freeze": {"post": {"requestBody": taken, "responses": {}}},
    }
    spec, notes = api(paths)
    assert [each.name for each in spec.operation("freeze_member").arguments] == ["member_id"]
    assert any(note.startswith("left out: until and fee of freeze of member") for note in notes)
