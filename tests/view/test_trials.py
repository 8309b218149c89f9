"""Trying tools by hand: results, diffs, the way back, and how many may be open."""

import msgspec
import pytest

from provegym.kernel import Session
from provegym.servers import load
from provegym.view.sources import Missing
from provegym.view.trials import Trial, Trials

OPEN = b'{"name": "Boat", "kind": "savings"}'


def test_a_write_shows_its_diff_and_can_be_undone() -> None:
    trial = Trial("banking", 0)
    seed = trial.now.digest()
    told = trial.call("open_account", OPEN)
    assert (told["ok"], told["error"], told["depth"]) == (True, None, 1)
    [change] = told["diff"]
    assert (change.table, change.before, change.after["name"]) == ("accounts", None, "Boat")
    assert told["since"] == told["diff"]
    second = trial.call("open_account", OPEN.replace(b"Boat", b"Car"))
    assert (second["depth"], len(second["diff"]), len(second["since"])) == (2, 1, 2)
    assert trial.undo() == {"depth": 1, "diff": [change]}
    assert trial.undo() == {"depth": 0, "diff": []}
    assert trial.now.digest() == seed
    assert trial.undo() == {"depth": 0, "diff": []}


def test_reads_and_refusals_leave_nothing_to_undo() -> None:
    trial = Trial("banking", 0)
    read = trial.call("list_accounts", b"{}")
    assert (read["ok"], read["diff"], read["depth"]) == (True, [], 0)
    assert msgspec.json.decode(read["result"])["total"] > 0
    trial.call("open_account", OPEN)
    again = trial.call("open_account", OPEN)
    assert (again["ok"], again["error"], again["diff"], again["depth"]) == (
        False,
        "rejected",
        [],
        1,
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("open_account", b'{"name": "Boat"}', "invalid_argument"),
        ("open_account", b'{"name": 5, "kind": "savings"}', "invalid_argument"),
        ("open_account", b"[]", "invalid_argument"),
        ("open_account", b"null", "invalid_argument"),
        ("open_account", b'{"name": "Boat", "kind": "savings", "x": 1}', "invalid_argument"),
        ("no_such_tool", b"{}", "not_found"),
        ("send_email", b"{}", "not_found"),
    ],
)
def test_arguments_are_the_kernels_to_check(tool: str, arguments: bytes, error: str) -> None:
    told = Trial("banking", 0).call(tool, arguments)
    assert (told["ok"], told["error"], told["depth"]) == (False, error, 0)
    expected = Session([load("banking")]).call(tool, arguments)
    assert bytes(told["result"]).decode() == expected.text


def test_a_reset_can_be_undone_too() -> None:
    trial = Trial("banking", 3)
    trial.call("open_account", OPEN)
    assert trial.reset() == {"depth": 2, "diff": []}
    assert trial.now.digest() == Session([load("banking")], 3).digest()
    assert len(trial.undo()["diff"]) == 1
    fresh = Trial("banking", 3)
    assert fresh.reset()["depth"] == 0


def test_trials_keep_apart_and_the_unused_is_dropped() -> None:
    trials = Trials(most=2)
    first, second = trials.open("banking", 0), trials.open("banking", 0)
    trials[first].call("open_account", OPEN)
    assert trials[second].now.diff() == []
    assert trials[first].now.diff()
    third = trials.open("calendar", 1)
    assert len({first, second, third}) == 3
    assert len(trials) == 2
    assert trials[first].past
    with pytest.raises(Missing, match="open a new one"):
        trials[second]


def test_the_way_back_has_an_end() -> None:
    from provegym.view import trials

    trial = Trial("banking", 0)
    for number in range(8):
        trial.call("open_account", OPEN.replace(b"Boat", b"Pot %d" % number))
    depth = len(trial.past)
    assert 0 < depth <= trials.DEEPEST


def test_there_is_no_trial_of_a_server_that_is_not_there() -> None:
    with pytest.raises(Missing, match="did you mean 'banking'"):
        Trials().open("bankin", 0)
