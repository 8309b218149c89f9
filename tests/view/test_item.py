"""One example or rollout in full: its right calls played, what served what, and what is amiss."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym.rewards import COMPONENTS, HARDENED, PAPER, WEIGHTS, Scheme, rescore
from provegym.rewards.components import MOST
from provegym.trace import Evidence, Example, Fact, Ref, Rollout, Step, Turn, line
from provegym.trace import Path as Road
from provegym.view.item import best, show_item
from provegym.view.library import Library
from provegym.view.sources import Missing
from view.samples import HOSTILE, example_of, hostile, played, replace


def shown(tmp_path: Path, item: Example | Rollout) -> dict[str, Any]:
    """What the page is told of an item, through a file and JSON."""
    path = tmp_path / "item.jsonl"
    path.write_bytes(line(item))
    told = show_item(Library([path]).settle().rows(0), 0)
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(told))
    return decoded


def test_an_example_is_played_on_its_world(tmp_path: Path) -> None:
    item = shown(tmp_path, example_of())
    assert (item["kind"], item["rollout"], item["best"], item["notes"]) == (
        "example",
        None,
        1.3,
        [],
    )
    assert [step["tool"] for step in item["gold"]] == [
        "list_accounts",
        "list_payees",
        "pay_payee",
        "set_card_status",
    ]
    assert "Freelance" in item["gold"][0]["result"]
    assert not item["gold"][0]["diff"]
    tables = {change["table"] for change in item["gold"][2]["diff"]}
    assert tables == {"accounts", "transactions"}
    assert item["gold"][2]["needs"][0] == {"step": 0, "kind": "explicit"}
    assert item["example"]["id"] == "pay-1"


def test_a_rollout_shows_what_served_what_and_the_pay(tmp_path: Path) -> None:
    item = shown(tmp_path, played("oracle"))
    assert (item["total"], item["best"]) == (pytest.approx(1.3), 1.3)
    assert item["verdict"] == {"state": True, "answer": True, "ended": True}
    assert [(each["call"], each["step"]) for each in item["served"]] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert {each["how"] for each in item["served"]} == {"equal"}
    parts = {part["name"]: part for part in item["parts"]}
    assert list(parts) == ["validity", "coverage", "efficiency", "name", "argument"]
    coverage = {**parts["coverage"]}
    assert coverage.pop("about") == "The share of steps that are served after every step they need."
    assert coverage == {"name": "coverage", "value": 1.0, "weight": 0.5, "paid": 0.5}
    assert sum(part["paid"] for part in item["parts"]) == pytest.approx(item["total"])
    assert len(item["explain"]) == 4
    assert "example" not in item["rollout"]
    assert len(item["rollout"]["calls"]) == 4
    assert item["rollout"]["calls"][2]["diff"]


def test_what_differs_is_named(tmp_path: Path) -> None:
    rollout = played("guesser")
    item = shown(tmp_path, rollout)
    told = {each["step"]: each for each in item["served"]}
    wrong = [each for each in told.values() if each["equal"] < 1]
    assert wrong
    assert all("differs" in each["how"] for each in wrong)


def test_an_alternative_and_a_wrong_order_are_told(tmp_path: Path) -> None:
    rollout = played("oracle")
    calls = (replace(rollout.calls[0], arguments={}), *rollout.calls[1:])
    assert rollout.reward is not None
    served = (*rollout.reward.served[:2], replace(rollout.reward.served[2], in_order=False))
    item = shown(
        tmp_path, replace(rollout, calls=calls, reward=replace(rollout.reward, served=served))
    )
    assert item["served"][0]["how"] == "another call that yields the same"
    assert item["served"][2]["how"].endswith("not after what it needs")
    assert "step 4 set_card_status: not served" in item["explain"]


def test_an_item_says_whether_an_answer_is_due(tmp_path: Path) -> None:
    assert shown(tmp_path, example_of())["answer_due"] is False
    asking = example_of(turns=(Turn(text="Pay Harbour.", asks="amount"), Turn(text="Twenty.")))
    assert shown(tmp_path, asking)["answer_due"] is True


def test_weights_of_a_run_are_its_recipes(tmp_path: Path) -> None:
    from view.samples import make_run

    library = Library([make_run(tmp_path / "run")]).settle()
    item = show_item(library.rows(2), 0)
    assert {part["name"]: part["weight"] for part in item["parts"]}["name"] == 0
    assert item["best"] == pytest.approx(1.1)
    assert "by others" in item["notes"][0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"server": "somebodys"}, "made on somebodys, which is no server of ours"),
        ({"server_version": 99}, "version 99 of banking"),
        ({"digest": "0" * 32}, "not the one that its seed gives"),
        ({"seed": 8}, "not the one that its seed gives"),
        ({"turns": (Turn(text="x", minutes=10**9),)}, "longer than any example"),
        ({"turns": (Turn(text="x"),) * 65}, "longer than any example"),
        ({"turns": (Turn(text="x" * 30_000),)}, "longer than any example"),
    ],
)
def test_what_is_not_ours_is_shown_without_playing_it(
    tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    for item in (example_of(**changes), replace(played("oracle"), example=example_of(**changes))):
        told = shown(tmp_path, item)
        assert says in told["notes"][-1]
        assert [step["result"] for step in told["gold"]] == [""] * 4
        assert told["gold"][2]["arguments"]["amount"] == 20


def test_an_example_with_distractors_is_played_too(tmp_path: Path) -> None:
    """Tools of other servers are shown, so the session holds worlds of other servers as well."""
    seen = replace(example_of().toolbox, distractors=("list_invoices", "list_vehicles"))
    item = shown(tmp_path, example_of(toolbox=seen))
    assert item["notes"] == []
    assert "Freelance" in item["gold"][0]["result"]


@pytest.mark.parametrize("step", [99, -1])
@pytest.mark.parametrize("wrap", [lambda ref: ref, lambda ref: [{"deep": ref}]])
def test_references_that_lead_nowhere_are_told(
    tmp_path: Path, step: int, wrap: Callable[[Ref], object]
) -> None:
    value = wrap(Ref(source=(step, "/id"), literal=1))
    steps = example_of().paths[0].steps
    bad = replace(steps[2], arguments={**steps[2].arguments, "amount": value})
    example = example_of(paths=(Road(steps=(*steps[:2], bad, steps[3])),))
    assert "refer to values that are not there" in shown(tmp_path, example)["notes"][0]
    assert shown(tmp_path, replace(played("oracle"), example=example))["served"]


def test_a_malformed_reference_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(line(example_of()).replace(b'"amount":20', b'"amount":{"$from":3}'))
    source = Library([path]).settle().rows(0)
    with pytest.raises(Missing, match=r"cannot be shown in full.*Malformed reference"):
        show_item(source, 0)


def test_a_reference_is_shown_as_the_value_it_stands_for(tmp_path: Path) -> None:
    steps = example_of().paths[0].steps
    linked = Ref(source=(0, "/items/0/id"), literal=steps[2].arguments["account_id"])
    changed = replace(steps[2], arguments={**steps[2].arguments, "account_id": linked})
    item = shown(tmp_path, example_of(paths=(Road(steps=(*steps[:2], changed, steps[3])),)))
    assert item["gold"][2]["arguments"]["account_id"] == steps[2].arguments["account_id"]
    assert item["gold"][2]["diff"]


def test_a_reward_about_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    rollout = played("oracle")
    assert rollout.reward is not None
    served = (*rollout.reward.served, replace(rollout.reward.served[0], call=99))
    for reward in (replace(rollout.reward, path=7), replace(rollout.reward, served=served)):
        item = shown(tmp_path, replace(rollout, reward=reward))
        assert "is left out" in item["notes"][0]
        assert (item["served"], item["total"], item["gold"][0]["tool"]) == (
            [],
            None,
            "list_accounts",
        )


def test_a_rollout_that_went_wrong_has_no_pay(tmp_path: Path) -> None:
    broken = replace(played("noop"), reward=None, verdict=None, ended="server_bug", reason="why")
    item = shown(tmp_path, broken)
    assert (item["total"], item["parts"], item["verdict"]) == (None, [], {})
    assert item["rollout"]["reason"] == "why"


@pytest.mark.parametrize(
    "weights", [{}, {"name": 0.0}, {"progress": 0.7}, {"efficiency": 5.0, "argument": 0.2}]
)
def test_the_best_reward_is_what_the_right_calls_are_paid(weights: dict[str, float]) -> None:
    rollout, scheme = played("oracle"), Scheme(weights=weights)
    reward = rescore(rollout, scheme).reward
    assert reward is not None
    assert best(rollout.example, scheme) == pytest.approx(reward.total)


def test_a_new_component_counts_in_the_best_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMPONENTS, "bonus", lambda case: len(case.steps) / len(case.calls))
    monkeypatch.setitem(
        COMPONENTS, "penalty", lambda case: float(len(case.steps) - len(case.calls))
    )
    monkeypatch.setitem(WEIGHTS, "bonus", 0.4)
    monkeypatch.setitem(WEIGHTS, "penalty", 9.0)
    monkeypatch.setitem(MOST, "bonus", 1.0)
    monkeypatch.setitem(MOST, "penalty", 0.0)
    assert best(example_of(), PAPER) == pytest.approx(1.7)


def test_nothing_to_call_pays_one(tmp_path: Path) -> None:
    example = example_of(paths=(Road(),), outcome=())
    item = shown(tmp_path, replace(played("noop"), example=example))
    assert (item["best"], item["gold"], item["notes"]) == (1.0, [], [])
    bare = shown(tmp_path, example_of(paths=(), server="", outcome=()))
    assert (bare["gold"], bare["notes"]) == ([], [])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_data(tmp_path: Path, text: str) -> None:
    item = shown(tmp_path, hostile(text))
    assert item["rollout"]["calls"][0]["tool"] == text
    assert item["rollout"]["messages"][0]["content"] == text
    assert item["example"]["id"] == text


def test_an_older_rollout_is_judged_where_it_can_be(tmp_path: Path) -> None:
    old = replace(played("oracle"), verdict=None)
    assert shown(tmp_path, old)["verdict"] == {"state": True, "answer": True, "ended": True}
    silent = replace(old, messages=({"content": "who said this"},))
    assert shown(tmp_path, silent)["verdict"] is None


def test_a_hardened_reward_is_shown_with_its_own_weights(tmp_path: Path) -> None:
    item = shown(tmp_path, rescore(played("oracle"), HARDENED))
    weights = {part["name"]: part["weight"] for part in item["parts"]}
    assert weights == {"efficiency": 0.15, "success": 0.96, "progress": 0.34, "waste": 0.1}
    assert (item["total"], item["best"], item["notes"]) == (pytest.approx(1.3), 1.3, [])


def test_what_a_right_read_shows_is_told(tmp_path: Path) -> None:
    fact = Fact(fields={"balance": 20}, about=("everyday",))
    steps = example_of().paths[0].steps
    first = replace(steps[0], evidence=Evidence(facts=(fact,)))
    item = shown(tmp_path, example_of(paths=(Road(steps=(first, *steps[1:])),)))
    assert item["gold"][0]["evidence"] == {
        "facts": [{"fields": {"balance": 20}, "about": ["everyday"]}]
    }
    assert item["gold"][1]["evidence"] is None
    assert [step["alternatives"] for step in item["gold"]] == [
        [msgspec.to_builtins(other) for other in step.alternatives] for step in steps
    ]


def test_what_another_version_wrote_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "newer.jsonl"
    path.write_bytes(line(played("oracle")).replace(b'"policy"', b'"mood":"good","policy"', 1))
    source = Library([path]).settle().rows(0)
    assert source.count == 1
    with pytest.raises(Missing, match=r"line 1 of newer.jsonl cannot be shown in full.*mood"):
        show_item(source, 0)
    with pytest.raises(Missing, match="has no row 5"):
        show_item(source, 5)


def test_what_is_nested_too_deeply_is_a_sentence(tmp_path: Path) -> None:
    deep = b'[{"a":' * 400 + b"1" + b"}]" * 400
    path = tmp_path / "deep.jsonl"
    path.write_bytes(line(example_of()).replace(b'"amount":20', b'"amount":' + deep))
    source = Library([path]).settle().rows(0)
    with pytest.raises(Missing, match=r"cannot be shown in full.*recursion"):
        show_item(source, 0)


def test_a_road_with_unknown_tools_fails_step_by_step(tmp_path: Path) -> None:
    example = example_of(paths=(Road(steps=(Step(turn=0, tool="no_such_tool"),)),))
    item = shown(tmp_path, example)
    assert "unknown tool" in item["gold"][0]["result"]
