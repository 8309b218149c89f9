"""Schemas from signatures, what is accepted, and the sentences a model gets otherwise."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.shelf import books_of, server
from provegym.kernel import Outcome, Session, money

BOOK = {"title": "Reeds", "price": 12.5, "kind": "novel"}
SCHEMA = server.tools["add_book"].input_schema
PARTS = SCHEMA["properties"]


def add(**changes: Any) -> Outcome:
    """Add a book with some arguments changed."""
    return Session([server]).call("add_book", {**BOOK, **changes})


def sentence(arguments: Any, tool: str = "add_book") -> str:
    """What the model is told about wrong arguments."""
    outcome = Session([server]).call(tool, arguments)
    assert outcome.error == "invalid_argument"
    return str(outcome.value["message"])


def test_the_docstring_is_the_description() -> None:
    tool = server.tools["add_book"]
    assert tool.description == "Put a book on the shelf, if there is room for it."
    assert PARTS["title"]["description"] == "What it is called."
    assert PARTS["pages"]["description"] == "How many pages, cover aside."


def test_bounds_enums_formats_and_defaults() -> None:
    assert (PARTS["title"]["minLength"], PARTS["title"]["maxLength"]) == (1, 80)
    assert PARTS["title"]["pattern"] == r"\S"
    assert set(PARTS["kind"]["enum"]) == {"novel", "atlas"}
    assert PARTS["kind"]["type"] == "string"
    assert (PARTS["pages"]["minimum"], PARTS["pages"]["maximum"]) == (1, 900)
    assert (PARTS["pages"]["type"], PARTS["pages"]["default"]) == ("integer", 100)
    assert PARTS["owner"]["maxLength"] == 200


def test_what_is_required_and_that_nothing_else_is_allowed() -> None:
    assert SCHEMA["required"] == ["title", "price", "kind"]
    assert SCHEMA["additionalProperties"] is False
    assert "$defs" not in SCHEMA
    assert "title" not in SCHEMA


def test_nullable_arguments_have_a_list_of_types_and_no_default() -> None:
    assert PARTS["due"]["type"] == ["string", "null"]
    assert PARTS["due"]["format"] == "date-time"
    assert "default" not in PARTS["due"]
    assert PARTS["tags"]["type"] == ["array", "null"]
    assert PARTS["tags"]["maxItems"] == 3
    assert PARTS["tags"]["items"]["maxLength"] == 80


def test_nested_structs_are_written_out() -> None:
    mark = PARTS["mark"]
    assert mark["type"] == ["object", "null"]
    assert mark["description"] == "Where to put it."
    assert mark["properties"]["row"]["description"] == "Which row, from the top."
    assert mark["properties"]["side"]["default"] == "left"
    assert mark["required"] == ["row"]


def test_money_is_a_number_of_whole_cents() -> None:
    assert PARTS["price"]["type"] == "number"
    assert PARTS["price"]["multipleOf"] == 0.01
    assert PARTS["price"]["exclusiveMinimum"] == 0
    output = server.tools["add_book"].output_schema["properties"]["price"]
    assert output["type"] == "number"
    assert isinstance(output.get("default", 0), int | float)


def test_sensitive_arguments_are_known() -> None:
    assert server.tools["add_book"].arguments.sensitive == {"owner"}


def test_paged_tools_take_limit_and_offset() -> None:
    tool = server.tools["list_books"]
    assert tool.paged
    assert list(tool.input_schema["properties"]) == ["title", "limit", "offset"]
    assert tool.input_schema["properties"]["limit"]["maximum"] == 20
    assert set(tool.output_schema["required"]) == {"items", "total"}


@settings(max_examples=200)
@given(st.integers(1, 100_000_000))
def test_every_number_of_cents_arrives_exactly(cents: int) -> None:
    session = Session([server])
    made = session.call("add_book", {**BOOK, "price": cents / 100})
    assert made.ok
    price = books_of(session)[made.value["id"]].price
    assert price == Decimal(cents) / 100
    assert price.as_tuple().exponent == -2


@pytest.mark.parametrize("price", [0, -1, 0.001, 12.345, 1_000_000.01, "12.50", True, 1e-300])
def test_no_other_amount_does(price: Any) -> None:
    assert add(price=price).error == "invalid_argument"


def test_money_rounds_half_up() -> None:
    assert [str(money(text)) for text in ("0.125", "0.135", "1", "-0.005")] == [
        *("0.13", "0.14", "1.00", "-0.01")
    ]


def test_times_arrive_in_utc() -> None:
    session = Session([server])
    made = session.call("add_book", {**BOOK, "due": "2027-05-01T12:00:00+05:30"}).value["id"]
    due = books_of(session)[made].due
    assert due == datetime(2027, 5, 1, 6, 30, tzinfo=UTC)
    assert due is not None
    assert due.tzinfo is UTC


@pytest.mark.parametrize(
    "due", ["2027-05-01T12:00:00", "2027-05-01", "soon", 5, "9999-12-31T23:59:59-12:00"]
)
def test_times_need_a_zone_and_a_year_we_have(due: Any) -> None:
    assert add(due=due).error == "invalid_argument"


def test_a_whole_number_may_be_written_as_a_float_but_not_as_text() -> None:
    assert add(pages=5.0).value["pages"] == 5
    assert add(mark={"row": 2.0}).ok
    assert "expected a whole number" in sentence({**BOOK, "pages": "5"})
    assert "expected a whole number" in sentence({**BOOK, "pages": 5.5})
    assert "expected a whole number" in sentence({**BOOK, "pages": True})


def test_an_unknown_argument_names_the_nearest() -> None:
    assert sentence({"bok_id": "x"}, "remove_book") == (
        "unknown argument 'bok_id'; did you mean 'book_id'?"
    )
    assert sentence({**BOOK, "zzz": 1}).startswith("unknown argument 'zzz'; known are title, price")


def test_missing_arguments_are_named() -> None:
    assert sentence({}) == "missing required arguments 'title', 'price', 'kind'"
    assert sentence({}, "remove_book") == "missing required argument 'book_id'"


def test_a_wrong_choice_lists_the_right_ones() -> None:
    message = sentence({**BOOK, "kind": "poem"})
    assert "'kind'" in message
    assert "atlas, novel" in message or "novel, atlas" in message
    assert "'poem'" in message


def test_a_wrong_choice_in_a_list_a_union_or_an_object_lists_the_right_ones() -> None:
    assert "must be one of left, right, dry; got 'top'" in sentence({"side": "top"}, "turn_books")
    assert "'ends[1]' must be one of left, right" in sentence({"ends": ["left", ""]}, "turn_books")
    assert "each must be one of left, right" in sentence({"ends": "left"}, "turn_books")
    assert "'mark.side' must be one of left, right" in sentence({**BOOK, "mark": {"side": 1}})


def test_a_value_that_looks_like_an_error_is_no_error() -> None:
    assert "must be one of" in sentence({**BOOK, "kind": "x - at `$.price"})
    assert sentence({"x - at `$.title": 1}).startswith("unknown argument 'x - at")


@pytest.mark.parametrize("blank", ["", " ", "\t \n", "\u2003"])
def test_names_are_not_blank(blank: str) -> None:
    assert "'title'" in sentence({**BOOK, "title": blank})
    assert "'tags[1]'" in sentence({**BOOK, "tags": ["reed", blank]})


def test_names_have_single_blanks_between_words() -> None:
    assert add(title="  The \n tall  reeds ").value["title"] == "The tall reeds"
    assert add(tags=[" wet  reeds"]).value["tags"] == ["wet reeds"]


def test_bounds_are_told() -> None:
    assert sentence({**BOOK, "pages": 0}) == (
        "argument 'pages': expected a whole number >= 1, got 0"
    )
    assert "length <= 80" in sentence({**BOOK, "title": "x" * 81})
    assert "'mark.row'" in sentence({**BOOK, "mark": {"row": 10}})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["pages", "price", "due", "tags", "mark"])
def test_a_number_json_does_not_have_is_refused_everywhere(name: str, number: float) -> None:
    assert "NaN or infinite" in sentence({**BOOK, name: number})


@pytest.mark.parametrize("name", ["title", "kind", "due", "owner", "pages", "tags", "mark"])
def test_a_huge_value_is_not_echoed(name: str) -> None:
    assert len(sentence({**BOOK, name: "x" * 50_000})) < 300
    assert len(sentence({**BOOK, "y" * 50_000: 1})) < 300
    assert sentence({**BOOK, name: "x" * 70_000}) == "the arguments are longer than 64000 bytes"


def nested(depth: int) -> str:
    """JSON text of lists in lists."""
    return f'{{"book_id": {"[" * depth}{"]" * depth}}}'


@pytest.mark.parametrize(
    "given",
    [
        *("", "null", "[]", "5", '"x"', "{", '{"book_id": 5, ', '{"book_id": "x"} y', "{'a': 1}"),
        *('{"book_id": 1e400}', '{"book_id": NaN}', '{"book_id": "\\ud800"}', '{"bok": 5, '),
        *(b'{"book_id": "\xff"}', b"\xff", b'{"book_id": 5, "\xff": 1}', '{"book_id": "\ud800"}'),
        *(nested(100), nested(600), nested(900), nested(20_000), '{"a":' * 5_000),
        *(None, [], 5, True, [["book_id", "x"]], {1: 2}, {(1, 2): 3}, {None: 1}),
        *({"book_id": {1, 2}}, {"book_id": object()}, {"book_id": 10**400}),
        *({"book_id": "\ud800"}, {"\ud800": 1}),
    ],
    ids=lambda given: ascii(given)[:24],
)
def test_whatever_is_not_an_object_that_fits_is_refused_in_a_sentence(given: Any) -> None:
    assert 10 < len(sentence(given, "remove_book")) < 300
