"""How long the tools of a server take: a rule of its contract, and a time limit for endless loops.

Only the quickest of several calls counts, so a busy machine does not make a tool slow.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from time import perf_counter
from types import FrameType

from provegym.fuzz import Fuzzer
from provegym.kernel import AnyServer, Bug, Session, Tool

TRIES = 20
# Seconds: our own tools take some microseconds.
SLOW, ENDLESS = 0.02, 30


class TookTooLong(Exception):
    """A call was stopped by its time limit."""


def slow_tools(server: AnyServer) -> Iterator[str]:
    """The tools that are slow in random calls; after one that does not end, nothing is tried."""
    session, fuzzer = Session([server], 0), Fuzzer(server, "speed")
    try:
        with _time_limit():
            fuzzer.look(session.state(server))
        for tool in server.tools.values():
            took = _quickest(session, fuzzer, tool)
            if took > SLOW:
                yield f"{tool.name} takes {1000 * took:.0f} ms; a call may take {1000 * SLOW:.0f}"
    except Bug as problem:
        if isinstance(problem.__cause__, TookTooLong):
            yield f"{str(problem).partition(' raised ')[0]} does not end in {ENDLESS} seconds"


def _quickest(session: Session, fuzzer: Fuzzer, tool: Tool) -> float:
    """The seconds of the quickest call that works, or of the quickest one if none does."""
    worked: list[float] = []
    refused: list[float] = []
    for _ in range(TRIES):
        twin, arguments = session.fork(), fuzzer.arguments(tool)
        with _time_limit():
            start = perf_counter()
            outcome = twin.call(tool.name, arguments)
            took = perf_counter() - start
        (worked if outcome.ok else refused).append(took)
        fuzzer.learn(tool, arguments, outcome)
    return min(worked or refused)


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TookTooLong in what runs too long; only on Unix, and in the main thread."""
    if sys.platform == "win32" or current_thread() is not main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"{ENDLESS} seconds are over")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, ENDLESS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
