"""Worlds from API descriptions: paths and schemas become entities, tools and guards."""

import json
import time
from typing import Any

import pytest

from provegym.worlds import from_openapi
from provegym.worlds.schemas.api_document import load
from provegym.worlds.spec import SpecError
from worlds.schemas import converted, field

YAML = """
openapi: 3.0.3
info: {title: A clinic for pets}
paths:
  /v1/owners:
    get:
      responses:
        "200":
          content:
            application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Owner"}}}
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Owner"}}}}
      responses: {"201": {description: made}}
  /v1/owners/{ownerId}/pets:
    get:
      parameters: [{name: status, in: query, schema: {type: string}}, {name: limit, in: query}]
      responses:
        "200":
          content:
            application/json:
              schema:
                type: object
                properties: {data: {type: array, items: {$ref: "#/components/schemas/Pet"}}}
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
      responses: {}
  /v1/owners/{ownerId}/pets/{petId}:
    patch:
      requestBody:
        content:
          application/json: {schema: {type: object, properties: {price: {type: number}}}}
      responses: {}
    delete: {responses: {}}
  /v1/pets/{petId}/adopt:
    post: {responses: {}}
  /v1/pets/{petId}/archive:
    post: {responses: {}}
components:
  schemas:
    Named: {type: object, required: [name], properties: {name: {type: string}}}
    Owner:
      allOf:
        - {$ref: "#/components/schemas/Named"}
        - {type: object, properties: {email: {type: string, format: email}}}
    Pet:
      allOf:
        - {$ref: "#/components/schemas/Named"}
        - type: object
          required: [name, price]
          properties:
            price: {type: number, minimum: 5, maximum: 80}
            status: {type: string, enum: [available, sold, archived]}
            born: {type: string, format: date}
            photo: {type: string, format: binary}
"""


def test_paths_become_entities_and_inner_paths_references() -> None:
    spec, notes = from_openapi.spec_of(YAML, "clinic")
    pet = spec.entity("pet")
    assert [entity.name for entity in spec.entities] == ["owner", "pet"]
    assert field(pet, "owner_id").to == "owner"
    assert field(pet, "status").values == ("available", "sold", "archived")
    assert spec.about == "A world of clinic, from an API description: A clinic for pets."
    assert any(note.startswith("left out: pet.photo") for note in notes)


def test_methods_become_tools_and_schemas_bounds() -> None:
    spec, _ = from_openapi.spec_of(YAML, "clinic")
    tools = {operation.tool for operation in spec.operations}
    assert {"list_owners", "add_owner", "list_pets", "add_pet", "remove_pet"} <= tools
    assert "change_pet_price" in tools
    assert "remove_owner" not in tools
    price = next(each for each in spec.operation("add_pet").arguments if each.name == "price")
    assert (price.low, price.high, price.optional) == (5, 80, False)


def test_verbs_of_paths_are_transitions() -> None:
    spec, _ = from_openapi.spec_of(YAML, "clinic")
    archive = spec.operation("archive_pet")
    assert archive.kind == "transition"
    assert archive.effects[0].set == {"status": "archived"}


def test_a_status_that_verbs_need_is_added_and_said() -> None:
    spec, notes = converted("netlify.json")
    assert "added: deploy.status, since cancel, lock, unlock, restore must lead somewhere" in notes
    assert {"cancel_deploy", "lock_deploy", "unlock_deploy"} <= {o.tool for o in spec.operations}
    assert spec.operation("cancel_deploy").kind == "cancel"


def test_petstore_without_a_list_can_still_be_listed() -> None:
    spec, notes = converted("petstore.json")
    assert [entity.name for entity in spec.entities] == ["pet", "user", "order"]
    assert "changed: pet can be listed, since ids have to be found somewhere" in notes
    assert spec.operation("set_pet_status").kind == "transition"


def described(**more: Any) -> str:
    return json.dumps({"openapi": "3.0.0", "info": {"title": "x"}, **more})


def recursive() -> str:
    schema = {"allOf": [{"$ref": "#/x"}] * 30, "properties": {"me": {"$ref": "#/x"}}}
    answer = {"200": {"schema": {"$ref": "#/x"}}}
    return described(paths={"/pets": {"get": {"responses": answer}}}, x=schema)


BOMB = "a: &a [x, x]\n" + "".join(f"b{at}: &b{at} [*a, *a]\n" for at in range(30))
HOSTILE = {
    "empty": "",
    "a list": "[1]",
    "half": "{",
    "no paths": described(),
    "aliases": BOMB,
    "deep YAML": "[" * 100_000,
    "deep flow": "x: " + "{a: " * 20_000,
    "deep JSON": '{"a":' * 100_000,
    "a tag": "!!python/object/apply:os.system ['true']",
    "many paths": described(paths={f"/p{at}": {"get": {}} for at in range(5_000)}),
    "odd types": described(paths={"/pets": {"get": {"responses": [1], "parameters": [None, 1]}}}),
    "recursive": recursive(),
    "huge": "{" + " " * 17_000_000,
    "another version": '{"swagger": "1.2", "paths": {}}',
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_descriptions_end_soon_in_a_sentence(case: str) -> None:
    start = time.process_time()
    with pytest.raises(SpecError) as told:
        from_openapi.spec_of(HOSTILE[case], "hostile")
    assert "\n" not in str(told.value)
    assert time.process_time() - start < 1.5


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(SpecError, match=r"yaml is missing: .*pip install '\.\[worlds\]'"):
        from_openapi.spec_of(YAML, "clinic")


def test_keys_and_words_of_yaml_are_text_unless_they_are_true_or_false() -> None:
    text = """
openapi: 3.0.0
info: {title: lamps, version: 2026-11-18}
paths:
  /lamps:
    get: {responses: {200: {description: all}}, deprecated: false}
components:
  schemas:
    Lamp: {properties: {on: {type: boolean}, 2020: {type: string}, no: {type: string}}}
"""
    document = load(text)
    assert list(document["components"]["schemas"]["Lamp"]["properties"]) == ["on", "2020", "no"]
    assert document["info"]["version"] == "2026-11-18"
    get = document["paths"]["/lamps"]["get"]
    assert get["deprecated"] is False
    assert list(get["responses"]) == ["200"]
