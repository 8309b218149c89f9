"""Conversations that make no sense break the contract: each kind of fault, made on purpose."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from provegym.kernel import Outcome, Session
from provegym.language.things import survey
from provegym.players.plan import Plan, tool_call
from provegym.players.scripted import Script
from provegym.rollout import play_script
from provegym.servers import load
from provegym.trace import Claim, Example, Path, Provenance, RelationClaim, Step, Turn
from provegym.verify import proofs, sense, verify
from provegym.verify.claims import attempts, relations_hold
from provegym.verify.complete import complete
from provegym.verify.replay import Replay, replay

put = msgspec.structs.replace
WORLD = 7


def bank() -> Session:
    """A fresh bank."""
    return Session([load("banking")], WORLD)


def talk(
    *turns: str,
    steps: list[tuple[int, str, dict[str, Any], tuple[str, ...]]],
    server: str = "banking",
    **more: Any,
) -> Example:
    """A completed example, on the bank if nothing else is said."""
    made = tuple(Step(turn=t, tool=tool, arguments=a, answers=w) for t, tool, a, w in steps)
    example = Example(
        id="talk",
        kind="multi_turn",
        server=server,
        server_version=0,
        seed=WORLD,
        digest="",
        system="You help.",
        turns=tuple(Turn(text=text) for text in turns),
        paths=(Path(steps=made),),
        provenance=Provenance(**more),
    )
    return complete(example)


def gold(example: Example) -> Replay:
    """The replay of its first path."""
    return replay(example, example.paths[0])


def card() -> dict[str, Any]:
    """An active card."""
    cards = bank().call("list_cards", {}).value["items"]
    return next(each for each in cards if each["status"] == "active")


def test_a_key_beside_another_name_is_not_understood() -> None:
    mine = card()
    phrase = survey(bank()).things[mine["id"]].names[0]
    freeze = (0, "set_card_status", {"card_id": mine["id"], "status": "frozen"}, ())
    names = (((phrase, mine["id"]),),)
    good = talk(f"Freeze {phrase}.", steps=[(0, "list_cards", {}, ()), freeze], names=names)
    assert not list(sense.ids_are_understood(good, gold(good)))
    played = gold(good)
    passing = {"items": [{"id": "trx_1", "card_id": mine["id"], "place": "Bakery"}], "total": 1}
    text = msgspec.json.encode(passing).decode()
    looked = replace(played.played[0], outcome=Outcome(text))
    bad = replace(played, played=(looked, *played.played[1:]))
    assert list(sense.ids_are_understood(good, bad))


def test_a_key_is_understood_by_the_name_that_its_own_turn_says() -> None:
    mine = card()
    things = survey(bank()).things
    account = things[mine["account_id"]].names[0]
    phrase = things[mine["id"]].names[0]
    asked = (1, "search_transactions", {"account_id": mine["account_id"]}, ("/total",))
    accounts = (0, "list_accounts", {}, ("/total",))
    cards = (1, "list_cards", {}, ())
    names = (((account, mine["account_id"]),), ((phrase, mine["id"]),))
    turns = (
        f"How many accounts like {account} are there?",
        f"Payments of the account of {phrase}?",
    )
    blind = talk(*turns, steps=[accounts, asked], names=names)
    assert list(sense.ids_are_understood(blind, gold(blind)))
    seeing = talk(*turns, steps=[accounts, cards, asked], names=names)
    assert not list(sense.ids_are_understood(seeing, gold(seeing)))


def test_a_refusal_needs_the_refused_thing_alone() -> None:
    cards = bank().call("list_cards", {}).value["items"]
    at = max(at for at, each in enumerate(cards) if each["status"] == "cancelled")
    refused = Claim(
        turn=0, tool="set_card_status", arguments={"card_id": cards[at]["id"], "status": "frozen"}
    )
    steps: list[Any] = [(0, "list_cards", {}, (f"/items/{at}/status",))]
    given_up = talk("Freeze my old card.", steps=steps, infeasible=refused)
    evidence = given_up.paths[0].steps[0].evidence
    assert evidence is not None
    assert [fact.about for fact in evidence.facts] == [(cards[at]["id"],)]


def test_a_record_that_a_write_refers_to_is_not_made_up() -> None:
    home = Session([load("iot_devices")], WORLD)
    lamp = home.call("list_home_devices", {"kind": "light"}).value["items"][0]
    until = (home.now + timedelta(days=9)).isoformat().replace("+00:00", "Z")
    steps: list[Any] = [
        (0, "set_vacation_mode", {"until": until}, ()),
        (1, "list_home_devices", {"name": lamp["name"]}, ()),
        (1, "switch_device", {"device_id": lamp["id"], "power": "on"}, ()),
    ]
    turns = ("We are away.", f"Switch {lamp['name']} on.")
    names = ((), ((lamp["name"], lamp["id"]),))
    away = talk(*turns, steps=steps, server="iot_devices", names=names)
    evidence = away.paths[0].steps[1].evidence
    assert evidence is not None
    assert not evidence.tied


def test_an_answer_that_a_later_write_changes_is_stale() -> None:
    read = (0, "list_accounts", {}, ("/total",))
    make = (0, "open_account", {"name": "Rainy Day", "kind": "savings"}, ())
    stale = talk(
        "How many accounts have I? Then open a savings account Rainy Day.", steps=[read, make]
    )
    assert any("changes the answer" in each for each in sense.answers_last(gold(stale)))
    fresh = talk("Open a savings account Rainy Day. How many accounts have I?", steps=[make, read])
    assert not list(sense.answers_last(gold(fresh)))


def test_a_question_does_not_say_its_answer() -> None:
    name = bank().call("list_accounts", {}).value["items"][0]["name"]
    read = (0, "list_accounts", {"name": name}, ("/items/0/name",))
    told = talk(f"Which account is called {name}?", steps=[read])
    assert any("says itself" in each for each in proofs.answers(told, gold(told)))
    asked = talk("Which account comes first?", steps=[read])
    assert not list(proofs.answers(asked, gold(asked)))


def test_nobody_asks_for_what_an_earlier_turn_has_shown() -> None:
    account = bank().call("list_accounts", {}).value["items"][0]
    listed = (0, "list_accounts", {}, ("/items/0/balance",))
    again = (1, "get_account", {"account_id": account["id"]}, ("/account/balance",))
    asked = talk("Which accounts do I have?", "What is on it?", steps=[listed, again])
    assert list(sense.answers_are_news(gold(asked))) == ["step 1: turn 0 has shown the answer"]
    other = (1, "list_cards", {}, ("/items/0/status",))
    news = talk("Which accounts do I have?", "And cards?", steps=[listed, other])
    assert not list(sense.answers_are_news(gold(news)))


def test_what_is_near_one_place_is_no_answer_about_another() -> None:
    """The result lists pharmacies and does not say near what; any place finds the same ones."""
    city = Session([load("maps")], WORLD)
    here, there = (each["id"] for each in city.call("search_places", {}).value["items"][:2])
    pointers = ("/items/0/name", "/items/1/name")

    def near(place: str) -> dict[str, Any]:
        return {"place_id": place, "category": "pharmacy"}

    example = talk(
        "Which pharmacies are near?",
        steps=[(0, "find_nearby_places", near(here), pointers)],
        server="maps",
    )
    for place, is_right in ((here, True), (there, False)):
        calls: Plan = [[[tool_call("find_nearby_places", near(place))]]]
        policy = Script(example, calls, words="It is nice there.")
        found = play_script(example, lambda _, policy=policy: policy)
        assert found.verdict is not None
        assert found.verdict.state == is_right


def test_a_write_that_is_undone_later_leaves_no_trace() -> None:
    """Child lock off, level set, lock on again is another matter: the lock had to be off."""
    mine = card()
    freeze = {"card_id": mine["id"], "status": "frozen"}
    thaw = {"card_id": mine["id"], "status": "active"}
    for later in (0, 1):
        steps = [(0, "set_card_status", freeze, ()), (later, "set_card_status", thaw, ())]
        undone = gold(talk("Freeze it.", "Unfreeze it.", steps=steps))
        assert list(proofs.necessary(undone)) == ["step 0 (set_card_status) is undone later"]
    kept = gold(talk("Freeze it.", steps=steps[:1]))
    assert not list(proofs.necessary(kept))


def test_what_a_turn_makes_it_does_not_end() -> None:
    make = (0, "open_account", {"name": "Rainy Day", "kind": "savings"}, ())
    key = (
        gold(talk("Open a savings account Rainy Day.", steps=[make])).played[0].outcome.value["id"]
    )
    close = (0, "close_account", {"account_id": key}, ())
    both = talk("Open a savings account Rainy Day. Then close it.", steps=[make, close])
    assert any("ends it" in each for each in sense.nothing_ends_at_once(gold(both)))


def test_nothing_meets_itself() -> None:
    account = bank().call("list_accounts", {}).value["items"][0]["id"]
    played = gold(talk("Show my accounts.", steps=[(0, "list_accounts", {}, ())]))
    given = {"from_account_id": account, "to_account_id": account}
    odd = replace(played, played=(replace(played.played[0], arguments=given),))
    assert list(sense.nothing_meets_itself(odd))
    assert not list(sense.nothing_meets_itself(played))


def test_a_code_is_not_said_before_it_is_made() -> None:
    make = (0, "open_account", {"name": "Rainy Day", "kind": "savings"}, ())
    example = talk("Open a savings account Rainy Day.", "Thanks.", steps=[make])
    result = gold(example).played[0].outcome.value
    code = result["iban"]
    said = put(example, turns=(Turn(text=f"Open {code}."), Turn(text="Thanks.")))
    assert any("yet to make" in each for each in sense.nothing_is_foreseen(said, gold(said)))
    later = put(example, turns=(example.turns[0], Turn(text=f"Is {code} right?")))
    assert not list(sense.nothing_is_foreseen(later, gold(later)))


def test_the_new_one_is_one() -> None:
    one = (0, "open_account", {"name": "Rainy Day", "kind": "savings"}, ())
    two = (1, "open_account", {"name": "Sunny Day", "kind": "savings"}, ())
    turns = ("Open Rainy Day.", "Open Sunny Day.", "Close the new account.")
    both = talk(*turns, steps=[one, two])
    assert any("are new" in each for each in sense.new_ones_are_one(both, gold(both)))
    alone = talk(*turns, steps=[one])
    assert not list(sense.new_ones_are_one(alone, gold(alone)))


def test_nothing_relates_to_itself() -> None:
    order = bank().call("list_standing_orders", {}).value["items"][0]
    claim = RelationClaim(
        turn=0,
        phrase="the account of it",
        key=order["account_id"],
        owner=order["id"],
        field="account_id",
        at="",
    )
    step = Step(turn=0, tool="any", arguments={"one": order["account_id"], "two": order["id"]})
    example = put(
        talk("Move the account of it.", steps=[(0, "list_standing_orders", {}, ())]),
        provenance=Provenance(relations=(claim,)),
    )
    played = gold(example)
    taking = replace(played.played[0], step=step, arguments=step.arguments)
    odd = replace(played, played=(taking,))
    assert any("to itself" in each for each in relations_hold(example, odd))
    assert not any("to itself" in each for each in relations_hold(example, played))


def failing(tool: str, arguments: dict[str, Any], error: str) -> Iterator[str]:
    """The problems of an attempt before the first call."""
    from provegym.trace import Attempt

    mine = card()
    steps = [
        (0, "list_cards", {}, ()),
        (0, "set_card_status", {"card_id": mine["id"], "status": "frozen"}, ()),
    ]
    tried = Attempt(before=0, tool=tool, arguments=arguments, error=error)  # type: ignore[arg-type]
    example = talk("Freeze my card.", steps=steps, attempts=(tried,))
    return attempts(example, gold(example))


def test_an_attempt_takes_no_id_that_was_never_shown() -> None:
    arguments = {"card_id": card()["id"], "status": "melted"}
    assert any("nothing has shown" in p for p in failing("set_card_status", arguments, "invalid"))
    named = {"card_id": "my card", "status": "frozen"}
    assert not any("has shown" in p for p in failing("set_card_status", named, "not_found"))


@pytest.mark.parametrize("words", ["Done.", "I found nothing."])
def test_a_transcript_must_say_what_was_asked(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example = talk("How many accounts have I?", steps=[(0, "list_accounts", {}, ("/total",))])
    assert not list(sense.transcript_holds(example))
    assert verify(example) == []
    monkeypatch.setattr("provegym.players.gold.words", lambda *_: words)
    assert any("answer not right" in each for each in sense.transcript_holds(example))
