"""A process that draws worlds for the host, so that its event loop stays responsive.

A thread would do the same work, but it holds Python's lock, and when the machine is busy it holds
it while it waits for a core. A drawn world comes back as bytes, and reading it takes a tenth of
the time of drawing it. A world that would not come back exactly as it was is drawn by the host.
"""

import multiprocessing
import signal
import sys
from collections.abc import Iterable
from datetime import datetime
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

import msgspec

from provegym.hosts.memory import DrawnWorld, draw_here, weigh
from provegym.kernel import AnyServer
from provegym.kernel.state import State, Table
from provegym.terminal import say

Packed = tuple[datetime, str, dict[str, tuple[int, msgspec.Raw]]]
Answer = tuple[int, bytes]


class WorldProcess:
    """A child process that draws worlds; start it before the host has threads."""

    def __init__(self, servers: Iterable[AnyServer]) -> None:
        self._lock = Lock()
        self._pipe: Connection | None = None
        if sys.platform != "linux":
            return
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        known = {server.name: server for server in servers}
        child = context.Process(target=_serve, args=(other, self._pipe, known), daemon=True)
        child.start()
        other.close()

    def draw(self, server: AnyServer, seed: int) -> DrawnWorld:
        """A world of a seed; drawn here if the process cannot."""
        found = self._ask(server.name, seed)
        if found is None:
            return draw_here(server, seed)
        size, packed = found
        return DrawnWorld(unpack(server.state, packed), size)

    def _ask(self, name: str, seed: int) -> Answer | None:
        with self._lock:
            if self._pipe is None:
                return None
            try:
                self._pipe.send((name, seed))
                answer: Answer | None = self._pipe.recv()
            except (EOFError, OSError):
                say("provegym: the process that draws worlds has ended", file=sys.stderr)
                self._pipe = None
                return None
        return answer


def _serve(pipe: Connection, other: Connection, servers: dict[str, AnyServer]) -> None:
    """Draw what is asked for until the host ends."""
    other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        try:
            name, seed = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_draw(servers[name], seed))


def _draw(server: AnyServer, seed: int) -> Answer | None:
    """A world as bytes and its size in memory, or None if the host must draw it."""
    try:
        packed = pack(server.world(seed))
        again: State = unpack(server.state, packed)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, ArithmeticError):
        return None
    return (weigh(again), packed) if pack(again) == packed else None


def pack(state: State) -> bytes:
    """A frozen state as bytes."""
    tables = {name: vars(state)[name] for name in state.tables}
    rows = {name: (table.tail()[0], list(table)) for name, table in tables.items()}
    return msgspec.msgpack.encode((state.now, state.origin, rows))


def unpack(kind: type[State], packed: bytes) -> State:
    """The frozen state that was packed."""
    now, origin, tables = msgspec.msgpack.decode(packed, type=Packed)
    state = kind.__new__(kind)
    state.now, state.undo = now, []
    for name, spec in kind.tables.items():
        start, rows = tables[name]
        table: Table[Any] = Table(spec, state.undo, start)
        for row in msgspec.msgpack.decode(rows, type=list[spec.record]):  # type: ignore[name-defined]
            table.put(row)
        table.freeze()
        setattr(state, name, table)
    state.undo.clear()
    state.origin = origin
    return state
