"""Figures: what is counted, over what, and when a goal is met."""

from pathlib import Path as File
from typing import Any

import pytest
from msgspec.structs import replace

from examples import pay_example
from provegym.corpus.figures import figures, mask
from provegym.servers import load, load_all
from provegym.trace import Alternative, Edge, Example, Path, Step, Turn, read

DATA = File(__file__).parents[1] / "data"


def no_pairs(name: str) -> set[tuple[str, str]]:
    """No server has edges."""
    return set()


def told(*examples: Example, pairs: Any = no_pairs) -> dict[str, Any]:
    """The figures of a few examples."""
    return figures(examples, pairs)


def value(known: dict[str, Any], name: str) -> float:
    """The value of a figure that has a goal."""
    return float(known["goals"][name]["value"])


def small_talk(text: str = "How are you today, my friend?", **changes: Any) -> Example:
    """An example with nothing to call."""
    fields = {"kind": "irrelevance", "turns": (Turn(text=text),), "paths": (Path(),)}
    return pay_example(**fields | changes)


def test_counts_by_kind_server_turns_and_chain() -> None:
    known = told(pay_example(), pay_example(), small_talk())
    assert known["examples"] == 3
    assert known["kinds"] == {"multi_turn": 2, "irrelevance": 1}
    assert known["servers"] == {"banking": 3}
    assert known["turns"] == {1: 1, 2: 2}
    assert known["chains"] == {1: 2, 3: 2}
    assert known["sequences"]["banking"]["share"] == pytest.approx(2 / 3)
    assert known["goals"]["chain lengths of 2 to 5"] == {
        "value": 1,
        "goal": "at least 4",
        "met": False,
    }


def test_knobs_are_shared_over_all_and_over_those_with_a_task() -> None:
    turned = [pay_example(knobs=("distractors", "irrelevance"))] * 4
    known = told(*turned, pay_example(), *[small_talk()] * 5)
    assert known["knobs"]["distractors"] == {"all": 0.4, "talks": 0.8}
    assert known["goals"]["distractors"]["met"]
    assert not known["goals"]["stripped enums"]["met"]
    assert value(known, "irrelevance") == 0.8


def test_openings_ids_and_masked_turns() -> None:
    texts = ["Pay Ada 20 now.", "Pay ada 20 please.", "Pay Bo 30.", "Close acc_12 for me."]
    made = [small_talk(text, provenance={"slots": [[text.split()[1]]]}) for text in texts]
    known = told(*made)
    assert value(known, "commonest opening of a turn") == 0.5
    assert value(known, "turns with internal ids") == 0.25
    assert value(known, "distinct turns, slots masked") == 1
    same = [
        small_talk("Pay Ada 20.", provenance={"slots": [["Ada", "20"]]}),
        small_talk("Pay Bo 35.", provenance={"slots": [["Bo", "35"]]}),
    ]
    assert value(told(*same), "distinct turns, slots masked") == 0.5
    assert mask("Ada Ada Long", ["Ada", "Ada Long"]) == "_ _"


def test_follow_ups_count_if_a_step_needs_an_earlier_turn() -> None:
    plain = pay_example()
    assert value(told(plain), "follow-ups that need a turn before") == 0
    steps = plain.paths[0].steps
    last = replace(steps[3], needs=(Edge(step=0, kind="explicit"),))
    linked = replace(plain, paths=(Path(steps=(*steps[:3], last)),))
    assert value(told(plain, linked), "follow-ups that need a turn before") == 0.5


def test_recoveries_and_parallel_calls() -> None:
    tried = pay_example(provenance={"attempts": [{"before": 0}]})
    given_up = pay_example(provenance={"infeasible": {"turn": 0}})
    known = told(tried, given_up, pay_example(), small_talk())
    assert value(known, "recoveries") == 0.5
    assert value(known, "parallel calls") == 1
    alone = pay_example(paths=(Path(steps=(Step(turn=0, tool="list_cards"),)),))
    assert value(told(alone), "parallel calls") == 0


def test_levels_and_personas() -> None:
    made = {"levels": ["complete", "missing", "complete", "complete"], "persona": "terse"}
    known = told(pay_example(provenance=made))
    assert known["levels"] == {"complete": 0.75, "missing": 0.25}
    assert known["personas"] == {"terse": 1}


def test_tools_and_edges_are_those_of_the_servers_that_occur() -> None:
    pairs = {("list_accounts", "pay_payee"), ("search_x", "pay_payee"), ("a", "b"), ("c", "d")}
    known = told(pay_example(), pairs=lambda name: pairs)
    assert value(known, "edges") == 0.25
    assert known["goals"]["edges"]["of"] == 4
    steps = pay_example().paths[0].steps
    first = replace(steps[0], alternatives=(Alternative(tool="search_x"),))
    known = told(pay_example(paths=(Path(steps=(first, *steps[1:])),)), pairs=lambda name: pairs)
    assert value(known, "edges") == 0.5
    count = len(load("banking").tools)
    assert known["goals"]["tools"]["of"] == count
    assert value(known, "tools") == pytest.approx(4 / count)


def test_dominance_and_spread_over_servers() -> None:
    known = told(pay_example(), *[small_talk()] * 3, small_talk(server="maps"))
    assert value(known, "one tool in a server's examples") == 0.25
    assert value(known, "one sequence in a server's examples") == 0.25
    assert known["goals"]["one tool in a server's examples"]["met"]
    assert value(known, "largest server by smallest") == 4
    assert not known["goals"]["largest server by smallest"]["met"]


def test_an_empty_corpus_has_figures_too() -> None:
    assert told()["examples"] == 0


def test_the_regression_set_is_counted() -> None:
    known = figures(read(DATA, Example), no_pairs)
    assert known["examples"] == sum(known["kinds"].values()) > 100
    assert known["goals"]["turns with internal ids"]["met"]
    assert known["goals"]["tools"]["of"] == sum(len(server.tools) for server in load_all())
