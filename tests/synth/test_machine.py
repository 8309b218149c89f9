"""Conversations from live worlds: drawn again the same, grounded, and verified as they are."""

from collections import Counter
from random import Random

import pytest

from provegym.kernel import AnyServer, Session
from provegym.servers import load, load_all, names
from provegym.synth.ground import fill, survey
from provegym.synth.machine import Conversation
from provegym.synth.perturb import HELD_OUT, KIN, perturb, strangers
from provegym.synth.plan import fit
from provegym.trace import Example
from provegym.verify import verify


def converse(server: AnyServer, number: int) -> Example | None:
    """The conversation of a number on one server, if it finds its goals."""
    writes = [tool for tool in server.tools.values() if tool.writes]
    talk = Conversation(server, number, f"{server.name}-{number}")
    return talk.finish() if talk.play(writes[number % len(writes)], 2) else None


@pytest.mark.parametrize("server", load_all(), ids=lambda server: server.name)
def test_every_server_yields_verified_conversations(server: AnyServer) -> None:
    made = [example for number in range(6) if (example := converse(server, number))]
    good = [example for example in made if not verify(example)]
    print(f"{server.name}: {len(good)} of 6 are verified")
    assert good
    for example in good:
        assert len(example.turns) == 2
        assert any(step.writes for step in example.paths[0].steps)


def test_a_conversation_is_a_function_of_its_number() -> None:
    for name in ("banking", "maps"):
        assert converse(load(name), 3) == converse(load(name), 3)


@pytest.mark.parametrize("name", names())
def test_a_name_belongs_to_one_thing_of_its_kind(name: str) -> None:
    things = survey(Session([load(name)], 5))
    assert things
    counts = Counter((t.noun, said.casefold()) for t in things.values() for said in t.names)
    assert set(counts.values()) == {1}


def test_ways_of_asking_are_filled_with_what_there_is_to_say_and_nothing_else() -> None:
    way = "Pay {payee_id} {amount}[ from {account_id}]."
    assert fit(way, {"payee_id": "Ada", "amount": "5"}) == "Pay Ada 5."
    full = {"payee_id": "Ada", "amount": "5", "account_id": "the pot"}
    assert fit(way, full) == "Pay Ada 5 from the pot."
    assert fit(way, {"payee_id": "Ada"}) is None
    assert fit(way, {**full, "note": "x"}) is None
    assert (
        fill("the {amount} from {place}", {"amount": 5.5, "place": "Ada's"})
        == "the 5.50 from Ada's"
    )
    assert fill("the {amount}", {}) is None


def test_distractors_come_from_strangers_and_never_from_held_out_servers() -> None:
    for name in names():
        others = strangers(name)
        assert name not in others
        assert not set(others) & set(HELD_OUT)
        assert not any(name in group and set(others) & group for group in KIN)


def test_knobs_are_turned_at_their_share() -> None:
    turned: Counter[str] = Counter()
    for number in range(2_000):
        spec, knobs = perturb(load("banking"), Random(number))
        turned.update(knobs)
        assert bool(spec.distractors) == ("distractors" in knobs)
        assert not spec.distractors or 3 <= len(spec.distractors) <= 8
        assert bool(spec.stripped) == ("stripped" in knobs)
    assert abs(turned["distractors"] / 2_000 - 0.40) < 0.03
    assert abs(turned["stripped"] / 2_000 - 0.30) < 0.03
