"""Notices a killed worker process of a multiprocessing pool, which itself would wait for ever."""

import signal
from multiprocessing.pool import AsyncResult, Pool
from multiprocessing.process import BaseProcess
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
    not say who died, so its processes are remembered.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.seen: set[BaseProcess] = set()
        self.check()

    def check(self) -> None:
        """Raise an error if a process was killed."""
        self.seen.update(self.pool._pool)  # type: ignore[attr-defined]
        for process in [each for each in self.seen if each.exitcode is not None]:
            self.seen.discard(process)
            if process.exitcode:
                raise WorkerKilled(
                    f"a worker process ended with {_ending(process.exitcode)}; if memory ran out,"
                    " let fewer processes work at once. Start again: what was written is kept"
                )

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


def _ending(code: int) -> str:
    """An exit code in words. That of a killed process is the negative number of the signal."""
    return f"exit code {code}" if code > 0 else signal.Signals(-code).name
