"""The sessions a process holds: unguessable, bounded in number, gone when idle."""

import pytest

from provegym.hosts.inline import HostError, NoSession, Sessions, TooManySessions
from provegym.servers import load

PAYEE = {"name": "Ada", "iban": "DE89370400440532013000"}


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_ids_are_long_and_never_the_same() -> None:
    sessions = Sessions([load("banking")])
    ids = {sessions.open() for _ in range(200)}
    assert len(ids) == 200
    assert min(map(len, ids)) >= 32


def test_an_idle_session_is_gone_after_its_time_and_a_used_one_is_not() -> None:
    clock = Clock()
    sessions = Sessions([load("banking")], ttl=60, clock=clock)
    idle, used = sessions.open(), sessions.open()
    clock.now = 50
    sessions.get(used)
    clock.now = 100
    with pytest.raises(NoSession, match="open a new one"):
        sessions.get(idle)
    assert sessions.get(used)
    assert len(sessions) == 1


def test_the_cap_holds_until_one_is_closed() -> None:
    sessions = Sessions([load("banking")], most=2)
    first, _ = sessions.open(), sessions.open()
    with pytest.raises(TooManySessions, match="close some"):
        sessions.open()
    with pytest.raises(TooManySessions):
        sessions.fork(first)
    sessions.close(first)
    assert sessions.open()


def test_closing_twice_is_fine_and_a_closed_session_is_unknown() -> None:
    sessions = Sessions([load("banking")])
    key = sessions.open()
    sessions.close(key)
    sessions.close(key)
    with pytest.raises(NoSession):
        sessions.get(key)


def test_an_unknown_server_is_named() -> None:
    with pytest.raises(HostError, match="no server 'bank'"):
        Sessions([load("banking")]).open(["bank"])


def test_a_fork_goes_its_own_way() -> None:
    sessions = Sessions([load("banking")])
    key = sessions.open()
    twin = sessions.fork(key)
    assert sessions.get(twin).session.call("add_payee", PAYEE).ok
    assert sessions.get(key).session.diff() == []
    assert len(sessions.get(twin).session.diff()) == 1
