"""Protocol sessions of older MCP clients, and the worlds that belong to them.

A client of the protocol of 2025 gets an `Mcp-Session-Id` when it initialises. It counts only at the
address where it was given, and it lives and ends with a world: the one in the URL, the shared one,
or one of its own. A request that names another id, or one whose world is gone, gets 404.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Scope

from provegym.hosts.inline import OpenSession, Sessions, TooManySessions

ID_HEADER, VERSION_HEADER = b"mcp-session-id", b"mcp-protocol-version"


@dataclass(frozen=True)
class ProtocolSession:
    """Where an id counts, the key of its world, and whether that world ends with it."""

    address: str
    world: str
    owns_world: bool
    manager: StreamableHTTPSessionManager


class OlderClients:
    """The protocol sessions of all endpoints; there are no more of them than sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._by_id: dict[str, ProtocolSession] = {}
        self._opening = 0

    def __len__(self) -> int:
        return len(self._by_id)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place for a client that initialises; raises TooManySessions if there is none."""
        if len(self._by_id) + self._opening >= self.sessions.most:
            raise TooManySessions(
                f"{self.sessions.most} clients of older protocols are connected;"
                " disconnect some or wait for idle ones"
            )
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1

    def add(self, number: str, given: ProtocolSession) -> None:
        """The SDK gave this id to a client."""
        self._by_id[number] = given

    def find(self, number: str, address: str) -> OpenSession | None:
        """The world of an id at an address, or None if it is unknown there or its world is gone."""
        given = self._by_id.get(number)
        if given is None or given.address != address:
            return None
        self.sessions.drop_idle()
        return self.sessions.find(given.world) if given.world in self.sessions else None

    def forget(self, number: str) -> None:
        """The id has ended, and with it a world of its own."""
        given = self._by_id.pop(number, None)
        if given is not None and given.owns_world:
            self.sessions.close(given.world)

    async def end_orphans(self) -> None:
        """End the ids whose world was closed or has expired."""
        self.sessions.drop_idle()
        for number, given in list(self._by_id.items()):
            if given.world not in self.sessions:
                self.forget(number)
                await _delete(given.manager, number)


def is_older(scope: Scope) -> bool:
    """Whether a request is of a protocol that has protocol sessions; decided as the SDK does."""
    version = header(scope, VERSION_HEADER)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def header(message: Scope | Message, name: bytes) -> str | None:
    """The first header of a name in a request or in the start of a response."""
    found = (value for key, value in message["headers"] if key.lower() == name)
    value = next(found, None)
    return None if value is None else value.decode("latin-1")


async def _delete(manager: StreamableHTTPSessionManager, number: str) -> None:
    """Let the SDK end a protocol session, as if its client had asked for it."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(_: Message) -> None:
        return

    headers = [(ID_HEADER, number.encode("latin-1"))]
    scope = {"type": "http", "method": "DELETE", "path": "/", "headers": headers}
    await manager.handle_request(scope, receive, send)
