"""Notices that a worker process of a pool was killed; a multiprocessing pool itself would hang."""

import signal
from multiprocessing.pool import TERMINATE, AsyncResult, Pool
from typing import Any, TypeVar

from provegym.errors import UserError

# How often a wait for a process pool looks whether its processes are alive.
TICK = 0.5

A = TypeVar("A")


class WorkerKilled(UserError):
    """A worker process was killed, and its work is lost."""


class PoolWatch:
    """Notices if a process of a pool is killed, for instance because memory ran out.

    The pool itself starts another one in its place, and waits for the lost result forever. It does
    not say who died, so its processes are remembered. What it is made of has no public name.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.inside: Any = pool
        self.seen: set[Any] = set()
        self.killed: int | None = None
        self.check()

    def check(self) -> None:
        """Raise an error if a process was killed; nothing is left of the pool then."""
        self._look()
        if self.killed is not None:
            self._abandon()
            raise WorkerKilled(
                f"a worker process ended with {_ending(self.killed)}; if memory ran out,"
                " let fewer processes work at once. Start again: what was written is kept"
            )

    def _look(self) -> None:
        """Remember the processes, and the exit code of one that was killed.

        A thread of the pool asks the system for exit codes. `exitcode` would ask as well, and if
        two threads ask at once, one of them gets a wrong answer.
        """
        self.seen.update(self.inside._pool)
        for process in [each for each in self.seen if each._popen.returncode is not None]:
            self.seen.discard(process)
            self.killed = process._popen.returncode or self.killed

    def wait(self, result: "AsyncResult[Any]", seconds: float) -> bool:
        """Wait some seconds for a result; whether it is there."""
        result.wait(seconds)
        if not result.ready():
            self.check()
        return result.ready()

    def get(self, result: "AsyncResult[A]") -> A:
        """Wait for a result."""
        while not self.wait(result, TICK):
            pass
        return result.get()

    def end(self) -> None:
        """Stop the pool."""
        self._look()
        if self.killed is not None:
            self._abandon()
        else:
            self.pool.terminate()
            self.pool.join()

    def _abandon(self) -> None:
        """Kill the processes and leave the pool as it is, also at the end of this process.

        A killed process may hold a lock that `terminate` would wait for.
        """
        inside = self.inside
        inside._terminate.cancel()
        # No more new processes, and no warning that the pool is still open.
        inside._state = inside._worker_handler._state = TERMINATE
        inside._change_notifier.put(None)
        inside._worker_handler.join()
        for process in inside._pool:
            process.kill()
            process.join()


def _ending(code: int) -> str:
    """An exit code in words. That of a killed process is the negative number of the signal."""
    return f"exit code {code}" if code > 0 else signal.Signals(-code).name
