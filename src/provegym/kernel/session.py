"""A session: one rollout's own world over one or more servers."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Self

import msgspec

from provegym.kernel.errors import Bug, Kind, NotFound, ToolError, blame, quote, suggest
from provegym.kernel.schema import Page
from provegym.kernel.server import AnyServer, Tool
from provegym.kernel.state import ENCODE, Change, State

MAX_RESULT_BYTES = 4_096
MAX_MINUTES = 366 * 24 * 60


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call came to, as JSON text: a result, or an error the model can act on."""

    text: str
    error: Kind | None = None

    @property
    def ok(self) -> bool:
        """Whether the call did what it says."""
        return self.error is None

    @property
    def value(self) -> Any:
        """The result, or the error's kind and message, as plain data."""
        return msgspec.json.decode(self.text)


@lru_cache(maxsize=256)
def _tools(servers: tuple[AnyServer, ...]) -> dict[str, tuple[Tool, AnyServer]]:
    return {tool.name: (tool, server) for server in servers for tool in server.tools.values()}


class Session:
    """Calls on a world of its own; reset, fork, clock and digest are never tools."""

    __slots__ = ("_minutes", "_states", "_tools", "_worlds", "seed", "servers")

    def __init__(self, servers: Iterable[AnyServer], seed: int = 0) -> None:
        self.servers = tuple(servers)
        self.seed = seed
        self._tools = _tools(self.servers)
        self._worlds: dict[str, State] = {}
        self._states: dict[str, State] = {}
        self._minutes = 0

    @classmethod
    def over(cls, server: AnyServer, state: State) -> Self:
        """A session that starts from a world made by hand."""
        session = cls([server])
        session._worlds[server.name] = state.freeze()
        return session

    @property
    def now(self) -> datetime:
        """What the clock says, on every server alike."""
        return self.state(self.servers[0]).now

    @property
    def tools(self) -> Mapping[str, tuple[Tool, AnyServer]]:
        """What can be called, by name."""
        return self._tools

    def state(self, server: AnyServer) -> State:
        """This session's state of one server, opened when first asked for."""
        state = self._states.get(server.name)
        if state is None:
            try:
                state = self._states[server.name] = self._open(server)
            except Exception as problem:
                blame(server.name, "drawing its world", problem)
        return state

    def _open(self, server: AnyServer) -> State:
        """A server's world at this session's time: one made by hand, or drawn from the seed."""
        by_hand = self._worlds.get(server.name)
        if by_hand is not None:
            state = by_hand.fork()
            state.pass_time(self._minutes)
            return state
        minutes = self._minutes
        drawn: State = server.later(self.seed, minutes) if minutes else server.world(self.seed)
        return drawn.fork()

    def call(self, name: str, arguments: Mapping[str, Any] | str | bytes) -> Outcome:
        """Run a tool on arguments given as an object or as JSON text; a failure leaves no trace.

        A tool that raises anything but a ToolError has a bug, and `Bug` is raised.
        """
        found = self._tools.get(name)
        if found is None:
            return _failure(
                NotFound(f"unknown tool {quote(name)}; {suggest(name, list(self._tools))}")
            )
        tool, server = found
        state = self._states.get(server.name) or self.state(server)
        state.undo.clear()
        done = False
        try:
            result = tool.run(state, arguments)
            if state.undo and not tool.writes:
                raise Bug(f"{name} is marked as a read and wrote")
            text = _encode(name, result)
            done = True
        except ToolError as error:
            return _failure(error)
        except Exception as problem:
            blame(server.name, name, problem)
        finally:
            if not done:
                state.rollback()
        return Outcome(text)

    def changes(self, name: str) -> list[Change]:
        """What the last call of this tool changed, if it was its server's last call."""
        _, server = self._tools[name]
        return self.state(server).changes(server.name)

    def advance(self, minutes: int) -> None:
        """Let time pass in every server, or in none; what falls due happens."""
        if not 0 <= minutes <= MAX_MINUTES:
            raise ValueError(f"a session advances by 0 to {MAX_MINUTES} minutes, not {minutes}")
        if minutes:
            later = {name: state.fork() for name, state in self._states.items()}
            for name, state in later.items():
                try:
                    state.pass_time(minutes)
                except Exception as problem:
                    blame(name, f"letting {minutes} minutes pass", problem)
            self._states = later
            self._minutes += minutes

    def fork(self) -> "Session":
        """A session that goes its own way from here."""
        twin = Session.__new__(Session)
        twin.servers, twin.seed, twin._tools = self.servers, self.seed, self._tools
        twin._worlds, twin._minutes = self._worlds, self._minutes
        twin._states = {name: state.fork() for name, state in self._states.items()}
        return twin

    def reset(self) -> None:
        """Back to the seed."""
        self._states = {}
        self._minutes = 0

    def diff(self) -> list[Change]:
        """Every record that differs from the seed, by server, table and key."""
        states = self._settled() if self._minutes else self._states
        return [
            change
            for server in self.servers
            if server.name in states
            for change in states[server.name].diff(server.name)
        ]

    def digest(self, *only: AnyServer) -> str:
        """A fingerprint of every server's world, or of those named alone.

        Equal digests behave alike from here on. A world nobody looked at is drawn for it.
        """
        parts = [(server.name, self.state(server).digest()) for server in only or self.servers]
        return blake2b(ENCODE(parts), digest_size=16).hexdigest()

    def check(self) -> None:
        """Assert every server's invariants."""
        for state in self._states.values():
            state.check()

    def _settled(self) -> dict[str, State]:
        for server in self.servers:
            self.state(server)
        return self._states


def _failure(error: ToolError) -> Outcome:
    return Outcome(ENCODE({"error": error.kind, "message": str(error)}).decode(), error.kind)


def _encode(name: str, result: msgspec.Struct) -> str:
    """JSON of a result; a page too long to show whole keeps as many items as fit."""
    raw = ENCODE(result)
    while len(raw) > MAX_RESULT_BYTES:
        if not isinstance(result, Page) or len(result.items) < 2:
            raise Bug(
                f"{name} returned {len(raw)} bytes of JSON; at most {MAX_RESULT_BYTES} are allowed"
            )
        result = result.cut(max(1, len(result.items) * MAX_RESULT_BYTES // (len(raw) + 1)))
        raw = ENCODE(result)
    return raw.decode()
