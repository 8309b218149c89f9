"""The process that draws worlds: what comes back is what the host would have drawn."""

import multiprocessing
import tracemalloc

import pytest
from mcp import MCPError

from provegym.hosts.drawing import WorldProcess, pack, unpack
from provegym.hosts.inline import Sessions, TooManySessions
from provegym.hosts.mcp import call
from provegym.hosts.memory import weigh
from provegym.kernel import Session
from provegym.kernel.state import ENCODE
from provegym.servers import load, load_all, names

PAYEE = {"name": "Ada", "iban": "DE89370400440532013000"}


def test_a_world_of_the_process_is_the_world_of_the_seed() -> None:
    process = WorldProcess(load_all())
    for server in load_all():
        ours, theirs = server.world(31), process.draw(server, 31).state
        for name in server.state.tables:
            rows, others = vars(ours)[name], vars(theirs)[name]
            assert ENCODE(list(rows)) == ENCODE(list(others)), server.name
            assert list(rows.keys()) == list(others.keys())
            assert rows.tail() == others.tail()
        assert (ours.now, ours.digest()) == (theirs.now, theirs.digest())
        session = Session([server], 31, worlds={server.name: theirs})
        later = Session([server], 31)
        session.advance(90)
        later.advance(90)
        assert session.digest() == later.digest()


def test_most_worlds_come_from_the_process() -> None:
    drawn = [server for server in load_all() if unpacks(server.name)]
    assert len(drawn) >= len(names()) - 2


def unpacks(name: str) -> bool:
    """Whether a world comes back exactly as it was."""
    server = load(name)
    packed = pack(server.world(5))
    return pack(unpack(server.state, packed)) == packed


def test_worlds_are_drawn_here_when_the_process_has_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = set(multiprocessing.active_children())
    banking = load("banking")
    process = WorldProcess([banking])
    for child in set(multiprocessing.active_children()) - known:
        child.kill()
        child.join()
    for seed in (3, 4):
        assert process.draw(banking, seed).state.digest() == banking.world(seed).digest()
    assert capsys.readouterr().err.count("has ended") <= 1


@pytest.mark.parametrize("name", names())
def test_the_estimate_of_memory_is_near_what_is_allocated(name: str) -> None:
    server = load(name)
    packed = pack(server.world(8))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    state = unpack(server.state, packed)
    allocated = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.8 < weigh(state) / allocated < 1.5


def test_worlds_that_sessions_share_count_once() -> None:
    sessions = Sessions([load("banking")])
    one, two, other = sessions.open(seed=1), sessions.open(seed=1), sessions.open(seed=2)
    three = sessions.meter.used
    sessions.close(two)
    sharing = three - sessions.meter.used
    sessions.close(other)
    assert sharing < three - sharing - sessions.meter.used
    fork = sessions.fork(one)
    sessions.close(one)
    assert sessions.get(fork).session.call("add_payee", PAYEE).ok
    sessions.get(fork).session.reset()
    assert sessions.get(fork).session.diff() == []
    sessions.close(fork)
    assert sessions.meter.used == 0


def test_a_full_host_refuses_sessions_forks_and_writes() -> None:
    sessions = Sessions([load("banking")], memory=150_000)
    first = sessions.open(seed=1)
    with pytest.raises(TooManySessions, match="memory"):
        sessions.open(seed=2)
    forks = 0
    while not sessions.meter.full:
        sessions.fork(first)
        forks += 1
    assert 0 < forks < 10
    with pytest.raises(TooManySessions, match="memory"):
        sessions.fork(first)
    with pytest.raises(MCPError, match="nothing can be written"):
        call(sessions.get(first), load("banking").tools["add_payee"], PAYEE)
    assert call(sessions.get(first), load("banking").tools["list_payees"], {}).ok


def test_what_a_session_writes_is_counted_and_given_back() -> None:
    sessions = Sessions([load("banking")])
    opened = sessions.get(sessions.open())
    before = sessions.meter.used
    assert call(opened, load("banking").tools["add_payee"], PAYEE).ok
    assert sessions.meter.used > before + 10_000
    opened.session.reset()
    opened.shrink()
    assert sessions.meter.used == before
