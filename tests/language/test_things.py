"""What there is to talk about: names that are one thing's own, found by looking, looked at once."""

import re
from collections import Counter

import pytest

from provegym.kernel import Session
from provegym.language import things as grounding
from provegym.language.things import MOST_VALUE, SURVEYS, Survey, Thing, fill, noun_of, survey
from provegym.servers import load, names

WORLDS = (3, 411, 905)
INTERNAL = re.compile(r"\b[a-z]+_\d+\b")


def look(name: str, world: int = 3) -> Survey:
    """The survey of a fresh world."""
    return survey(Session([load(name)], world))


@pytest.mark.parametrize("name", names())
def test_a_name_belongs_to_one_thing_of_its_kind(name: str) -> None:
    for world in WORLDS:
        things = look(name, world).things.values()
        assert things
        counts = Counter((t.noun, said.casefold()) for t in things for said in t.names)
        assert set(counts.values()) == {1}
        assert not [said for _, said in counts if INTERNAL.search(said)]


@pytest.mark.parametrize("name", names())
def test_a_name_is_made_of_what_the_world_shows(name: str) -> None:
    """Each thing is in the world under its key, with the fields that its names speak of."""
    server = load(name)
    state = Session([server], 3).state(server)
    keys = {
        str(getattr(row, spec.key))
        for at, spec in state.tables.items()
        for row in getattr(state, at)
    }
    for thing in look(name).things.values():
        assert thing.key in keys or not noun_of(server, thing.key)
        said = {fill(way, thing.fields) for way in grounding.asks(name)["refer"][thing.noun]}
        assert set(thing.names) <= said


@pytest.mark.parametrize(
    ("way", "fields", "said"),
    [
        ("{name}", {"name": "Ada"}, "Ada"),
        ("the {amount} from {place}", {"amount": 5.5, "place": "Ada's"}, "the 5.50 from Ada's"),
        ("{at:date}", {"at": "2026-03-05T14:05:00Z"}, "5 March"),
        ("{at:date}", {"at": "2026-12-31"}, "31 December"),
        ("the one at {at:time} on {at:date}", {"at": "2026-03-05T09:05:00Z"},
         "the one at 09:05 on 5 March"),
        ("{status} ones", {"status": "not_received"}, "not received ones"),
        ("{path}", {"path": "/a_b/c_d"}, "/a_b/c_d"),
        ("{count} of them", {"count": 0}, "0 of them"),
        ("{name}", {"name": "x" * MOST_VALUE}, "x" * MOST_VALUE),
        ("{name}", {"name": "x" * (MOST_VALUE + 1)}, None),
        ("{name}", {"name": ""}, None),
        ("{name}", {"name": None}, None),
        ("{name}", {"name": True}, None),
        ("{name}", {"name": ["Ada"]}, None),
        ("{name}", {}, None),
        ("{at:date}", {"at": "soon"}, None),
        ("{at:time}", {"at": None}, None),
        ("just words", {}, "just words"),
    ],
)  # fmt: skip
def test_a_way_of_speaking_is_filled_or_not_used(
    way: str, fields: dict[str, object], said: str | None
) -> None:
    assert fill(way, fields) == said


def test_closer_looks_find_what_no_bare_read_shows() -> None:
    """Invoices are listed by customer, and payments by invoice: two looks deep."""
    server = load("payments")
    session = Session([server], 3)
    bare = [t for t in server.tools.values() if not t.writes and not t.input_schema["required"]]
    shown = "".join(session.call(tool.name, {"limit": 20}).text for tool in bare)
    found = look("payments").named
    assert found["customer"]
    assert all(key in shown for key in found["customer"])
    for noun in ("invoice", "payment"):
        assert found[noun]
        assert not any(key in shown for key in found[noun])


def test_keys_that_people_chose_are_names_of_their_own() -> None:
    things = look("filesystem").things
    assert any(key.startswith("/") for key in things)
    assert all(noun_of(load("filesystem"), key) is None for key in things if "/" in key)


@pytest.mark.parametrize("name", ["banking", "payments", "travel_booking", "crm"])
def test_owners_and_relations_point_to_one_thing(name: str) -> None:
    """Against a plain count over all things."""
    for world in WORLDS:
        seen = look(name, world)
        for value, owner in seen.owners.items():
            held = [t for t in seen.things.values() if value in t.fields.values()]
            assert [t for t in held if t.key != value] == [owner]
        for key, others in seen.related.items():
            for other in others:
                noun = seen.things[key].noun
                values = {v for v in other.fields.values() if noun_of(seen.server, v) == noun}
                assert values - {other.key} == {key}


def test_things_of_a_kind_are_listed_by_it() -> None:
    seen = look("banking")
    listed = sorted(key for keys in seen.named.values() for key in keys)
    assert listed == sorted(seen.things)
    assert all(seen.things[key].noun == noun for noun, keys in seen.named.items() for key in keys)


def test_equal_worlds_are_surveyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    around = grounding._look_around

    def counted(session: Session, server: object) -> dict[str, Thing]:
        looks.append(1)
        return around(session, server)  # type: ignore[arg-type]

    monkeypatch.setattr(grounding, "_look_around", counted)
    monkeypatch.setattr(grounding, "_surveys", {})
    one, two = (Session([load("banking")], 12) for _ in range(2))
    first = survey(one)
    two.call("list_accounts", {})
    assert survey(two) is survey(one.fork()) is first
    assert survey(Session([load("maps"), load("banking")], 12), "banking") is first
    assert len(looks) == 1
    other = Session([load("banking")], 13)
    assert survey(other) is not first
    iban = other.call("list_payees", {}).value["items"][0]["iban"]
    payee = two.call("add_payee", {"name": "Nobody Else", "iban": iban}).value["id"]
    assert payee not in first.things
    assert "Nobody Else" in survey(two).things[payee].names
    assert len(looks) == 3


def test_only_so_many_surveys_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding, "_surveys", {})
    monkeypatch.setattr(grounding, "_look_around", lambda session, server: {})
    for world in range(SURVEYS + 10):
        survey(Session([load("payments")], world))
    assert len(grounding._surveys) == SURVEYS
