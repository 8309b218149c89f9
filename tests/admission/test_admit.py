"""Admission takes a good world, and refuses each bad one with its reason."""

from collections.abc import Callable
from typing import Any

import pytest

from admission.boats import boats, judged, tool, without
from provegym import servers
from provegym.admission.admit import longest_chain
from provegym.graph.dependency import Dependency

Json = dict[str, Any]


def few_writes(data: Json) -> None:
    """One of four tools writes."""
    without(data, "take_back_boat", "repair_boat")


def few_rules(data: Json) -> None:
    """No rule refuses; a reserve or transition would need one."""
    kinds = {"reserve": "create", "transition": "update"}
    for each in data["operations"]:
        each.pop("guards", None)
        each["kind"] = kinds.get(each["kind"], each["kind"])


def no_chain(data: Json) -> None:
    """Nobody hires boats. Three writes set the deposit, and none makes another one possible."""
    (boat,) = (each for each in data["entities"] if each["name"] == "boat")
    update = tool(data, "repair_boat")
    data["entities"], data["operations"], data["past"] = [boat], [tool(data, "list_boats")], []
    for deposit in (15, 25, 35):
        data["operations"].append(
            update
            | {
                "tool": f"set_deposit_to_{deposit}",
                "kind": "update",
                "effects": [{"change": "$boat_id", "set": {"deposit": deposit}}],
            }
        )


def unused_tool(data: Json) -> None:
    """A tool that works on no boat there is."""
    rule = {"rule": "balance", "of": "$boat_id.deposit", "least": 900, "says": "it is too cheap"}
    tool(data, "repair_boat")["guards"].append(rule)


def broken_invariant(data: Json) -> None:
    """An invariant that hires break."""
    never = {"entity": "boat", "count": "hire", "where": {"boat_id": "$row.id"}, "most": 1}
    data["invariants"] = [never]


def wrong_spec(data: Json) -> None:
    """An effect on a field that does not exist."""
    tool(data, "repair_boat")["effects"][0]["set"] = {"colour": "red"}


def idle_effect(data: Json) -> None:
    """An effect that changes nothing, so no example can notice that it is missing."""
    same = {"change": "$boat_id", "set": {"deposit": "$boat_id.deposit"}}
    tool(data, "repair_boat")["effects"].append(same)


def idle_guards(data: Json) -> None:
    """Most rules can never refuse, so no example can notice that they are missing."""
    rule = {"rule": "balance", "of": "$boat_id.deposit", "least": 1, "says": "it is too cheap"}
    for name in ("hire_out_boat", "repair_boat"):
        tool(data, name)["guards"] += [rule] * 5


BAD = [
    (few_writes, "too few writes", "1 of 4 tools write"),
    (few_rules, "too few rules refuse", "0 rules refused a random call"),
    (no_chain, "no chain of three", "the longest chain has 2 tools"),
    (unused_tool, "a tool is in no verified example", "repair_boat"),
    (broken_invariant, "it breaks the contract", "invariant 1 of boat"),
    (wrong_spec, "the spec is wrong", "colour"),
    (idle_effect, "mutants go unnoticed", "effect 2 of repair_boat"),
    (idle_guards, "mutants go unnoticed", "guard"),
]


def test_a_good_world_is_admitted_with_its_figures_and_graph() -> None:
    world, admission = judged(boats())
    assert admission.admitted
    assert world.admission == admission
    assert admission.reasons == admission.details == ()
    figures = admission.figures
    assert (figures["tools"], figures["writes"]) == (6, 3)
    assert figures["chain"] >= 3
    assert figures["rules"] >= 3
    assert figures["noticed"] >= figures["mutants"] / 2
    assert world.graph is not None
    assert len(world.graph["edges"]) == figures["edges"]


@pytest.mark.parametrize(
    ("change", "reason", "detail"), BAD, ids=[change.__name__ for change, _, _ in BAD]
)
def test_a_bad_world_is_refused_with_its_reason(
    change: Callable[[Json], None], reason: str, detail: str
) -> None:
    world, admission = judged(boats(change.__name__, change))
    assert (admission.admitted, admission.reasons) == (False, (reason,))
    assert detail in admission.details[0]
    assert world.graph is None


def test_the_name_of_one_of_our_servers_is_taken() -> None:
    _, admission = judged(boats("banking"))
    assert admission.reasons == ("its name is taken",)
    assert servers.load("banking").category == "finance"


def test_admission_repeats_and_leaves_no_server_behind() -> None:
    first, second = (judged(boats("boats_twice")) for _ in "12")
    assert first == second
    assert "boats_twice" not in servers.known()


def test_a_world_is_judged_by_its_spec_not_by_one_of_the_same_name() -> None:
    judged(boats("boats_again"))
    _, admission = judged(boats("boats_again", few_rules))
    assert admission.reasons == ("too few rules refuse",)


def test_the_longest_chain_visits_no_tool_twice() -> None:
    def edge(source: str, target: str) -> Dependency:
        return Dependency("implicit", source, target, 0, (), ())

    assert longest_chain([]) == 0
    assert longest_chain([edge("a", "b"), edge("b", "a")]) == 2
    assert longest_chain([edge("a", "b"), edge("b", "c"), edge("a", "c")]) == 3
    assert longest_chain([edge(a, b) for a, b in zip("abcdefg", "bcdefgh", strict=True)]) == 5
