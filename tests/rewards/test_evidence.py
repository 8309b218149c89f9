"""Evidence: a result shows a fact only in a record about the same thing."""

import msgspec

from provegym.rewards.evidence import bare, holds, shows
from provegym.trace import Call, Checks, Evidence, Fact, Json

RAN = Checks(shown=True, fits=True, ran=True)
CARDS: Json = {
    "items": [
        {"id": "crd_1", "last_four": "1078", "account": {"id": "acc_1", "name": "Everyday"}},
        {"id": "crd_2", "last_four": "9666", "tags": ["travel"], "uses": [{"id": "trx_7"}]},
    ],
    "total": 2,
}


def in_cards(*about: object, **fields: object) -> bool:
    """Whether the list of cards shows a fact."""
    return holds(msgspec.json.encode(CARDS).decode(), [Fact(fields=fields, about=about)])


def test_a_fact_stands_in_one_record() -> None:
    assert in_cards("crd_1", "1078")
    assert not in_cards("crd_1", "9666")
    assert in_cards("crd_2", last_four="9666")
    assert not in_cards("crd_2", last_four="1078")


def test_a_record_is_about_what_is_in_it_and_around_it() -> None:
    assert in_cards("crd_1", "everyday")
    assert in_cards("acc_1", "1078")
    assert in_cards("crd_2", "travel")
    assert in_cards("trx_7", "crd_2")
    assert not in_cards("trx_7", "crd_1")


def test_records_of_a_list_are_apart() -> None:
    assert not in_cards("crd_1", "crd_2")
    assert in_cards(total=2)


def test_only_a_call_that_ran_shows_what_is_not_tied_to_its_own_call() -> None:
    call = Call(
        turn=0,
        message=0,
        tool="any",
        arguments={},
        checks=RAN,
        result=msgspec.json.encode(CARDS).decode(),
    )
    facts = (Fact(about=("crd_1", "1078")),)
    assert shows(call, Evidence(facts=facts))
    assert not shows(call, Evidence(facts=facts, tied=True))
    assert not shows(call, Evidence())
    assert not shows(call, None)
    assert not shows(
        msgspec.structs.replace(call, checks=Checks(shown=True)), Evidence(facts=facts)
    )


def test_an_empty_list_shows_nothing() -> None:
    assert not holds('{"items": [], "total": 0}', [Fact(about=("crd_1", "1078"))])
    assert not holds("no JSON", [Fact(about=("crd_1",))])


def test_arguments_that_change_nothing_are_ignored() -> None:
    given = {"name": "Ada", "limit": 20, "offset": 0, "kind": None, "sort": "asc", "open": False}
    assert bare(given, {"name": ""}, {"sort": "asc"}) == {"name": "Ada", "open": False}
    assert bare(given, {"name": "", "kind": None}, {"sort": "desc"}) == {
        "name": "Ada",
        "kind": None,
        "sort": "asc",
        "open": False,
    }
    assert bare({"limit": 2}, {}, {}) == {"limit": 2}
