"""Trying tools by hand: results, diffs, the way back, and how many may be open."""

import msgspec
import pytest

from provegym.kernel import Session
from provegym.servers import load
from provegym.view.sources import Missing
from provegym.view.try_tools import MAX_UNDO, OpenSessions, UndoableSession

OPEN = b'{"name": "Boat", "kind": "savings"}'


def test_a_write_shows_its_diff_and_can_be_undone() -> None:
    session = UndoableSession("banking", 0)
    seed = session.now.digest()
    told = session.call("open_account", OPEN)
    assert (told["ok"], told["error"], told["depth"]) == (True, None, 1)
    [change] = told["diff"]
    assert (change.table, change.before, change.after["name"]) == ("accounts", None, "Boat")
    assert told["since"] == told["diff"]
    second = session.call("open_account", OPEN.replace(b"Boat", b"Car"))
    assert (second["depth"], len(second["diff"]), len(second["since"])) == (2, 1, 2)
    assert session.undo() == {"depth": 1, "diff": [change]}
    assert session.undo() == {"depth": 0, "diff": []}
    assert session.now.digest() == seed
    assert session.undo() == {"depth": 0, "diff": []}


def test_reads_and_refusals_leave_nothing_to_undo() -> None:
    session = UndoableSession("banking", 0)
    read = session.call("list_accounts", b"{}")
    assert (read["ok"], read["diff"], read["depth"]) == (True, [], 0)
    assert msgspec.json.decode(read["result"])["total"] > 0
    session.call("open_account", OPEN)
    again = session.call("open_account", OPEN)
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
    told = UndoableSession("banking", 0).call(tool, arguments)
    assert (told["ok"], told["error"], told["depth"]) == (False, error, 0)
    expected = Session([load("banking")]).call(tool, arguments)
    assert bytes(told["result"]).decode() == expected.text


def test_a_reset_can_be_undone_too() -> None:
    session = UndoableSession("banking", 3)
    session.call("open_account", OPEN)
    assert session.reset() == {"depth": 2, "diff": []}
    assert session.now.digest() == Session([load("banking")], 3).digest()
    assert len(session.undo()["diff"]) == 1
    fresh = UndoableSession("banking", 3)
    assert fresh.reset()["depth"] == 0


def test_sessions_keep_apart_and_the_least_recently_used_is_dropped() -> None:
    sessions = OpenSessions(most=2)
    first, second = sessions.open("banking", 0), sessions.open("banking", 0)
    sessions[first].call("open_account", OPEN)
    assert sessions[second].now.diff() == []
    assert sessions[first].now.diff()
    third = sessions.open("calendar", 1)
    assert len({first, second, third}) == 3
    assert len(sessions) == 2
    assert sessions[first].past
    with pytest.raises(Missing, match="open a new one"):
        sessions[second]


def test_the_way_back_has_an_end() -> None:
    session = UndoableSession("banking", 0)
    for number in range(8):
        session.call("open_account", OPEN.replace(b"Boat", b"Pot %d" % number))
    depth = len(session.past)
    assert 0 < depth <= MAX_UNDO


def test_there_is_no_session_of_a_server_that_is_not_there() -> None:
    with pytest.raises(Missing, match="did you mean 'banking'"):
        OpenSessions().open("bankin", 0)
