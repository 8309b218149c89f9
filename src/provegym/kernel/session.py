"""A session: the state of one or more servers that belongs to one rollout."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Self

import msgspec

from provegym.kernel.errors import Bug, Kind, NotFound, ToolError, blame, quote, shorten, suggest
from provegym.kernel.schema import Page
from provegym.kernel.server import AnyServer, Server, Tool
from provegym.kernel.state import ENCODE, Change, State

MAX_RESULT_BYTES = 4_096
MAX_MINUTES = 366 * 24 * 60
MAX_YEARS = 10


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a call as JSON text: a result, or an error that is returned to the model."""

    text: str
    error: Kind | None = None

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.error is None

    @property
    def value(self) -> Any:
        """The result, or the error's kind and message, as plain data."""
        return msgspec.json.decode(self.text)


@lru_cache(maxsize=256)
def _tools(servers: tuple[AnyServer, ...]) -> dict[str, tuple[Tool, AnyServer]]:
    for server in servers:
        if isinstance(server, str):
            raise TypeError(f"{server!r} is a name; pass a server: provegym.load({server!r})")
    return {tool.name: (tool, server) for server in servers for tool in server.tools.values()}


class Session:
    """One isolated copy of a world: runs calls on its own state, which is drawn from a seed.

    Reset, fork and clock are methods, and never tools that a model could call.

    >>> session = provegym.Session([provegym.load("banking")], seed=7)
    >>> session.call("list_accounts", {}).ok
    True
    """

    __slots__ = ("_minutes", "_states", "_tools", "_worlds", "seed", "servers")

    def __init__(
        self,
        servers: AnyServer | Iterable[AnyServer],
        seed: int = 0,
        *,
        worlds: Mapping[str, State] | None = None,
    ) -> None:
        """A session on a seed; `worlds` are states of this seed that were drawn before."""
        if not isinstance(seed, int):
            raise TypeError(f"a seed is a whole number, not {seed!r}")
        self.servers = (servers,) if isinstance(servers, Server | str) else tuple(servers)
        self.seed = seed
        self._tools = _tools(self.servers)
        self._worlds: dict[str, State] = dict(worlds or {})
        self._states: dict[str, State] = {}
        self._minutes = 0

    def __repr__(self) -> str:
        return f"<Session on {', '.join(each.name for each in self.servers)}, seed {self.seed}>"

    @classmethod
    def over(cls, server: AnyServer, state: State) -> Self:
        """A session that starts from a given state instead of a seed."""
        session = cls([server])
        session._worlds[server.name] = state.freeze()
        return session

    @property
    def now(self) -> datetime:
        """The simulated time, equal on all servers."""
        return self.state(self.servers[0]).now

    @property
    def tools(self) -> Mapping[str, tuple[Tool, AnyServer]]:
        """The tools and their servers, by name."""
        return self._tools

    def state(self, server: AnyServer) -> State:
        """This session's state of one server, created on first use."""
        state = self._states.get(server.name)
        if state is None:
            try:
                state = self._states[server.name] = self._open(server)
            except Exception as problem:
                blame(server.name, "drawing its world", problem)
        return state

    def _open(self, server: AnyServer) -> State:
        """A server's initial state at this session's time: the given one, or the seeded one."""
        by_hand = self._worlds.get(server.name)
        if by_hand is not None:
            state = by_hand.fork()
            if self._minutes:
                state.pass_time(self._minutes)
            return state
        minutes = self._minutes
        drawn: State = server.later(self.seed, minutes) if minutes else server.world(self.seed)
        return drawn.fork()

    def call(self, name: str, arguments: Mapping[str, Any] | str | bytes = "{}") -> Outcome:
        """Run a tool with arguments as an object or JSON text; a failed call changes nothing.

        If the tool raises anything but a ToolError, `Bug` is raised.
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
                raise Bug(f"{name} is marked as a read, but it wrote")
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
        """The changes of the last call on this tool's server, which must be a call of this tool."""
        _, server = self._tools[name]
        return self.state(server).changes(server.name)

    def advance(self, minutes: int) -> None:
        """Move the clock of all servers and run the events that fall due; all or nothing."""
        if not 0 <= minutes <= MAX_MINUTES:
            raise ValueError(f"a session advances by 0 to {MAX_MINUTES} minutes, not {minutes}")
        if self._minutes + minutes > MAX_YEARS * MAX_MINUTES:
            raise ValueError(f"a session advances by {MAX_YEARS} years in all; reset it first")
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
        """An independent copy of this session in its current state."""
        twin = Session.__new__(Session)
        twin.servers, twin.seed, twin._tools = self.servers, self.seed, self._tools
        twin._worlds, twin._minutes = self._worlds, self._minutes
        twin._states = {name: state.fork() for name, state in self._states.items()}
        return twin

    def on(self, server: AnyServer) -> "Session":
        """A copy of this session with another server of the same name and type of state."""
        twin = self.fork()
        twin.servers = tuple(server if server.name == s.name else s for s in self.servers)
        twin._tools = _tools(twin.servers)
        return twin

    def reset(self) -> None:
        """Go back to the seeded state."""
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
        """A hash of the state of all servers, or of the given ones.

        Sessions with equal digests behave the same from here on.
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
    message = shorten(str(error))
    return Outcome(ENCODE({"error": error.kind, "message": message}).decode(), error.kind)


def _encode(name: str, result: msgspec.Struct) -> str:
    """JSON of a result; a page that is too long keeps only as many items as fit."""
    raw = ENCODE(result)
    while len(raw) > MAX_RESULT_BYTES:
        if not isinstance(result, Page) or len(result.items) < 2:
            raise Bug(
                f"{name} returned {len(raw)} bytes of JSON; at most {MAX_RESULT_BYTES} are allowed"
            )
        result = result.cut(max(1, len(result.items) * MAX_RESULT_BYTES // (len(raw) + 1)))
        raw = ENCODE(result)
    return raw.decode()
