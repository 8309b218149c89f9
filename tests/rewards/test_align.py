"""The alignment is the best there is: equal to trying every one."""

from itertools import product
from time import process_time

from hypothesis import given, settings

from provegym.rewards.align import Key, align, can_serve, describe, rank
from provegym.trace import Call, Checks, Edge, Step
from rewards.drawing import calls, steps

RAN = Checks(shown=True, fits=True, ran=True)


def brute_force(path: tuple[Step, ...], made: tuple[Call, ...]) -> Key:
    """The rank of the best of all alignments."""
    options = [
        [None, *(at for at, call in enumerate(made) if can_serve(call, step))] for step in path
    ]
    ranks = []
    for chosen in product(*options):
        used = [call for call in chosen if call is not None]
        if len(used) == len(set(used)):
            ranks.append(rank(describe(path, made, list(chosen)), made))
    return max(ranks)


@settings(max_examples=400)
@given(steps(), calls())
def test_the_alignment_equals_brute_force(path: tuple[Step, ...], made: tuple[Call, ...]) -> None:
    found = align(path, made)
    assert not found.greedy
    assert rank(found, made) == brute_force(path, made)


def test_a_repaired_call_serves_the_step_its_first_attempt_failed() -> None:
    path = (Step(turn=0, tool="pay", arguments={"amount": 5}),)
    failed = Call(turn=0, message=0, tool="pay", arguments={"amount": 500})
    repaired = Call(turn=0, message=1, tool="pay", arguments={"amount": 5}, checks=RAN)
    assert align(path, (failed, repaired)).served == (1,)


def test_a_value_needs_an_earlier_message_and_state_only_an_earlier_call() -> None:
    for kind, placed in (("explicit", False), ("implicit", True)):
        path = (
            Step(turn=0, tool="find"),
            Step(turn=0, tool="use", needs=(Edge(step=0, kind=kind),)),  # type: ignore[arg-type]
        )
        together = tuple(
            Call(turn=0, message=0, tool=tool, arguments={}, checks=RAN) for tool in ("find", "use")
        )
        assert align(path, together).in_order == (True, placed)


def test_a_write_serves_its_own_turn_and_a_read_a_later_one_too() -> None:
    path = (Step(turn=1, tool="do"),)
    early = Call(turn=0, message=0, tool="do", arguments={}, checks=RAN)
    late = Call(turn=2, message=2, tool="do", arguments={}, checks=RAN)
    write = Call(turn=0, message=0, tool="do", arguments={}, checks=RAN, writes=True)
    assert align(path, (early,)).served == (0,)
    assert align(path, (late,)).served == (None,)
    assert align(path, (write,)).served == (None,)


def test_two_hundred_calls_of_one_tool_are_scored_in_bounded_time() -> None:
    path = tuple(Step(turn=0, tool="look", arguments={"x": at}) for at in range(8))
    made = tuple(
        Call(turn=0, message=at, tool="look", arguments={"x": at % 9}, checks=RAN)
        for at in range(200)
    )
    start = process_time()
    found = align(path, made)
    assert process_time() - start < 2
    assert found.greedy
    assert found.served == tuple(range(8))


def test_twelve_calls_of_one_tool_are_still_exact() -> None:
    path = tuple(Step(turn=0, tool="look", arguments={"x": at}) for at in range(8))
    made = tuple(
        Call(turn=0, message=at, tool="look", arguments={"x": 11 - at}, checks=RAN)
        for at in range(12)
    )
    found = align(path, made)
    assert not found.greedy
    assert found.served == tuple(range(11, 3, -1))
