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
from provegym.rollout import play_script
from provegym.servers import load
from provegym.trace import Example, Rollout, Verdict, literals
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
    failures.FURTHER_WRITE: lambda calls: ([*calls[:3], calls[2]], calls[3:]),
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
