"""The control API: plain HTTP to open, fork, advance, reset, compare and close sessions.

POST   /sessions                  {"servers": [...], "seed": N}   → {"session": id, ...}
GET    /sessions/{id}             its servers, clock and digest
POST   /sessions/{id}/reset       back to the seed
POST   /sessions/{id}/fork        → {"session": id of the fork, ...}
POST   /sessions/{id}/advance     {"minutes": N}
GET    /sessions/{id}/diff        every record that differs from the seed
GET    /sessions/{id}/digest
DELETE /sessions/{id}             closing twice is fine
GET    /servers                   the servers and their tools
GET    /health
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from provegym import __version__
from provegym.hosts.inline import HostError, OpenSession, Sessions
from provegym.hosts.memory import WRITE_BYTES
from provegym.hosts.offload import Offload
from provegym.kernel import Session
from provegym.kernel.session import MAX_MINUTES

T = TypeVar("T", bound=msgspec.Struct)
Endpoint = Callable[[Request], Awaitable[Response]]


class NewSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /sessions."""

    servers: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100)] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


class Advance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /sessions/{id}/advance."""

    minutes: Annotated[int, msgspec.Meta(ge=0, le=MAX_MINUTES)]


def answer(value: object, status: int = 200) -> Response:
    """A JSON response."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


class ControlApi:
    """The answers of the control API; work on whole worlds runs in the other thread."""

    def __init__(self, offload: Offload) -> None:
        self.offload, self.sessions = offload, offload.sessions

    async def open(self, request: Request) -> Response:
        """Open a session."""
        wanted = await _body(request, NewSession)
        key = await self.offload.open(wanted.servers, wanted.seed)
        return await self._describe(key, self.sessions.get(key), 201)

    async def show(self, request: Request) -> Response:
        """Describe a session."""
        return await self._describe(*self._named(request))

    async def reset(self, request: Request) -> Response:
        """Reset a session to its seed."""
        key, opened = self._named(request)
        async with opened.lock:
            opened.session.reset()
            opened.shrink()
        return await self._describe(key, opened)

    async def fork(self, request: Request) -> Response:
        """Open a copy of a session."""
        key, opened = self._named(request)
        async with opened.lock:
            twin = self.sessions.fork(key)
        return await self._describe(twin, self.sessions.get(twin), 201)

    async def advance(self, request: Request) -> Response:
        """Move the clock of a session."""
        minutes = (await _body(request, Advance)).minutes
        key, opened = self._named(request)
        try:
            opened.grow(await self.offload.work(opened, partial(_advance, minutes)))
        except ValueError as problem:
            raise HostError(str(problem)) from None
        return await self._describe(key, opened)

    async def diff(self, request: Request) -> Response:
        """Every record that differs from the seed."""
        _, opened = self._named(request)
        return answer({"changes": await self.offload.work(opened, Session.diff)})

    async def digest(self, request: Request) -> Response:
        """A hash of the state."""
        _, opened = self._named(request)
        return answer({"digest": await self.offload.work(opened, Session.digest)})

    async def close(self, request: Request) -> Response:
        """Close a session that the control API opened."""
        key: str = request.path_params["session"]
        if not key.startswith(":"):
            self.sessions.close(key)
        return answer({"closed": True})

    def _named(self, request: Request) -> tuple[str, OpenSession]:
        key = request.path_params["session"]
        return key, self.sessions.get(key)

    async def _describe(self, key: str, opened: OpenSession, status: int = 200) -> Response:
        return answer(await self.offload.work(opened, partial(_describe, key)), status)


def control_routes(offload: Offload) -> list[Route]:
    """The routes of the control API."""
    api = ControlApi(offload)
    table: list[tuple[str, str, Endpoint]] = [
        ("POST", "/sessions", api.open),
        ("GET", "/sessions/{session}", api.show),
        ("POST", "/sessions/{session}/reset", api.reset),
        ("POST", "/sessions/{session}/fork", api.fork),
        ("POST", "/sessions/{session}/advance", api.advance),
        ("GET", "/sessions/{session}/diff", api.diff),
        ("GET", "/sessions/{session}/digest", api.digest),
        ("DELETE", "/sessions/{session}", api.close),
    ]
    routes = [Route(path, endpoint, methods=[method]) for method, path, endpoint in table]
    return routes + _public_routes(offload.sessions)


def _public_routes(sessions: Sessions) -> list[Route]:
    async def list_servers(_: Request) -> Response:
        shown = sessions.servers.values()
        return answer({s.name: {"about": s.about, "tools": list(s.tools)} for s in shown})

    async def health(_: Request) -> Response:
        return answer({"status": "ok", "version": __version__, "sessions": len(sessions)})

    return [Route("/servers", list_servers), Route("/health", health)]


def _describe(key: str, session: Session) -> dict[str, Any]:
    names = [server.name for server in session.servers]
    return {
        "session": key,
        "seed": session.seed,
        "servers": names,
        "now": session.now,
        "digest": session.digest(),
        "mcp": {name: f"/s/{key}/{name}/mcp" for name in names},
    }


def _advance(minutes: int, session: Session) -> int:
    """Move the clock, and estimate the bytes of the records that this added."""
    before = sum(session.state(server).size() for server in session.servers)
    session.advance(minutes)
    after = sum(session.state(server).size() for server in session.servers)
    return max(0, after - before) * WRITE_BYTES


async def _body(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.body() or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        raise HostError(f"the request's JSON does not fit: {problem}") from None
