"""The seeker: every read that what is known allows, the shortest roads, equal worlds once."""

from itertools import combinations
from typing import Any

import pytest

from provegym import search as seeking
from provegym.kernel import Session
from provegym.language.things import survey
from provegym.language.values import spoken_values
from provegym.search import MOST_KEYS, Road, Seeker, Seen, Wanted, draws, key_leaves
from provegym.servers import load
from provegym.toolbox import Toolbox
from provegym.trace import Fact

BANK = load("banking")
TOOLS = Toolbox(BANK.tools.values())


def bank(world: int = 4) -> Session:
    """A fresh bank."""
    return Session([BANK], world)


def named(session: Session, noun: str, count: int) -> list[Any]:
    """Some things of a kind."""
    seen = survey(session)
    return [seen.things[key] for key in seen.named[noun][:count]]


def yields(key: str, *marks: Any) -> Wanted:
    """The goal of a lookup: this key, in a record that holds all the marks."""
    return Wanted(Fact(about=(key, *marks)))


def seek(session: Session, things: list[Any], length: int) -> list[Road]:
    """The roads to some things that are called by their names."""
    said = spoken_values(session, " and ".join(thing.fields["name"] for thing in things))
    wanted = [yields(thing.key, thing.fields["name"]) for thing in things]
    return Seeker(session, TOOLS, wanted).roads(said, length)


def test_each_road_yields_all_that_is_wanted_and_holds_no_other() -> None:
    session = bank()
    things = named(session, "account", 2) + named(session, "payee", 1)
    roads = seek(session, things, 3)
    assert roads
    for road in roads:
        texts = [session.call(read.tool, read.arguments).text for read in road]
        assert all(any(thing.key in text for text in texts) for thing in things)
        assert all(not BANK.tools[read.tool].writes for read in road)
    calls = [{(read.tool, str(read.arguments)) for read in road} for road in roads]
    assert not [pair for pair in combinations(calls, 2) if pair[0] <= pair[1]]
    assert [len(road) for road in roads] == sorted(len(road) for road in roads)


def test_one_read_for_two_of_a_kind_and_two_for_two_kinds() -> None:
    session = bank()
    assert len(seek(session, named(session, "account", 2), 2)[0]) == 1
    both = named(session, "account", 1) + named(session, "payee", 1)
    assert len(seek(session, both, 3)[0]) == 2
    assert seek(session, both, 1) == []


def test_what_is_behind_a_key_is_found_one_step_further() -> None:
    server = load("payments")
    session = Session([server], 3)
    seen = survey(session)
    invoice = next(t for t in seen.things.values() if t.noun == "invoice")
    said = spoken_values(session, f"{invoice.fields['customer_name']}: "
                                  f"{invoice.fields['description']}")  # fmt: skip
    wanted = [yields(invoice.key, invoice.fields["description"])]
    box = Toolbox(server.tools.values())
    roads = Seeker(session, box, wanted).roads(said, 2)
    assert [read.tool for read in roads[0]] == ["list_billing_customers", "list_invoices"]
    assert roads[0][1].arguments["customer_id"] == invoice.fields["customer_id"]
    assert Seeker(session, box, wanted).roads(said, 1) == []


def test_a_key_beside_nothing_that_was_said_is_of_no_use() -> None:
    session = bank()
    (account,) = named(session, "account", 1)
    wanted = yields(account.key, account.fields["name"])
    accounts, cards = (
        Seen(session.call(f"list_{name}", {}).text) for name in ("accounts", "cards")
    )
    assert account.key in cards.text
    assert accounts.has(wanted)
    assert not cards.has(wanted)
    assert cards.has(yields(account.key))
    assert not accounts.has(yields(account.key, account.fields["name"], "and more"))


def test_equal_worlds_are_asked_once_and_others_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    call = Session.call
    seeking.results_on.cache_clear()

    def counted(self: Session, name: str, arguments: Any) -> Any:
        asked.append(name)
        return call(self, name, arguments)

    session = bank(9)
    things = named(session, "account", 1)
    monkeypatch.setattr(Session, "call", counted)
    first = seek(session, things, 1)
    count = len(asked)
    assert count
    assert seek(bank(9), things, 1) == first
    assert len(asked) == count
    orders = session.call("list_standing_orders", {}).value["items"]
    paid = {order["payee_id"] for order in orders}
    payees = session.call("list_payees", {}).value["items"]
    other = next(payee["id"] for payee in payees if payee["id"] not in paid)
    assert session.call("remove_payee", {"payee_id": other}).ok
    asked.clear()
    seek(session, things, 1)
    assert len(asked) == count


def test_only_so_many_calls_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeking, "MOST_CALLS", 5)
    session = bank()
    search = Seeker(session, TOOLS, [yields("nothing", "at all")])
    assert search.roads([f"word {n}" for n in range(50)], 2) == []
    assert search.calls == 5


def test_tools_of_no_session_are_passed_over() -> None:
    box = Toolbox([*BANK.tools.values(), *load("maps").tools.values()])
    session = bank()
    (account,) = named(session, "account", 1)
    wanted = [yields(account.key, account.fields["name"])]
    roads = Seeker(session, box, wanted).roads([account.fields["name"]], 1)
    assert roads
    assert {read.tool for road in roads for read in road} <= BANK.tools.keys()


def test_arguments_are_drawn_from_what_is_known() -> None:
    schema = {
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer"},
            "sort": {"enum": ["up", "down", None]},
            "on": {"type": ["string", "null"], "format": "date"},
            "open": {"type": "boolean"},
            "limit": {"type": "integer"},
        },
        "required": ["name"],
    }
    drawn = list(draws(schema, ["Ada", 3, "2026-01-02"], {}, bare=True))
    assert drawn == [
        {"name": "Ada"},
        {"name": "Ada", "count": 3},
        {"name": "Ada", "sort": "up"},
        {"name": "Ada", "sort": "down"},
        {"name": "Ada", "on": "2026-01-02"},
        {"name": "Ada", "open": True},
    ]
    assert list(draws({"properties": {}}, [], {}, bare=True)) == [{}]
    assert list(draws({"properties": {}}, [], {}, bare=False)) == []


def test_keys_are_taken_from_records_that_mention_what_was_said() -> None:
    result = {
        "items": [
            {"id": "acc_1", "name": "Rainy Day", "kind": "savings", "iban": "DE12"},
            {"id": "acc_2", "name": "Everyday", "owner": {"id": "cus_9", "name": "Rainy Day"}},
        ]
    }
    assert key_leaves(result, {"rainy day"}) == ["acc_1", "DE12", "cus_9"]
    assert key_leaves(result, {"nobody"}) == []
    many = [{"id": f"acc_{n}", "name": "Rainy Day"} for n in range(2 * MOST_KEYS)]
    assert len(key_leaves(many, {"rainy day"})) == MOST_KEYS


def test_an_argument_named_after_a_thing_takes_only_its_ids() -> None:
    text = {"type": "string"}
    schema = {"properties": {"card_id": text, "owner_id": text}, "required": ["card_id"]}
    nouns = {"crd": "card", "acc": "account"}
    drawn = list(draws(schema, ["crd_1", "acc_2", "Ada"], nouns, bare=True))
    assert {each["card_id"] for each in drawn} == {"crd_1"}
    assert {each.get("owner_id") for each in drawn} == {None, "crd_1", "acc_2", "Ada"}
