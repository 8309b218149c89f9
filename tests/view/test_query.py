"""The list: what it says of a row, filters, order and counts, each against a plain count."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.rewards.success import succeeded
from provegym.trace import line, write
from provegym.view.glance import Glance, cut, glance
from provegym.view.library import Library
from provegym.view.query import BUCKETS, Query
from provegym.view.sources import Rows
from view.samples import HOSTILE, example_of, hostile, played, replace, some

ROLLOUTS = [
    *some(15),
    replace(played("oracle", 90), reward=None, ended="policy_error", reason="crashed"),
    *map(hostile, HOSTILE),
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    path = tmp_path_factory.mktemp("query") / "rollouts.jsonl"
    write(path, ROLLOUTS)
    return Library([path]).settle().rows(0)


def found(rows: Rows, **asked: object) -> list[int]:
    return list(rows.selector.select(Query(**asked)))  # type: ignore[arg-type]


def where(test: object) -> list[int]:
    assert callable(test)
    return [at for at, rollout in enumerate(ROLLOUTS) if test(rollout)]


def test_a_glance_agrees_with_the_whole() -> None:
    for rollout in ROLLOUTS:
        seen = glance(line(rollout), "rollouts")
        example = rollout.example
        assert (seen.id, seen.server, seen.kind) == (cut(example.id), "banking", example.kind)
        assert (seen.turns, seen.calls) == (len(example.turns), len(rollout.calls))
        assert seen.reward == (rollout.reward and rollout.reward.total)
        assert seen.success == succeeded(rollout)
        assert set(seen.errors) == {call.error for call in rollout.calls if call.error}
        assert seen.knobs == tuple(map(cut, example.knobs))
        assert (seen.policy, seen.ended) == (cut(rollout.policy), rollout.ended)
        assert len(seen.text) <= 160


def test_success_is_told_where_a_turn_asks_and_diffs_differ() -> None:
    asking = example_of(turns=tuple(replace(t, asks="amount") for t in example_of().turns))
    base = played("oracle")
    outcome = base.outcome
    cases = [
        replace(base, example=asking),
        replace(base, outcome=()),
        replace(base, outcome=outcome[::-1]),
        replace(base, outcome=(*outcome[1:], replace(outcome[0], key="other"))),
        replace(base, example=replace(base.example, outcome=outcome)),
    ]
    told = [glance(line(case), "rollouts").success for case in cases]
    assert told == [succeeded(case) for case in cases]
    assert {True, False} == set(told)


def test_a_reward_about_what_is_not_there_leaves_success_open() -> None:
    rollout = played("oracle")
    assert rollout.reward is not None
    for changes in ({"path": 5}, {"path": -1}, {"served": (*rollout.reward.served, SERVED)}):
        wrong = replace(rollout, reward=replace(rollout.reward, **changes))
        assert glance(line(wrong), "rollouts").success is None


SERVED = replace(played("oracle").reward.served[0], call=99)  # type: ignore[union-attr]


def test_an_example_in_brief() -> None:
    seen = glance(line(example_of(knobs=("stripped",))), "examples")
    assert (
        seen[:6]
        == Glance("pay-1", "banking", "multi_turn", 2, 4, "Pay Harbour 20 from Freelance.", "")[:6]
    )
    assert (seen.reward, seen.success, seen.knobs) == (None, None, ("stripped",))


@pytest.mark.parametrize(
    ("asked", "test"),
    [
        ({}, lambda r: True),
        ({"policy": ("oracle", "noop")}, lambda r: r.policy in ("oracle", "noop")),
        ({"server": ("nowhere",)}, lambda r: False),
        ({"knob": ("distractors",)}, lambda r: "distractors" in r.example.knobs),
        ({"knob": ("none", HOSTILE[0])}, lambda r: r.example.knobs in ((), (HOSTILE[0],))),
        ({"error": ("none",)}, lambda r: not any(call.error for call in r.calls)),
        ({"error": ("rejected",)}, lambda r: any(call.error == "rejected" for call in r.calls)),
        ({"ended": ("policy_error",)}, lambda r: r.ended == "policy_error"),
        ({"success": True}, lambda r: succeeded(r)),
        ({"success": False}, lambda r: not succeeded(r)),
        ({"least": 0.5}, lambda r: r.reward and r.reward.total >= 0.5),
        ({"least": 0.1, "most": 1.0}, lambda r: r.reward and 0.1 <= r.reward.total <= 1.0),
        ({"calls_least": 5}, lambda r: len(r.calls) >= 5),
        ({"calls_most": 0}, lambda r: not r.calls),
        ({"text": "HARBOUR"}, lambda r: "Harbour" in r.example.turns[0].text),
        ({"text": "freelance pay-1"}, lambda r: r.example.id.startswith("pay-1")),
        ({"text": HOSTILE[0]}, lambda r: r.policy == HOSTILE[0]),
        ({"text": "nowhere"}, lambda r: False),
        ({"id": "pay-3"}, lambda r: r.example.id == "pay-3"),
        ({"policy": ("oracle",), "success": True}, lambda r: r.policy == "oracle" and succeeded(r)),
    ],
)
def test_a_filter_finds_what_it_says(rows: Rows, asked: dict[str, object], test: object) -> None:
    assert found(rows, **asked) == where(test)


@pytest.mark.parametrize("sort", ["reward", "-reward", "calls", "-calls", "-line"])
def test_an_order_is_kept_under_filters(rows: Rows, sort: str) -> None:
    for asked in ({}, {"least": 0.0, "most": 2.0}):
        at = found(rows, sort=sort, **asked)
        assert sorted(at) == found(rows, **asked)
        name = sort.strip("-")
        keys = [{"reward": _paid, "calls": _length, "line": _line}[name](row) for row in at]
        known = [key for key in keys if key is not None]
        assert known == sorted(known, reverse=sort.startswith("-"))
        assert None not in keys[: len(known)]


def _paid(at: int) -> float | None:
    reward = ROLLOUTS[at].reward
    return reward.total if reward else None


def _length(at: int) -> float:
    return len(ROLLOUTS[at].calls)


def _line(at: int) -> float:
    return at


def test_the_counts_of_a_filter_ignore_itself_and_heed_the_others(rows: Rows) -> None:
    facets = rows.selector.facets(Query(policy=("oracle",), calls_least=1))
    assert facets["policy"] == _tally(lambda r: cut(r.policy), lambda r: r.calls)
    assert facets["server"] == _tally(
        lambda r: r.example.server, lambda r: r.policy == "oracle" and r.calls
    )
    assert facets["calls"] == _tally(lambda r: str(len(r.calls)), lambda r: r.policy == "oracle")
    assert len(facets["reward"]) == BUCKETS
    paid = where(lambda r: r.policy == "oracle" and r.calls and r.reward)
    assert sum(facets["reward"]) == len(paid)  # type: ignore[arg-type]
    everything = rows.selector.facets(Query())
    assert everything["success"] == {
        "true": len(where(succeeded)),
        "false": len(where(lambda r: not succeeded(r))),
    }
    assert everything["error"]["none"] == len(  # type: ignore[call-overload]
        where(lambda r: not any(call.error for call in r.calls))
    )


def _tally(key: object, test: object) -> dict[str, int]:
    assert callable(key)
    told: dict[str, int] = {}
    for at in where(test):
        told[key(ROLLOUTS[at])] = told.get(key(ROLLOUTS[at]), 0) + 1
    return told


def test_a_page_is_a_part_of_the_list(rows: Rows) -> None:
    whole = rows.rows(Query(sort="-reward"), 0, 100)
    parts = [rows.rows(Query(sort="-reward"), at, 4)["rows"] for at in range(0, len(ROLLOUTS), 4)]
    assert [row for part in parts for row in part] == whole["rows"]
    assert (whole["total"], whole["of"]) == (len(ROLLOUTS), len(ROLLOUTS))
    assert {row["id"] for row in whole["rows"]} == {cut(r.example.id) for r in ROLLOUTS}


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["pay", "harbour", "20", "alert", "freeze", "zzz", "pay-1"]), max_size=3
    ),
    least=st.none() | st.floats(-1, 2),
    policies=st.lists(st.sampled_from(["oracle", "noop", "nobody"]), max_size=2),
    sort=st.sampled_from(["line", "-reward", "calls"]),
)
def test_filters_together_are_filters_one_by_one(
    rows: Rows, words: list[str], least: float | None, policies: list[str], sort: str
) -> None:
    each = [found(rows, text=word) for word in words]
    each.append(found(rows, least=least))
    each.append(found(rows, policy=tuple(policies)))
    together = found(rows, text=" ".join(words), least=least, policy=tuple(policies), sort=sort)
    assert set(together) == set.intersection(*map(set, each))
    assert len(together) == len(set(together))


def test_rows_that_come_later_are_found(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    write(path, some(3))
    library = Library([path]).settle()
    rows = library.rows(0)
    assert len(found(rows, text="harbour", sort="-reward")) == 3
    with path.open("ab") as out:
        out.write(line(played("oracle", 9)))
    library.settle()
    assert len(found(rows, text="harbour", sort="-reward")) == 4
