"""Sessions in this process, by unguessable id, with limits on number, memory and idle time."""

import secrets
from asyncio import Lock
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from provegym.errors import UserError
from provegym.hosts.memory import (
    INDEX_BYTES,
    SESSION_BYTES,
    WRITE_BYTES,
    DrawnWorld,
    Meter,
    Shelf,
    WorldKey,
)
from provegym.kernel import AnyServer, Session

SHARED = ":shared"


class HostError(UserError):
    """A request the host cannot serve; the message says what to do."""

    status = 400


class NoSession(HostError):
    """The session does not exist, or no longer exists."""

    status = 404

    def __init__(self) -> None:
        super().__init__("no such session: it was closed, expired or never opened; open a new one")


class TooManySessions(HostError):
    """The host has reached its limit of sessions or of memory."""

    status = 503


@dataclass(slots=True, eq=False)
class OpenSession:
    """A session of a host: how long it is unused, who uses it now, and what it has written.

    Take the lock to use the session: longer work on it runs in another thread.
    """

    session: Session
    used: float
    meter: Meter
    worlds: tuple[WorldKey, ...] = ()
    pinned: bool = False
    requests: int = 0
    bytes: int = 0
    written: set[str] = field(default_factory=set)
    closed: bool = False
    lock: Lock = field(default_factory=Lock)

    def grow(self, count: int) -> None:
        """Count so many bytes more for this session; a closed one has given all back."""
        if not self.closed:
            self.bytes += count
            self.meter.used += count

    def wrote(self, server: AnyServer, count: int) -> None:
        """Count a write of so many bytes; the first one on a server copies tables."""
        if server.name not in self.written:
            self.written.add(server.name)
            count += INDEX_BYTES * self.session.state(server).size()
        self.grow(WRITE_BYTES + count)

    def shrink(self) -> None:
        """The session is as it was opened."""
        self.written.clear()
        self.grow(SESSION_BYTES - self.bytes)


class Sessions:
    """Sessions by id; at most `most` are held, and idle ones are dropped after `ttl` seconds.

    A session is idle when no request uses it. Opening and forking are refused when all worlds
    together take more than about `memory` bytes.
    """

    def __init__(
        self,
        servers: Iterable[AnyServer],
        *,
        most: int = 10_000,
        ttl: float = 1800,
        memory: float = float("inf"),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.servers = {server.name: server for server in servers}
        self.most = most
        self.ttl = ttl
        self.meter = Meter(memory)
        self.shelf = Shelf(self.meter)
        self._clock = clock
        self._entries: OrderedDict[str, OpenSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def choose(self, names: Iterable[str] | None) -> list[str]:
        """The servers of a new session, or all; raises HostError for an unknown one."""
        chosen = list(self.servers) if names is None else list(dict.fromkeys(names))
        if unknown := [name for name in chosen if name not in self.servers]:
            raise HostError(f"no server {unknown[0]!r}; there are {', '.join(self.servers)}")
        return chosen

    def is_drawn(self, names: Iterable[str], seed: int) -> bool:
        """Whether `draw` has nothing to do."""
        return self.shelf.has((name, seed) for name in names)

    def draw(self, names: Iterable[str], seed: int) -> dict[WorldKey, DrawnWorld]:
        """Draw the worlds of a new session; slow, and fit for another thread."""
        return self.shelf.draw((self.servers[name] for name in names), seed)

    def add(
        self,
        names: Iterable[str],
        seed: int,
        drawn: Mapping[WorldKey, DrawnWorld],
        *,
        key: str | None = None,
    ) -> str:
        """Open a session on drawn worlds and return its id, or the key that the host chose."""
        self.check_room()
        keys = tuple((name, seed) for name in names)
        if self.meter.used + self.shelf.cost(drawn) > self.meter.limit:
            raise self._no_memory()
        worlds = self.shelf.take(keys, drawn)
        session = Session((self.servers[name] for name in worlds), seed, worlds=worlds)
        return self._keep(session, keys, key)

    def open(self, names: Iterable[str] | None = None, seed: int = 0) -> str:
        """Open a session over these servers, or over all, and return its id."""
        chosen = self.choose(names)
        self.check_room()
        return self.add(chosen, seed, self.draw(chosen, seed))

    def fork(self, key: str) -> str:
        """Open a session that starts as a copy of another one's current state."""
        self.check_room()
        parent = self.get(key)
        self.shelf.take(parent.worlds, {})
        fork = self._keep(parent.session.fork(), parent.worlds)
        self._entries[fork].grow(parent.bytes - SESSION_BYTES)
        self._entries[fork].written |= parent.written
        return fork

    def get(self, key: str) -> OpenSession:
        """The session with this id; this counts as use."""
        if key.startswith(":"):
            raise NoSession
        return self.find(key)

    def find(self, key: str) -> OpenSession:
        """Like `get`, also for keys that the host chose and clients cannot name."""
        self.drop_idle()
        if key not in self._entries:
            raise NoSession
        return self._use(key)

    @contextmanager
    def hold(self, opened: OpenSession) -> Iterator[None]:
        """Keep a session while a request uses it, however long that takes."""
        opened.requests += 1
        try:
            yield
        finally:
            opened.requests -= 1
            opened.used = self._clock()

    def _use(self, key: str) -> OpenSession:
        opened = self._entries[key]
        opened.used = self._clock()
        self._entries.move_to_end(key)
        return opened

    def share(self, seed: int) -> None:
        """Open the session that requests without one share; it never expires."""
        names = list(self.servers)
        self.add(names, seed, self.draw(names, seed), key=SHARED)
        self._entries[SHARED].pinned = True

    def ensure(self, key: str, seed: int = 0) -> OpenSession:
        """The session of a key; opened over all servers if it is new, and drawn when used."""
        if key not in self._entries:
            self.check_room()
            self._keep(Session(self.servers.values(), seed), key=key)
        return self._use(key)

    def close(self, key: str) -> None:
        """Close a session; closing it twice is fine."""
        opened = self._entries.pop(key, None)
        if opened is not None:
            self.shelf.leave(opened.worlds)
            opened.grow(-opened.bytes)
            opened.closed = True

    def check_room(self) -> None:
        """Raise TooManySessions if no further session may be opened."""
        self.drop_idle()
        if len(self._entries) >= self.most:
            raise TooManySessions(
                f"{self.most} sessions are open; close some or wait for idle ones"
            )
        if self.meter.full:
            raise self._no_memory()

    def _no_memory(self) -> TooManySessions:
        return TooManySessions(
            f"the worlds of {len(self)} sessions take all memory that the host may use;"
            " close some, wait for idle ones, or open sessions on fewer servers"
        )

    def _keep(
        self, session: Session, worlds: tuple[WorldKey, ...] = (), key: str | None = None
    ) -> str:
        key = secrets.token_urlsafe(24) if key is None else key
        opened = self._entries[key] = OpenSession(session, self._clock(), self.meter, worlds)
        opened.grow(SESSION_BYTES)
        return key

    def drop_idle(self) -> None:
        """Drop idle sessions; the dictionary is in order of last use, oldest first."""
        now = self._clock()
        while self._entries:
            key, opened = next(iter(self._entries.items()))
            if opened.used >= now - self.ttl:
                return
            if opened.requests or opened.pinned:
                self._use(key)
            else:
                self.close(key)
