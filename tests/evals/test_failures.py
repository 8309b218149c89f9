"""Failure analysis: each failed rollout has one cause, the first step that was not done right."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from examples import pay_example
from provegym.evals import failures
from provegym.evals.failures import cause, causes
from provegym.evals.heldout import drawn, report
from provegym.kernel import Session
from provegym.players.plan import tool_call
from provegym.players.scripted import SCRIPTS, Script
from provegym.rewards import rescore
from provegym.rollout import play_script
from provegym.servers import load
from provegym.toolbox import aliased
from provegym.trace import RAN, Checks, Edge, Example, Rollout, Turn, Verdict, literals
from provegym.verify.complete import complete

Calls = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def example() -> Example:
    """Two lookups and a payment; in the next turn a card is frozen."""
    return complete(pay_example())


def right(example: Example) -> Calls:
    """The right calls: two lookups, the payment, the card."""
    return [(step.tool, dict(literals(step.arguments))) for step in example.paths[0].steps]


def played(example: Example, first: Calls, second: Calls) -> Rollout:
    """A rollout that makes these calls in the first and in the second turn, one per message."""
    plan = [[[tool_call(*call)] for call in calls] for calls in (first, second)]
    return play_script(example, lambda each: Script(each, plan, words="Done."))


def without_payment(calls: Calls) -> tuple[Calls, Calls]:
    return calls[:2], calls[3:]


def with_payment(**changes: Any) -> Callable[[Calls], tuple[Calls, Calls]]:
    """The right calls, the payment with other arguments; None leaves an argument out."""

    def change(calls: Calls) -> tuple[Calls, Calls]:
        tool, arguments = calls[2]
        merged = {**arguments, **changes}
        kept = {name: value for name, value in merged.items() if value is not None}
        return [*calls[:2], (tool, kept)], calls[3:]

    return change


def cancelled(calls: Calls) -> tuple[str, dict[str, Any]]:
    """The call for the card with another status."""
    tool, arguments = calls[3]
    return tool, {**arguments, "status": "cancelled"}


CASES: dict[str, Callable[[Calls], tuple[Calls, Calls]]] = {
    failures.NO_CALL: lambda calls: ([], calls[3:]),
    failures.OTHER_TOOL: without_payment,
    failures.SKIPPED: lambda calls: ([calls[0], with_payment(payee_id="pay_0")(calls)[0][2]], []),
    failures.UNKNOWN_TOOL: lambda calls: ([*calls[:2], ("send_money", {})], calls[3:]),
    failures.ARGUMENTS: with_payment(amount=None),
    failures.BAD_VALUE: with_payment(amount=-3),
    failures.UNKNOWN_ID: with_payment(account_id="acc_0"),
    failures.REFUSED: with_payment(amount=99_999),
    failures.SAID: with_payment(amount=21),
    failures.TOO_EARLY: lambda calls: ([*calls[:3], cancelled(calls)], []),
    failures.FURTHER_WRITE: lambda calls: ([*calls[:3], calls[2]], calls[3:]),
    failures.ADDED: with_payment(note="a note"),
    failures.CUT_OFF: lambda calls: ([calls[0]] * 10, []),
}


@pytest.mark.parametrize("why", CASES)
def test_a_mistake_has_its_cause(example: Example, why: str) -> None:
    rollout = played(example, *CASES[why](right(example)))
    assert cause(rollout) == why


def test_a_wrong_id_had_to_be_looked_up(example: Example) -> None:
    session = Session([load("banking")], example.seed)
    payees = [each["id"] for each in session.call("list_payees", {}).value["items"]]
    others = [each for each in payees if each != right(example)[2][1]["payee_id"]]
    rollouts = [played(example, *with_payment(payee_id=other)(right(example))) for other in others]
    ran = [rollout for rollout in rollouts if rollout.calls[2].checks.ran]
    assert ran
    assert {cause(rollout) for rollout in ran} == {failures.LOOKED_UP}


def test_the_right_calls_with_wrong_words_fail_by_their_words_alone(example: Example) -> None:
    rollout = played(example, right(example)[:3], right(example)[3:])
    assert cause(rollout) is None
    for verdict, why in [
        (Verdict(state=True, answer=False, ended=True), failures.REPLY),
        (Verdict(state=True, answer=True, ended=False), failures.NOT_ENDED),
        (Verdict(state=True, answer=True, ended=True), None),
    ]:
        assert cause(msgspec.structs.replace(rollout, verdict=verdict)) == why


def test_the_right_call_before_what_it_needs_is_too_early_if_it_failed_too(
    example: Example,
) -> None:
    calls = right(example)
    rollout = played(example, [calls[2], *calls[:2]], calls[3:])
    failed = msgspec.structs.replace(rollout.calls[0], checks=Checks(shown=True, fits=True))
    rollout = msgspec.structs.replace(rollout, calls=(failed, *rollout.calls[1:]))
    assert cause(msgspec.structs.replace(rollout, verdict=Verdict())) == failures.TOO_EARLY


def test_a_read_of_an_earlier_turn_is_no_attempt_at_a_later_lookup(example: Example) -> None:
    path = example.paths[0]
    later = msgspec.structs.replace(path.steps[1], turn=1, arguments={"name": "Lindenhof"})
    longer = msgspec.structs.replace(path, steps=(*path.steps, later))
    task = msgspec.structs.replace(example, paths=(longer,))
    calls = right(example)
    rollout = played(task, [*calls[:2], calls[1], calls[2]], calls[3:])
    assert rollout.reward is not None
    assert [pair.equal for pair in rollout.reward.served if pair.step == 4] == [0]
    rollout = msgspec.structs.replace(rollout, verdict=Verdict())
    assert cause(rollout) == failures.OTHER_TOOL


def test_a_value_that_the_user_said_in_other_words_was_said(example: Example) -> None:
    path = example.paths[0]
    freeze = msgspec.structs.replace(path.steps[3], needs=(Edge(step=0, kind="explicit"),))
    steps = (*path.steps[:3], freeze)
    made = msgspec.structs.replace(example.provenance, derived={"3.status": "Freeze"})
    task = msgspec.structs.replace(
        example, paths=(msgspec.structs.replace(path, steps=steps),), provenance=made
    )
    calls = right(example)
    assert cause(played(task, calls[:3], [cancelled(calls)])) == failures.SAID
    task = msgspec.structs.replace(task, provenance=example.provenance)
    assert cause(played(task, calls[:3], [cancelled(calls)])) == failures.LOOKED_UP


def test_a_cause_does_not_depend_on_names(example: Example) -> None:
    """The user says an id: under an alias in another form."""
    payment = right(example)[2][1]
    turns = (Turn(text=f"Pay 20 from {payment['account_id']} to Harbour."), *example.turns[1:])
    task = msgspec.structs.replace(example, turns=turns)
    for each in (task, aliased(task, 3)):
        rollout = played(each, *with_payment(account_id="acc_0")(right(example)))
        ran = msgspec.structs.replace(rollout.calls[2], checks=RAN)
        calls = (*rollout.calls[:2], ran, *rollout.calls[3:])
        assert cause(msgspec.structs.replace(rollout, calls=calls)) == failures.SAID
        for why, change in CASES.items():
            assert cause(played(each, *change(right(example)))) == why


def test_a_broken_rollout_that_was_scored_again_is_broken(example: Example) -> None:
    rollout = play_script(example, SCRIPTS["noop"])
    for ended in ("policy_error", "server_bug"):
        broken = rescore(msgspec.structs.replace(rollout, ended=ended))
        assert cause(broken) == failures.BROKEN


def test_a_rollout_without_a_reward_is_broken(example: Example) -> None:
    rollout = msgspec.structs.replace(
        play_script(example, SCRIPTS["noop"]), reward=None, verdict=Verdict()
    )
    assert cause(rollout) == failures.BROKEN


def test_every_failed_rollout_counts_once_in_the_report() -> None:
    tasks = drawn(("budget", "issue_tracker"), 12)
    for name in ("oracle", "noop", "guesser", "shuffler", "spammer"):
        rollouts = [play_script(task, SCRIPTS[name]) for task in tasks]
        failed = [rollout for rollout in rollouts if cause(rollout) is not None]
        assert sum(causes(rollouts).values()) == len(failed)
        told = report(rollouts)
        assert sum(sum(each["failures"].values()) for each in told.values()) == len(failed)
        successes = sum(
            round(each["scores"]["success"]["model"].mean * each["tasks"]) for each in told.values()
        )
        assert len(failed) == len(tasks) - successes
