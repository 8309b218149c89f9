"""Why nothing is to be called: the sentence names the hidden tool, or what else is the reason."""

import pytest

from provegym.trace import Path, Provenance, Step, ToolboxSpec, Turn
from provegym.trace.records import Claim
from provegym.view.why import ASIDES, UNCLEAR, why_nothing
from view.samples import example_of

NONE = Path()


def why(kind: str, text: str = "Please do it.", **changes: object) -> str:
    """The sentence on the only turn of an example without calls."""
    given = {"kind": kind, "turns": (Turn(text=text),), "paths": (NONE,), **changes}
    found = why_nothing(example_of(**given), NONE)
    assert list(found) == [0]
    return found[0]


def test_a_hidden_tool_is_named() -> None:
    hidden = ToolboxSpec(hidden=("cancel_trade_order",))
    made = Provenance(would_serve=("cancel_trade_order",))
    text = why("clarification", toolbox=hidden, provenance=made)
    assert text == (
        "The request needs the tool `cancel_trade_order`, which was taken away."
        " The right reply says that it cannot be done here, and calls nothing."
    )


def test_several_hidden_tools_are_named_up_to_three() -> None:
    names = ("one", "two", "three", "four")
    text = why("abstention", toolbox=ToolboxSpec(hidden=names))
    assert "`one` or `two` or `three` or 1 more; these tools were taken away" in text


def test_only_the_turn_whose_tool_is_hidden_says_so() -> None:
    claim = Claim(turn=1, tool="pay_payee", arguments={})
    turns = (Turn(text="List my accounts."), Turn(text="Pay it."), Turn(text="Thanks!"))
    made = Provenance(unserved=claim, would_serve=("pay_payee",))
    path = Path(steps=(Step(turn=0, tool="list_accounts"),))
    found = why_nothing(example_of(kind="clarification", turns=turns, provenance=made), path)
    assert list(found) == [1, 2]
    assert "`pay_payee`, which was taken away" in found[1]
    assert "taken away" not in found[2]


def test_a_request_for_another_server_names_it() -> None:
    text = why("irrelevance", provenance=Provenance(why="no_tool", elsewhere="crm"))
    assert text.startswith("The request is for the server `crm`, and none of its tools is shown.")


def test_what_the_user_left_out_is_named() -> None:
    turn = Turn(text="Pay it.", asks="payee_id")
    assert "left out `payee_id`" in why("multi_turn", turns=(turn,))
    assert why("abstention", provenance=Provenance(why="missing")) == UNCLEAR


@pytest.mark.parametrize("reason", ASIDES)
def test_asides_are_told_apart(reason: str) -> None:
    assert why("abstention", provenance=Provenance(why=reason)) == ASIDES[reason]


def test_an_aside_in_a_conversation_is_recognised() -> None:
    made = Provenance(levels=("aside",))
    text = why("multi_turn", "What's the capital of Peru?", provenance=made)
    assert text == ASIDES["knowledge"]
    unknown = why("multi_turn", "W" * 100_000, provenance=made)
    assert unknown.startswith("This turn asks for nothing")


def test_an_example_that_says_nothing_more_is_told_by_its_kind() -> None:
    assert why("irrelevance").startswith("No tool that is shown serves this request.")
    assert why_nothing(example_of(), example_of().paths[0]) == {}
