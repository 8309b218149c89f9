"""Verbs of paths, own names, filters and statuses in worlds from API descriptions."""

import json
from typing import Any

from provegym.kernel import Session
from provegym.worlds import from_openapi
from provegym.worlds.build import build
from provegym.worlds.spec import WorldSpec
from worlds.schemas import field

Json = dict[str, Any]
DEAL = {"$ref": "#/components/schemas/Deal"}
STAGES = ["closed", "lost", "new", "talks", "won"]
DEAL_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "kind": {"anyOf": [{"type": "string", "enum": ["big"]}, {"type": "string", "enum": ["s"]}]},
        "city": {"type": "string"},
        "amount": {"type": "number"},
        "stage": {"type": "string", "enum": STAGES},
        "due": {"type": "string", "format": "date"},
    },
}
NOTE_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "deal_id": {"type": "string"},
    },
}


def answers(schema: Json) -> Json:
    return {"200": {"content": {"application/json": {"schema": schema}}}}


def taking(required: list[str], **properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"content": {"application/json": {"schema": schema}}}


def verb(body: Json | None = None, schema: Json = DEAL) -> Json:
    return {"post": {"requestBody": body or {}, "responses": answers(schema)}}


def world(**paths: Json) -> tuple[WorldSpec, list[str]]:
    """A world of deals with further paths below one of them, or below /."""
    query = [{"name": name, "in": "query", "schema": {}} for name in ("kind", "city", "stage")]
    listed = {"type": "array", "items": DEAL}
    price = {"type": "number", "exclusiveMinimum": 0, "maximum": 500}
    text = {"type": "string"}
    adds = taking(["name", "amount"], name=text, amount=price)
    stage = {"type": "string", "enum": ["talks", "won"]}
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/deals": {
                "get": {"parameters": query, "responses": answers(listed)},
                "post": {"requestBody": adds, "responses": answers(DEAL)},
            },
            "/deals/{deal_id}": {
                "get": {"responses": answers(DEAL)},
                "patch": {"requestBody": taking([], stage=stage), "responses": answers(DEAL)},
            },
            **{f"/deals/{{deal_id}}/{name}": path for name, path in paths.items()},
        },
        "components": {"schemas": {"Deal": DEAL_SCHEMA, "Note": NOTE_SCHEMA}},
    }
    return from_openapi.spec_of(json.dumps(document), "deals")


def names(spec: WorldSpec) -> list[str]:
    return [entity.name for entity in spec.entities]


def test_an_unknown_verb_sets_what_its_body_and_the_record_share() -> None:
    due = {"type": "string", "format": "date"}
    spec, _ = world(postpone=verb(taking(["due", "reason"], due=due, reason={"type": "string"})))
    operation = spec.operation("postpone_deal")
    assert names(spec) == ["deal"]
    assert [argument.name for argument in operation.arguments] == ["deal_id", "due"]
    session = Session([build(spec)], 0)
    deal = session.call("list_deals", {}).value["items"][0]
    given = {"deal_id": deal["id"], "due": "2031-05-06"}
    assert session.call("postpone_deal", given).value["due"] == "2031-05-06"
    assert session.call("postpone_deal", given).error == "rejected"


def test_an_enum_of_a_body_that_has_values_of_the_status_sets_it() -> None:
    ends = {"type": "string", "enum": ["won", "lost"]}
    spec, _ = world(settle=verb(taking(["outcome"], outcome=ends)))
    operation = spec.operation("settle_deal")
    assert operation.kind == "transition"
    assert operation.arguments[1].values == ("won", "lost")
    assert operation.effects[0].set == {"stage": "$outcome"}


def test_a_verb_that_names_a_status_sets_it_and_others_are_left_out() -> None:
    spec, notes = world(end=verb(), watch=verb(), move_car_windows=verb())
    assert spec.operation("end_deal").effects[0].set == {"stage": "closed"}
    assert names(spec) == ["deal"]
    assert "left out: watch of deal, since no stage is known for it" in notes
    assert "left out: move_car_windows of deal, since no stage is known for it" in notes


def test_a_path_that_can_be_read_is_still_a_record() -> None:
    note = {"$ref": "#/components/schemas/Note"}
    read = {"get": {"responses": answers({"type": "array", "items": note})}}
    spec, _ = world(notes={**read, **verb(taking(["title"], title={"type": "string"}), note)})
    assert names(spec) == ["deal", "note"]
    spec, _ = world(notes=read, jot=verb(taking(["title"], title={"type": "string"}), note))
    given = {argument.name for argument in spec.operation("add_note").arguments}
    assert given == {"title", "deal_id"}


def test_the_record_says_which_values_there_are_and_a_body_which_it_takes() -> None:
    spec, _ = world()
    stage = field(spec.entity("deal"), "stage")
    assert stage.values == tuple(STAGES)
    assert stage.start == "new"
    assert spec.operation("set_deal_stage").arguments[1].values == ("talks", "won")
    assert field(spec.entity("deal"), "kind").values == ("big", "s")


def test_an_exclusive_bound_of_money_is_a_cent_away() -> None:
    spec, _ = world()
    amount = next(each for each in spec.operation("add_deal").arguments if each.name == "amount")
    assert (amount.low, amount.high) == (0.01, 500)


def test_names_of_arguments_and_filters_are_those_of_the_api() -> None:
    spec, _ = world()
    assert "name" in [argument.name for argument in spec.operation("add_deal").arguments]
    filters = {argument.name for argument in spec.operation("list_deals").arguments}
    assert filters == {"name", "kind", "city", "stage"}


def test_a_record_that_can_be_read_has_a_tool() -> None:
    spec, _ = world()
    session = Session([build(spec)], 0)
    deal = session.call("list_deals", {}).value["items"][0]
    assert session.call("get_deal", {"deal_id": deal["id"]}).value == deal


def test_a_code_and_a_property_that_is_called_as_its_record_make_a_world() -> None:
    code = {"type": "object", "properties": {"code": {"type": "string"}}}
    answer = {"name": {"type": "string"}, "answer": {"type": "string", "enum": ["yes", "no"]}}
    given = {"post": {"requestBody": taking(["name", "answer"], **answer), "responses": {}}}
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/promo_codes": {"get": {"responses": answers({"type": "array", "items": code})}},
            "/answers": given,
        },
    }
    spec, _ = from_openapi.spec_of(json.dumps(document), "odd")
    assert field(spec.entity("promo_code"), "code").kind == "code"
    given_names = [argument.name for argument in spec.operation("add_answer").arguments]
    assert given_names == ["name", "answer_given"]
