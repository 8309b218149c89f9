"""A process pool for a foreign server: brings a process to a state by replaying its writes.

A foreign server cannot fork. A state is the log of writes that led to it. To run a call in a state,
the pool takes the process whose log is the longest prefix of the state's log, or starts a new one,
and replays the missing writes. Outcomes are cached by state and call.
"""

from collections import Counter, OrderedDict
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

import mcp_types as types

from provegym.hosts.foreign_process import (
    CLOSING,
    FRESH,
    Background,
    NoStart,
    Options,
    Process,
    ProcessLost,
    is_url,
)
from provegym.hosts.foreign_reply import Answer
from provegym.hosts.foreign_volatile import without_times
from provegym.kernel import Lost
from provegym.temporary import SweptFolder

# A call is tried twice. A tool is given up after so many calls that crashed or hung both times.
STRIKES = 2
REMEMBERED = 20_000


@dataclass(frozen=True)
class Write:
    """A successful write: tool, arguments, and the result of its first run."""

    tool: str
    arguments: str
    result: str = field(compare=False, default="")


Log = tuple[Write, ...]


@dataclass(eq=False)
class Copy:
    """A running process of the server, and the log of writes made on it.

    `strayed` names the writes that gave something else when they were replayed on it.
    """

    process: Process
    log: Log = ()
    strayed: tuple[str, ...] = ()


class Starting(NamedTuple):
    """A process, and the future of its start."""

    process: Process
    up: "Future[Process]"


class ProcessPool:
    """Runs calls in given states, on a limited number of processes."""

    def __init__(self, target: str, options: Options) -> None:
        self.target = target
        self.options = options
        self.lost: dict[str, list[str]] = {}
        self.retried: Counter[str] = Counter()
        self.unstable: set[str] = set()
        self.starts = 0
        # Processes without a fresh folder share their data and would see each other's writes.
        shares = options.allow_writes and (is_url(target) or FRESH not in target)
        self.most = 1 if shares else options.processes
        self._ahead = 0 if shares or not options.allow_writes else self.most
        self._mode = "auto"
        self._background = Background()
        self._copies: list[Copy] = []
        self._spare: list[Starting] = []
        self._ending: set[Future[None]] = set()
        self._known: OrderedDict[tuple[Log, str, str], Answer] = OrderedDict()
        self._lock = Lock()
        self._closed = False
        self._folder = SweptFolder("foreign")

    def describe(self) -> tuple[types.Implementation | None, list[types.Tool]]:
        """The server's own description and its tools."""
        process = self._started()
        self._mode = process.mode
        self._copies.append(Copy(process))
        return process.client.server_info, self._background.run(process.list_tools())

    def call(self, log: Log, call: Write, *, writes: bool) -> Answer:
        """The outcome of a call in the state after the writes of a log; cached.

        A crash or a hang is tried once more on a new process. If it happens again: `Lost`.
        """
        with self._lock:
            key = (log, call.tool, call.arguments)
            if key not in self._known:
                self._known[key] = self._run(log, call, writes=writes)
            self._known.move_to_end(key)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            return self._known[key]

    def ask_again(self, log: Log, call: Write) -> Answer:
        """The outcome of a read, asked for again even if it is known."""
        with self._lock:
            return self._run(log, call, writes=False)

    def _run(self, log: Log, call: Write, *, writes: bool) -> Answer:
        if len(self.lost.get(call.tool, ())) >= STRIKES:
            raise Lost(f"{call.tool} is not called again: {self.lost[call.tool][-1]}")
        try:
            return self._try(log, call, writes=writes)
        except ProcessLost:
            self.retried[call.tool] += 1
        try:
            return self._try(log, call, writes=writes)
        except ProcessLost as lost:
            self.lost.setdefault(call.tool, []).append(str(lost))
            raise Lost(str(lost)) from None

    def _try(self, log: Log, call: Write, *, writes: bool) -> Answer:
        copy = self._at(log)
        answer = self._ask(copy, call)
        if answer.error and copy.strayed:
            # The call may name something that has another name in this process.
            self._drop(copy)
            strayed = ", ".join(dict.fromkeys(copy.strayed))
            raise Lost(f"{call.tool} cannot be repeated: {strayed} gave something else before it")
        if writes and answer.error:
            self._drop(copy)
        elif writes:
            copy.log = (*log, call)
        return answer

    def _ask(self, copy: Copy, call: Write) -> Answer:
        try:
            return self._background.run(copy.process.call(call.tool, call.arguments))
        except ProcessLost:
            self._drop(copy)
            raise

    def _at(self, log: Log) -> Copy:
        """A process in the state of a log, after replaying the writes that it lacks."""
        fitting = [copy for copy in self._copies if copy.log == log[: len(copy.log)]]
        copy = max(fitting, key=lambda copy: len(copy.log), default=None) or self._new()
        for write in log[len(copy.log) :]:
            answer = self._ask(copy, write)
            if answer.error or without_times(answer.text) != without_times(write.result):
                self.unstable.add(write.tool)
                copy.strayed = (*copy.strayed, write.tool)
            copy.log = (*copy.log, write)
        self._copies.remove(copy)
        self._copies.append(copy)
        return copy

    def _new(self) -> Copy:
        while len(self._copies) >= self.most:
            self._drop(self._copies[0])
        if self.most == 1:
            self._settle()
        copy = Copy(self._started())
        self._copies.append(copy)
        while len(self._spare) < self._ahead:
            self._spare.append(self._begin())
        return copy

    def _started(self) -> Process:
        """A process that was started ahead, or a new one if there is none or it failed."""
        while self._spare:
            try:
                return self._spare.pop(0).up.result()
            except (NoStart, CancelledError):
                continue
        return self._begin().up.result()

    def _begin(self) -> Starting:
        self.starts += 1
        process = Process(self.target, self.options, self._folder.add(), self._mode)
        return Starting(process, self._background.start(process.start()))

    def _drop(self, copy: Copy) -> None:
        """Remove a process from the pool and close it in the background."""
        self._copies.remove(copy)
        self._ending = {ending for ending in self._ending if not ending.done()}
        self._ending.add(self._background.start(copy.process.close()))

    def _settle(self) -> None:
        """Wait until removed processes have ended, because the next one uses the same data."""
        wait(self._ending, CLOSING)

    def close(self) -> None:
        """Stop all processes."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for copy in list(self._copies):
                self._drop(copy)
            for spare in self._spare:
                self._ending.add(self._background.start(spare.process.close()))
            self._settle()
            # A start that was broken off ends with an exception, which nobody needs.
            wait([spare.up for spare in self._spare], CLOSING)
            self._spare.clear()
            self._background.close()
            self._folder.close()
