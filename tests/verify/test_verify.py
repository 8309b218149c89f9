"""The contract: a good example keeps it, and each way of being bad is found and named."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from data.draft import Draft, Wanted, drafts, make
from provegym.kernel import Change, Session
from provegym.players.scripted import oracle
from provegym.rewards.evidence import holds
from provegym.rewards.outcome import same_outcome
from provegym.rewards.success import succeeded
from provegym.rollout import play_script
from provegym.servers import load
from provegym.trace import (
    Alternative,
    Edge,
    Example,
    Path,
    Provenance,
    Ref,
    Step,
    ToolboxSpec,
    Turn,
)
from provegym.verify import verify
from provegym.verify.audit import Auditor

put = msgspec.structs.replace


def good(name: str) -> Example:
    """One of the examples made by hand on the banking server."""
    return next(make("banking", draft) for draft in drafts("banking") if draft.id == name)


def with_step(example: Example, at: int, **changes: Any) -> Example:
    """The example with one step of its first path changed."""
    steps = list(example.paths[0].steps)
    steps[at] = put(steps[at], **changes)
    return put(example, paths=(Path(steps=tuple(steps)), *example.paths[1:]))


@pytest.mark.parametrize("draft", drafts("banking"), ids=lambda draft: draft.id)
def test_examples_made_by_hand_keep_the_contract(draft: Any) -> None:
    assert verify(make("banking", draft)) == []


BROKEN: list[tuple[str, Callable[[Example], Example], str]] = [
    ("another world", lambda e: put(e, digest="0" * 32), "is not the one the example was made on"),
    ("another version", lambda e: put(e, server_version=99), "made with version 99"),
    ("no such server", lambda e: put(e, server="bank"), "there is no server 'bank'"),
    ("no turns", lambda e: put(e, turns=()), "0 user turns"),
    ("kind", lambda e: put(e, kind="abstention"), "has some right calls"),
    (
        "a needed tool hidden",
        lambda e: put(e, toolbox=ToolboxSpec(hidden=("list_payees",))),
        "list_payees is needed and not shown",
    ),
    (
        "a value from nowhere",
        lambda e: with_step(e, 2, arguments={**e.paths[0].steps[2].arguments, "amount": 21}),
        "nothing says that amount is 21",
    ),
    ("a missing edge", lambda e: with_step(e, 2, needs=()), "without an edge to it"),
    (
        "an edge that is none",
        lambda e: with_step(e, 4, needs=(Edge(step=0, kind="explicit"),)),
        "takes no value that step 0 is the first to yield",
    ),
    (
        "state that is not needed",
        lambda e: with_step(
            e, 4, needs=(*e.paths[0].steps[4].needs, Edge(step=2, kind="implicit"))
        ),
        "runs without step 2",
    ),
    ("a failing step", lambda e: with_step(e, 2, arguments={}), "step 2 (pay_payee) fails"),
    (
        "an unneeded step",
        lambda e: put(
            e, paths=(Path(steps=(*e.paths[0].steps, Step(turn=1, tool="list_standing_orders"))),)
        ),
        "step 5 (list_standing_orders) is not needed",
    ),
    (
        "an unneeded argument",
        lambda e: with_step(e, 3, arguments={"limit": 10}),
        "step 3: limit could be left out",
    ),
    (
        "an alternative that is none",
        lambda e: with_step(
            e, 0, alternatives=(*e.paths[0].steps[0].alternatives, Alternative(tool="list_cards"))
        ),
        "list_cards{} does not show what it is for",
    ),
    (
        "a path that knows too much",
        lambda e: put(
            e, paths=(*e.paths, Path(steps=tuple(put(s, needs=()) for s in e.paths[0].steps[2:])))
        ),
        "has a flaw: nothing says 'acc_23886'",
    ),
    ("an empty path", lambda e: put(e, paths=(*e.paths, Path())), "a path without steps"),
    (
        "no such distractor",
        lambda e: put(e, toolbox=ToolboxSpec(distractors=("nothing",))),
        "there is no tool 'nothing'",
    ),
    ("a forgotten road", lambda e: with_step(e, 0, evidence=None), "could also be solved by"),
    ("no evidence", lambda e: with_step(e, 0, evidence=None), "has other evidence than"),
    ("another answer", lambda e: with_step(e, 3, values=("7",)), "has other answers than"),
    ("another outcome", lambda e: put(e, outcome=()), "is not what the first path leaves behind"),
    (
        "a path that fails",
        lambda e: put(e, paths=(*e.paths, Path(steps=e.paths[0].steps[2:]))),
        "path 1",
    ),
    (
        "a need ahead",
        lambda e: with_step(e, 0, needs=(Edge(step=3, kind="explicit"),)),
        "needs a step that comes after it",
    ),
    ("no write", lambda e: with_step(e, 2, writes=False), "is marked as a read"),
]


@pytest.mark.parametrize(("name", "spoil", "says"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_what_breaks_the_contract_is_named(
    name: str, spoil: Callable[[Example], Example], says: str
) -> None:
    problems = verify(spoil(good("pay-and-freeze")))
    assert any(says in problem for problem in problems), problems


def test_a_tool_that_would_serve_must_be_hidden() -> None:
    shown = put(good("no-disputes"), toolbox=ToolboxSpec())
    assert "dispute_transaction would serve the request and is not hidden" in verify(shown)
    unnamed = put(good("no-disputes"), provenance=Provenance())
    assert any("names, as would_serve" in problem for problem in verify(unnamed))


def test_where_one_must_ask_a_step_must_take_the_answer() -> None:
    example = good("ask-for-the-amount")
    turns = (Turn(text=example.turns[0].text, asks="note"), *example.turns[1:])
    assert any("takes note" in problem for problem in verify(put(example, turns=turns)))


def test_the_seeker_finds_a_road_only_where_the_record_says_whose_it_is() -> None:
    """Cards show account ids, but nobody could tell from them which account is meant."""
    example = good("pay-and-freeze")
    evidence = example.paths[0].steps[0].evidence
    assert evidence is not None
    session = Session([load("banking")], example.seed)
    assert holds(session.call("list_accounts", {}).text, evidence.facts)
    for tool in ("list_cards", "search_transactions"):
        assert "acc_" in session.call(tool, {}).text
        assert not holds(session.call(tool, {}).text, evidence.facts)


def basket(steps: list[tuple[str, dict[str, Any]]]) -> Example:
    """An example on the food server that fills the basket and uses a code."""
    text = "Put 1 Royal Pumpkin Red Curry and 2 Market Duck Laap into my basket, and use SUNNY72."
    wanted = tuple(Wanted(tool=tool, arguments=arguments) for tool, arguments in steps)
    return make("food_delivery", Draft(id="basket", turns=(Turn(text=text),), steps=wanted))


CURRY = ("search_menu", {"name": "Royal Pumpkin Red Curry"})
LAAP = ("search_menu", {"name": "Market Duck Laap"})
ADD_CURRY = ("set_basket_item", {"menu_item_id": "$0/items/0/id", "quantity": 1})
ADD_LAAP = ("set_basket_item", {"menu_item_id": "$1/items/0/id", "quantity": 2})
CODE = ("apply_promo_code", {"code": "SUNNY72"})


def test_writes_that_cannot_change_places_have_an_edge_and_others_do_not() -> None:
    """The code comes off whenever the basket changes, so it must come last; the dishes may swap."""
    example = basket([CURRY, LAAP, ADD_CURRY, ADD_LAAP, CODE])
    assert verify(example) == []
    needs = [{edge.step for edge in step.needs} for step in example.paths[0].steps]
    assert {2, 3} <= needs[4]
    assert 2 not in needs[3]


def test_the_lines_of_an_order_count_in_any_order() -> None:
    one = basket([CURRY, LAAP, ADD_CURRY, ADD_LAAP, CODE])
    two = basket([CURRY, LAAP, ADD_LAAP, ADD_CURRY, CODE])
    assert one.outcome != two.outcome
    assert same_outcome(one.outcome, two.outcome)


def test_created_records_are_told_apart_by_what_they_are() -> None:
    """Commenting on the one new record is not commenting on the other."""

    def diff(on: str) -> list[Change]:
        made = [
            Change("s", "issues", key, None, {"id": key, "title": title})
            for key, title in (("iss_1", "Alpha"), ("iss_2", "Beta"))
        ]
        return [*made, Change("s", "comments", "com_1", None, {"id": "com_1", "issue_id": on})]

    assert same_outcome(diff("iss_1"), diff("iss_1"))
    assert not same_outcome(diff("iss_1"), diff("iss_2"))


def test_further_paths_answer_too() -> None:
    example = good("what-is-left")
    for path in example.paths:
        assert any(step.answers for step in path.steps)


def test_an_oracle_succeeds_and_a_failing_rollout_is_found_that_is_paid_well() -> None:
    example = good("pay-and-freeze")
    assert succeeded(play_script(example, oracle))
    finding = Auditor(example).run()
    assert 0.9 < finding.best_failing <= 1.3
    assert finding.exploits


@pytest.mark.parametrize(
    "name", ["pay-and-freeze", "open-and-fill", "ask-for-the-amount", "what-is-left", "no-disputes"]
)
def test_success_is_what_the_oracle_has_and_silence_only_where_nothing_is_right(name: str) -> None:
    from provegym.players.scripted import eager, noop

    example = good(name)
    assert succeeded(play_script(example, oracle))
    assert succeeded(play_script(example, noop)) == (example.kind == "clarification")
    if any(turn.asks for turn in example.turns):
        assert not succeeded(play_script(example, eager))


@pytest.mark.parametrize("step", [-1, 2, 99])
def test_a_reference_to_a_step_that_is_not_before_it_is_named(step: int) -> None:
    example = good(drafts("banking")[0].id)
    value = {"deep": [Ref(source=(step, "/id"), literal="x")]}
    broken = with_step(example, 0, arguments={"account_id": value})
    assert "path 0, step 0 takes a value from a step that is not before it" in verify(broken)
