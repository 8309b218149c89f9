"""What is counted, and how sure a mean is."""

import msgspec
import pytest

from examples import pay_example
from provegym.evals.measure import METRICS, by_task, estimate, measure
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED
from provegym.rollout import play_script
from provegym.trace import Call, Example, Path, Rollout, Turn, Verdict
from provegym.verify.complete import complete


def played(example: Example, script: str) -> Rollout:
    """A scripted rollout."""
    return play_script(example, SCRIPTS[script])


@pytest.fixture(scope="module")
def example() -> Example:
    """A payment with a known outcome."""
    return complete(pay_example())


def test_an_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    values = [0.0] * 30 + [1.0] * 70
    found = estimate(values)
    assert found is not None
    assert found.mean == pytest.approx(0.7)
    # A share of 0.7 over 100 tasks has a standard error of 0.046: 1.96 of them either way.
    assert found.low == pytest.approx(0.61, abs=0.015)
    assert found.high == pytest.approx(0.79, abs=0.015)
    assert estimate(values) == found
    assert estimate([]) is None


def test_more_tasks_make_it_narrower() -> None:
    few, many = estimate([0.0, 1.0] * 10), estimate([0.0, 1.0] * 250)
    assert few is not None
    assert many is not None
    assert many.high - many.low < (few.high - few.low) / 3


def test_the_oracle_and_the_noop_stand_at_the_ends(example: Example) -> None:
    best, idle = measure([played(example, "oracle")]), measure([played(example, "noop")])
    assert best["success"].mean == 1
    assert best["reward"].mean == pytest.approx(1.3)
    assert best["calls"].mean == 4
    assert idle["success"].mean == idle["reward"].mean == idle["coverage"].mean == 0
    assert "abstention" not in best
    assert "clarification" not in best


def test_success_is_reported_in_three_parts(example: Example) -> None:
    right = played(example, "oracle")
    cut = msgspec.structs.replace(right, ended="turns", verdict=None)
    quiet = msgspec.structs.replace(right, verdict=Verdict(state=True, ended=True))
    found = [
        {name: METRICS[name](rollout) for name in ("success", "state", "answer", "ended")}
        for rollout in (right, cut, quiet)
    ]
    assert found == [
        {"success": 1, "state": 1, "answer": 1, "ended": 1},
        {"success": 0, "state": 1, "answer": 1, "ended": 0},
        {"success": 0, "state": 1, "answer": 0, "ended": 1},
    ]
    assert list(measure([right]))[:4] == ["success", "state", "answer", "ended"]


def test_parts_of_another_scheme_are_not_counted_as_zero(example: Example) -> None:
    hard = play_script(example, SCRIPTS["oracle"], scheme=HARDENED)
    found = measure([hard])
    assert found["reward"].mean == pytest.approx(1.3)
    assert "validity" not in found


def test_a_rollout_that_went_wrong_is_paid_nothing(example: Example) -> None:
    broken = Rollout(example=example, policy="x", messages=(), ended="policy_error")
    found = measure([broken])
    assert found["reward"].mean == found["validity"].mean == found["success"].mean == 0


def test_abstaining_counts_only_where_there_is_nothing_to_call(example: Example) -> None:
    empty = msgspec.structs.replace(example, kind="abstention", paths=(Path(),))
    quiet = played(empty, "noop")
    assert METRICS["abstention"](quiet) == 1
    call = Call(turn=0, message=1, tool="list_accounts", arguments={})
    assert METRICS["abstention"](msgspec.structs.replace(quiet, calls=(call,))) == 0
    assert METRICS["coverage"](quiet) is None


def test_clarifying_is_to_answer_the_idle_turn_without_a_call(example: Example) -> None:
    turns = (*example.turns, Turn(text="Now do what no tool does."))
    asked = msgspec.structs.replace(example, kind="clarification", turns=turns)
    good = played(asked, "oracle")
    clarified = METRICS["clarification"]
    assert clarified(good) == 1
    call = Call(turn=2, message=9, tool="list_accounts", arguments={})
    assert clarified(msgspec.structs.replace(good, calls=(*good.calls, call))) == 0
    # A rollout that ended before that turn has not clarified anything.
    assert clarified(msgspec.structs.replace(good, messages=good.messages[:-2])) == 0
    assert clarified(played(example, "oracle")) is None


def test_a_task_counts_once_however_often_it_was_played(example: Example) -> None:
    other = msgspec.structs.replace(example, id="pay-2")
    rollouts = [played(example, "oracle"), played(example, "noop"), played(other, "noop")]
    assert by_task(rollouts, METRICS["success"]) == {"pay-1": 0.5, "pay-2": 0.0}
    assert measure(rollouts)["success"].tasks == 2
