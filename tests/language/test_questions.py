"""What a question asks for, and the pointers to its answer."""

import pytest

from provegym.language.questions import MOST_ITEMS, AskedFields, Way, answer_pointers, read_way

ACCOUNT = {"id": "acc_1", "name": "Rainy Day", "balance": 5.0, "currency": "EUR", "open": True}
GIVEN = {"account_id": "acc_1", "name": "rainy day"}


@pytest.mark.parametrize(
    ("written", "words", "asked"),
    [
        ("How is {it}?", "How is {it}?", AskedFields()),
        ("How is {it}? => balance", "How is {it}?", AskedFields(("balance",))),
        (
            "How is {it}? => first balance, name",
            "How is {it}?",
            AskedFields(("balance", "name"), True),
        ),
        ("How many? => count", "How many?", AskedFields(("count",))),
    ],
)
def test_a_way_to_ask_says_what_it_asks_for(written: str, words: str, asked: AskedFields) -> None:
    assert read_way(written) == Way(words, asked)


def test_a_record_answers_with_the_fields_that_are_asked_for() -> None:
    assert answer_pointers(ACCOUNT, GIVEN, "", AskedFields(("balance",))) == ("/balance",)
    both = AskedFields(("currency", "balance"))
    assert answer_pointers(ACCOUNT, GIVEN, "", both) == ("/currency", "/balance")
    assert answer_pointers(ACCOUNT, GIVEN, "") == ("/balance", "/currency")


@pytest.mark.parametrize("field", ["name", "open", "nothing", "account_id"])
def test_nothing_answers_if_the_value_is_known_missing_or_only_yes_or_no(field: str) -> None:
    assert answer_pointers(ACCOUNT, GIVEN, "", AskedFields((field,))) == ()


def test_a_value_in_the_question_is_no_answer() -> None:
    assert answer_pointers(ACCOUNT, GIVEN, "is it in eur?", AskedFields(("currency",))) == ()


def test_a_path_enters_records_and_lists_of_records() -> None:
    order = {"payer": {"name": "Ida"}, "lines": [{"name": "tea"}, {"name": "jam"}, {"name": None}]}
    asked = AskedFields(("payer/name", "lines/name"))
    assert answer_pointers(order, {}, "", asked) == (
        "/payer/name",
        "/lines/0/name",
        "/lines/1/name",
    )
    assert answer_pointers(order, {}, "", AskedFields(("lines/price", "payer/name/first"))) == ()


def test_a_list_answers_with_each_item_or_with_the_first() -> None:
    page = {"items": [ACCOUNT, {**ACCOUNT, "balance": 7.0}], "total": 2}
    asked = AskedFields(("balance", "currency"))
    each = tuple(f"/items/{at}/{name}" for at in range(2) for name in asked.fields)
    assert answer_pointers(page, GIVEN, "", asked) == each
    assert answer_pointers(page, GIVEN, "", asked._replace(first=True)) == each[:2]
    assert answer_pointers(page, GIVEN, "", AskedFields(("count",))) == ("/total",)
    assert answer_pointers(page, GIVEN, "") == ("/items/0/balance", "/items/1/balance")
    assert answer_pointers(page, GIVEN, "which has 7?", AskedFields(("balance",))) == ()


def test_the_total_belongs_to_the_answer_of_a_long_list() -> None:
    many = {"items": [ACCOUNT] * 10, "total": 12}
    shown = [f"/items/{at}/balance" for at in range(MOST_ITEMS)]
    assert answer_pointers(many, GIVEN, "", AskedFields(("balance",))) == ("/total", *shown)
    assert answer_pointers(many, GIVEN, "", AskedFields(("balance",), first=True)) == (shown[0],)


@pytest.mark.parametrize(
    "result", [{"items": [], "total": 0}, {"items": ["a"], "total": 1}, {"owner_id": "cus_1"}]
)
def test_what_holds_no_new_value_has_no_answer(result: dict[str, object]) -> None:
    assert answer_pointers(result, {}, "?") == ()
