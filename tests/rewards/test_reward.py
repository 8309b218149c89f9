"""The reward's arithmetic: the paper's own numbers, and what must hold for any rollout."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.rewards import HARDENED, WEIGHTS, Scheme, rescore, score
from provegym.rewards.align import can_serve
from provegym.rewards.equality import equal
from provegym.rewards.explain import explain
from provegym.trace import (
    Alternative,
    Call,
    Checks,
    Edge,
    Example,
    Path,
    Ref,
    Reward,
    Rollout,
    Step,
    Turn,
    line,
)
from rewards.drawing import calls, steps

put = msgspec.structs.replace
RAN = Checks(shown=True, fits=True, ran=True)


def example(*paths: Sequence[Step]) -> Example:
    """An example with these right calls."""
    return Example(
        id="e",
        kind="multi_turn" if any(paths) else "abstention",
        server="banking",
        server_version=1,
        seed=0,
        digest="",
        system="",
        turns=(Turn(text="please"),),
        paths=tuple(Path(steps=tuple(path)) for path in paths) or (Path(),),
    )


def call(tool: str, message: int = 0, checks: Checks = RAN, **arguments: object) -> Call:
    """A call of the first turn."""
    return Call(turn=0, message=message, tool=tool, arguments=arguments, checks=checks)


def parts(*made: Call, gold: Sequence[Step]) -> dict[str, float]:
    """The parts of what these calls are paid."""
    return score(example(gold), made).parts


def test_the_weights_are_the_papers() -> None:
    paper = {"validity": 0.5, "coverage": 0.5, "efficiency": 0.15, "name": 0.2, "argument": 0.1}
    assert {part: weight for part, weight in WEIGHTS.items() if weight} == paper


def test_the_right_calls_are_paid_the_maximum() -> None:
    gold = [Step(turn=0, tool="find"), Step(turn=0, tool="use", arguments={"id": 1})]
    assert score(example(gold), (call("find"), call("use", 1, id=1))).total == 1.3


def test_no_call_is_paid_nothing_where_calls_are_right() -> None:
    reward = score(example([Step(turn=0, tool="find")]), ())
    assert reward.total == 0
    assert set(reward.parts.values()) == {0}


def test_where_nothing_is_right_silence_is_paid_one_and_any_call_nothing() -> None:
    assert score(example(), ()).total == 1
    assert score(example(), (call("find"),)).total == 0


@pytest.mark.parametrize(
    ("checks", "validity"),
    [(Checks(), 0), (Checks(shown=True), 1 / 3), (Checks(shown=True, fits=True), 2 / 3), (RAN, 1)],
)
def test_validity_has_thirds(checks: Checks, validity: float) -> None:
    gold = [Step(turn=0, tool="find")]
    assert parts(call("find", checks=checks), gold=gold)["validity"] == pytest.approx(validity)


def test_the_budget_for_four_calls_is_six() -> None:
    gold = [Step(turn=0, tool=tool) for tool in "abcd"]
    for extra, efficiency in ((0, 0), (2, 0), (3, -0.5 / 6), (8, -0.5)):
        made = [call(tool, at) for at, tool in enumerate("abcd" + "a" * extra)]
        assert parts(*made, gold=gold)["efficiency"] == pytest.approx(efficiency)


def test_without_slack_the_budget_is_the_number_of_steps() -> None:
    gold = [Step(turn=0, tool=tool) for tool in "ab"]
    made = tuple(call(tool, at) for at, tool in enumerate("aba"))
    strict = score(example(gold), made, Scheme(beta=0))
    assert strict.parts["efficiency"] == pytest.approx(-0.25)


def test_name_is_the_share_of_calls_that_are_called_for() -> None:
    gold = [Step(turn=0, tool="find")]
    assert parts(call("find"), call("look"), call("peek"), gold=gold)["name"] == pytest.approx(
        1 / 3
    )


def test_coverage_asks_for_keys_and_order_and_not_for_values() -> None:
    need = (Edge(step=0, kind="explicit"),)
    gold = [Step(turn=0, tool="find"), Step(turn=0, tool="use", arguments={"id": 1}, needs=need)]
    assert parts(call("find"), call("use", 1, id=9), gold=gold)["coverage"] == 1
    assert parts(call("find"), call("use", 1), gold=gold)["coverage"] == 0.5
    assert parts(call("use", 0, id=1), call("find", 1), gold=gold)["coverage"] == 0.5


def test_argument_is_the_mean_share_of_equal_values_over_served_steps() -> None:
    gold = [Step(turn=0, tool="a", arguments={"x": 1, "y": 2}), Step(turn=0, tool="b")]
    assert parts(call("a", x=1, y=0), gold=gold)["argument"] == 0.5
    assert parts(call("a", x=1, y=0), call("b"), gold=gold)["argument"] == 0.75


def test_a_call_nobody_can_read_is_worth_nothing() -> None:
    broken = Call(turn=0, message=0, tool="find", arguments=None, error="malformed")
    assert score(example([Step(turn=0, tool="find")]), (broken,)).total == 0


def test_a_guess_where_one_should_ask_is_worth_nothing() -> None:
    gold = [Step(turn=1, tool="pay", writes=True)]
    guess = msgspec.structs.replace(call("pay"), writes=True)
    right = msgspec.structs.replace(guess, turn=1, message=2)
    alone, both = parts(right, gold=gold), parts(guess, right, gold=gold)
    assert (both["validity"], both["name"]) == (0.5, 0.5)
    assert (alone["validity"], alone["name"]) == (1, 1)


def test_a_write_that_no_step_asks_for_is_wasted() -> None:
    gold = [Step(turn=0, tool="freeze", arguments={}, writes=True)]
    right, undone = (put(call(tool), writes=True) for tool in ("freeze", "open"))
    paid = [
        score(example(gold), made, HARDENED).parts["waste"] for made in ([right], [right, undone])
    ]
    assert paid == [0, -0.5]
    assert score(example(gold), [right, call("look")], HARDENED).parts["waste"] == 0


def told(gold: Sequence[Step], *made: Call) -> list[str]:
    """What is said of these calls after their checks."""
    rollout = rescore(Rollout(example=example(gold), policy="p", messages=(), calls=made))
    return [each.partition("; ")[2] or each for each in explain(rollout)]


def test_a_right_call_in_the_wrong_turn_is_told_so() -> None:
    gold = [Step(turn=0, tool="find"), Step(turn=1, tool="pay", arguments={"to": 1}, writes=True)]
    early = msgspec.structs.replace(call("pay", 1, to=1), writes=True)
    right = msgspec.structs.replace(early, turn=1, message=2)
    wrong = msgspec.structs.replace(early, arguments={"to": 2})
    late = msgspec.structs.replace(call("find", 2), turn=1)
    early_told = "serves no step: it came in turn 1, and step 2 (pay) belongs to turn 2"
    late_told = "serves no step: it came in turn 2, and step 1 (find) belongs to turn 1"
    assert told(gold, early) == [early_told, "step 1 find: not served", "step 2 pay: not served"]
    assert told(gold, call("find"), early, right)[1] == early_told
    assert told(gold, right, late)[1] == late_told
    assert told(gold, wrong)[0] == "serves no step"
    assert told(gold, call("find"), right, late)[2] == "serves no step"  # it only looks again


def test_the_best_path_counts_and_strict_takes_the_first_alone() -> None:
    long, short = [Step(turn=0, tool="a"), Step(turn=0, tool="b")], [Step(turn=0, tool="c")]
    either = example(long, short)
    assert score(either, (call("c"),)).total == 1.3
    assert score(either, (call("c"),)).path == 1
    assert score(either, (call("c"),), Scheme(strict=True)).total < 1


def test_a_call_equal_to_an_alternative_serves_the_step_and_has_a_right_name() -> None:
    other = Alternative(tool="search", arguments={"name": "Ada"})
    gold = [Step(turn=0, tool="list", alternatives=(other,))]
    assert score(example(gold), (call("search", name=" ada"),)).total == 1.3
    assert score(example(gold), (call("search", name="Bea"),)).parts["coverage"] == 0
    assert score(example(gold), (call("search", name="Ada"),), Scheme(strict=True)).total < 1


def test_a_wide_limit_does_not_make_a_call_another_one() -> None:
    gold = [Step(turn=0, tool="list", arguments={"name": "Ada"})]
    gold[0] = msgspec.structs.replace(gold[0], alternatives=(Alternative(tool="list"),))
    assert score(example(gold), (call("list", limit=20),)).total == 1.3
    assert score(example(gold), (call("list", limit=2),)).parts["coverage"] == 0


def test_ids_that_shift_cost_nothing_beyond_the_extra_write() -> None:
    gold = [
        Step(turn=0, tool="make", writes=True),
        Step(
            turn=0,
            tool="use",
            arguments={"id": Ref(source=(0, "/id"), literal="x_1")},
            needs=(Edge(step=0, kind="explicit"),),
        ),
    ]

    def made(result: str, message: int) -> Call:
        return Call(turn=0, message=message, tool="make", arguments={}, checks=RAN, result=result)

    first, again = made('{"id": "x_1"}', 0), made('{"id": "x_2"}', 1)
    plain = score(example(gold), (first, call("use", 2, id="x_1")))
    shifted = score(example(gold), (first, again, call("use", 2, id="x_2")))
    assert plain.total == shifted.total == 1.3
    assert score(example(gold), (call("use", 2, id="x_1"),)).parts["argument"] == 1


@settings(max_examples=200)
@given(steps(), calls(), st.randoms(use_true_random=False))
def test_the_order_of_keys_never_matters(
    path: tuple[Step, ...], made: tuple[Call, ...], chance: object
) -> None:
    turned = tuple(
        msgspec.structs.replace(
            each, arguments=each.arguments and dict(reversed(each.arguments.items()))
        )
        for each in made
    )
    assert score(example(path), made) == score(example(path), turned)


@settings(max_examples=200)
@given(steps(), calls())
def test_a_useless_extra_call_never_raises_coverage(
    path: tuple[Step, ...], made: tuple[Call, ...]
) -> None:
    last = made[-1] if made else call("x")
    junk = msgspec.structs.replace(last, tool="junk", message=last.message + 1)
    before, after = score(example(path), made), score(example(path), (*made, junk))
    assert after.parts["coverage"] <= before.parts["coverage"] + 1e-12


@settings(max_examples=300)
@given(steps(), calls(), st.data())
def test_dropping_the_only_right_call_never_pays(
    path: tuple[Step, ...], made: tuple[Call, ...], data: st.DataObject
) -> None:
    """A call that alone can serve a step, valid, in place and with all values equal, is worth it.

    Out of place it serves nothing, and then the paper's efficiency does pay for leaving it out.
    """
    at = data.draw(st.integers(0, len(path) - 1))
    plain = {key: value for key, value in path[at].arguments.items() if not isinstance(value, dict)}
    step = msgspec.structs.replace(path[at], arguments=plain, needs=())
    path = (*path[:at], step, *path[at + 1 :])
    others = [each for each in made if not can_serve(each, step)]
    right = Call(
        turn=step.turn, message=99, tool=step.tool, arguments=plain, checks=RAN, result='{"id": 1}'
    )
    before = [each for each in others if each.turn <= step.turn]
    after = [msgspec.structs.replace(each, message=100 + each.message) for each in others]
    without = (*before, *after[len(before) :])
    full = (*before, right, *after[len(before) :])
    assert score(example(path), without).total <= score(example(path), full).total + 1e-9


@settings(max_examples=100)
@given(steps(), calls())
def test_a_rollout_scored_from_its_file_is_paid_the_same(
    path: tuple[Step, ...], made: tuple[Call, ...]
) -> None:
    paid = example(path)
    rollout = Rollout(example=paid, policy="p", messages=(), calls=made, reward=score(paid, made))
    again = msgspec.json.decode(line(rollout), type=Rollout)
    assert rescore(again).reward == rollout.reward


@pytest.mark.parametrize(
    ("gold", "given", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (1, "1", False),
        ("1", 1, False),
        ("Ada ", "ada", True),
        ("2026-03-01T10:00:00Z", "2026-03-01T11:00:00+01:00", True),
        ("2026-03-01T10:00:00Z", "2026-03-01 10:00:00Z", True),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00", False),
        ("2026-03-01", "2026-03-01T00:00:00Z", False),
        ([1, "a"], [1.0, " A"], True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        (None, None, True),
        (None, 0, False),
    ],
)
def test_equality_reads_as_a_careful_person_would(gold: object, given: object, same: bool) -> None:
    assert equal(gold, given) is same


def test_an_abstention_has_no_parts() -> None:
    assert score(example(), ()) == Reward(total=1.0)
