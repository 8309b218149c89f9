"""Work that would block the event loop: it runs in one other thread, and the queue is bounded.

Python runs one thread at a time, so more threads would only delay the event loop. It gets its turn
after `SWITCH_SECONDS` at most.
"""

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from provegym.hosts.inline import HostError, OpenSession, Sessions
from provegym.kernel import Session

SWITCH_SECONDS = 0.001
MOST_WAITING = 256

P = ParamSpec("P")
T = TypeVar("T")


class Busy(HostError):
    """Too much work waits already."""

    status = 503


class Offload:
    """One thread that draws worlds and works on whole sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.waiting = 0
        self._thread = ThreadPoolExecutor(1, "provegym-worlds")

    def start(self) -> None:
        """Let the event loop interrupt the thread quickly."""
        sys.setswitchinterval(SWITCH_SECONDS)

    def stop(self) -> None:
        """Drop what waits; what runs is finished."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns, when the thread came to it."""
        if self.waiting >= MOST_WAITING:
            raise Busy(f"{self.waiting} requests wait for a world already; try again in a minute")
        self.waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, lambda: function(*args, **kwargs))
        finally:
            self.waiting -= 1

    async def open(self, names: list[str] | None, seed: int, *, key: str | None = None) -> str:
        """Open a session whose worlds are drawn in the thread, and return its id."""
        sessions = self.sessions
        chosen = sessions.choose(names)
        sessions.check_room()
        drawn = {}
        if not sessions.is_drawn(chosen, seed):
            drawn = await self.run(sessions.draw, chosen, seed)
        return sessions.add(chosen, seed, drawn, key=key)

    async def work(self, opened: OpenSession, function: Callable[[Session], T]) -> T:
        """Run a function on a session while nobody else uses it."""
        with self.sessions.hold(opened):
            async with opened.lock:
                return await self.run(function, opened.session)
