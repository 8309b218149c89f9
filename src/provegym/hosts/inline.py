"""Sessions in this process, by unguessable id, with a limit on number and idle time."""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic

from provegym.errors import UserError
from provegym.kernel import AnyServer, Session


class HostError(UserError):
    """A request the host cannot serve; the message says what to do."""

    status = 400


class NoSession(HostError):
    """The session does not exist, or no longer exists."""

    status = 404


class TooManySessions(HostError):
    """The host has reached its limit of sessions."""

    status = 503


@dataclass(slots=True)
class _Entry:
    session: Session
    used: float


class Sessions:
    """Sessions by id; idle ones are dropped after `ttl` seconds, and at most `most` are held."""

    def __init__(
        self,
        servers: Iterable[AnyServer],
        *,
        most: int = 10_000,
        ttl: float = 1800,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.servers = {server.name: server for server in servers}
        self.most = most
        self.ttl = ttl
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def open(self, names: Iterable[str] | None = None, seed: int = 0) -> str:
        """Open a session over these servers, or over all, and return its id."""
        chosen = list(self.servers) if names is None else list(dict.fromkeys(names))
        if unknown := [name for name in chosen if name not in self.servers]:
            raise HostError(f"no server {unknown[0]!r}; there are {', '.join(self.servers)}")
        return self._keep(Session((self.servers[name] for name in chosen), seed))

    def fork(self, key: str) -> str:
        """Open a session that starts as a copy of another one's current state."""
        return self._keep(self.get(key).fork())

    def get(self, key: str) -> Session:
        """The session with this id; this counts as use."""
        self._drop_idle()
        if key not in self._entries or key.startswith(":"):
            raise NoSession(
                "no such session: it was closed, expired or never opened; open a new one"
            )
        return self._use(key)

    def _use(self, key: str) -> Session:
        entry = self._entries[key]
        entry.used = self._clock()
        self._entries.move_to_end(key)
        return entry.session

    def ensure(self, key: str, seed: int = 0) -> Session:
        """The session of a key that the host chose; opened over all servers if it is new."""
        self._drop_idle()
        if key not in self._entries:
            self._keep(Session(self.servers.values(), seed), key)
        return self._use(key)

    def close(self, key: str) -> None:
        """Close a session; closing it twice is fine."""
        self._entries.pop(key, None)

    def _keep(self, session: Session, key: str | None = None) -> str:
        self._drop_idle()
        if len(self._entries) >= self.most:
            raise TooManySessions(
                f"{self.most} sessions are open; close some or wait for idle ones"
            )
        key = secrets.token_urlsafe(24) if key is None else key
        self._entries[key] = _Entry(session, self._clock())
        return key

    def _drop_idle(self) -> None:
        """Drop idle sessions; the dictionary is in order of last use, oldest first."""
        oldest = self._clock() - self.ttl
        while self._entries and next(iter(self._entries.values())).used < oldest:
            self._entries.popitem(last=False)
