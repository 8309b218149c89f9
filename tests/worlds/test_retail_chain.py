"""The spec of retail_chain and the server that is written by hand agree, call by call."""

from collections import Counter
from typing import Any

import pytest

from provegym.fuzz import Fuzzer
from provegym.kernel import Session
from provegym.verify.server_contract import MINUTES, faults
from worlds.twins import by_hand, by_spec, twin_sessions

# 10 seeds with so many calls each.
SEEDS, CALLS = range(10), 1_000
WAITS, EXTREMES = 0.06, 0.03


def flat(value: Any) -> Any:
    """A schema with the line breaks of descriptions made blanks."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return [flat(part) for part in value]
    return {name: flat(part) for name, part in value.items()} if isinstance(value, dict) else value


def test_tools_have_equal_descriptions_and_schemas() -> None:
    assert list(by_spec().tools) == list(by_hand().tools)
    for name, tool in by_hand().tools.items():
        assert flat(by_spec().tools[name].describe()) == flat(tool.describe())


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_have_equal_outcomes(seed: int) -> None:
    """1,000 calls per seed: kind, text and JSON of each outcome, digest and diff are equal."""
    hand, spec = twin_sessions(seed)
    assert spec.digest() == hand.digest()
    fuzzer = Fuzzer(by_hand(), f"twins {seed}")
    tools = list(by_hand().tools.values())
    ends: Counter[str] = Counter()
    for number in range(CALLS):
        if number % 16 == 0:
            fuzzer.look(hand.state(by_hand()))
        if fuzzer.chance.random() < WAITS:
            minutes = fuzzer.chance.choice(MINUTES)
            hand.advance(minutes)
            spec.advance(minutes)
            assert spec.digest() == hand.digest(), f"after {minutes} minutes"
        tool = fuzzer.chance.choice(tools)
        extreme = fuzzer.chance.random() < EXTREMES
        given = fuzzer.extremes(tool) if extreme else fuzzer.arguments(tool)
        outcome = hand.call(tool.name, given)
        assert spec.call(tool.name, given) == outcome, f"{tool.name}({given})"
        assert spec.digest() == hand.digest(), f"{tool.name}({given})"
        fuzzer.learn(tool, given, outcome)
        ends[outcome.error or "ok"] += 1
    assert spec.diff() == hand.diff()
    for session in (hand, spec):
        session.check()
    assert min(ends[kind] for kind in ("ok", "rejected", "denied", "not_found")) >= 10, ends


def test_wrong_arguments_are_refused_in_equal_words() -> None:
    hand, spec = twin_sessions(0)
    for tool in by_hand().tools.values():
        for given in ({}, {"nonsense": 1}, {"stock_id": 5}, {"quantity": 900, "limit": "x"}, "[]"):
            assert spec.call(tool.name, given) == hand.call(tool.name, given)


def test_an_empty_id_that_is_optional_counts_as_left_out() -> None:
    hand, spec = twin_sessions(0)
    given = {"store_id": ""}
    assert spec.call("search_store_stock", given) == hand.call("search_store_stock", given)


def test_the_spec_draws_worlds_of_its_own_that_keep_the_rules() -> None:
    assert faults(by_spec(), calls=200, seeds=(0, 1, 2)) == []
    world = Session([by_spec()], 0).state(by_spec())
    assert world.size() >= 120
    assert sum(store.own for store in world.stores) == 1  # type: ignore[attr-defined]
