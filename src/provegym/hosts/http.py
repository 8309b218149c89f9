"""The HTTP host: MCP over Streamable HTTP, the control API, and one guard in front of both."""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Container
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server as SdkServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provegym.hosts.control import control_routes
from provegym.hosts.guard import Guard, RequestLimits, is_loopback
from provegym.hosts.inline import SHARED, HostError, NoSession, OpenSession, Sessions
from provegym.hosts.limits import ConnectionLimits, LimitedServer
from provegym.hosts.mcp import SESSION_IN_SCOPE, http_manager, http_sessions, sdk_server
from provegym.hosts.offload import Offload
from provegym.hosts.older import ID_HEADER, OlderClients, ProtocolSession, header, is_older
from provegym.kernel.errors import Bug, shorten

SWEEP_SECONDS = 5.0
UNKNOWN_ID = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {
        "code": INVALID_REQUEST,
        "message": "Session not found: it ended, or was never opened at this address; initialize"
        " again, which gives a new world unless the URL names one",
    },
}


@dataclass(frozen=True)
class McpEndpoint:
    """One MCP endpoint: finds the session of a request, then passes the request to the SDK.

    `names` are the servers in the world of an older client that names no session.
    """

    manager: StreamableHTTPSessionManager
    offload: Offload
    older: OlderClients
    names: list[str]
    seed: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a session that does not exist, else pass the request to the SDK."""
        sessions, key = self.offload.sessions, scope["path_params"].get("session")
        try:
            opened = None if key is None else sessions.get(key)
            if is_older(scope):
                await self._pass_older(scope, receive, send, key)
            else:
                await self._pass(scope, receive, send, opened)
        except HostError as problem:
            await JSONResponse({"error": str(problem)}, problem.status)(scope, receive, send)

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, opened: OpenSession | None
    ) -> None:
        """Pass a request on; its session does not expire until it is answered."""
        if opened is None:
            await self.manager.handle_request(scope, receive, send)
            return
        scope[SESSION_IN_SCOPE] = opened
        with self.offload.sessions.hold(opened):
            await self.manager.handle_request(scope, receive, send)

    async def _pass_older(
        self, scope: Scope, receive: Receive, send: Send, key: str | None
    ) -> None:
        """Pass on a request of a protocol that has sessions of its own."""
        number = header(scope, ID_HEADER)
        if number is None:
            with self.older.place():
                await self._initialize(scope, receive, send, key)
            return
        opened = self.older.find(number, scope["path"])
        if opened is None:
            await JSONResponse(UNKNOWN_ID, NoSession.status)(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await self._pass(scope, receive, watch, opened)
        if status == NoSession.status or (scope["method"] == "DELETE" and 0 < status < 400):
            self.older.forget(number)

    async def _initialize(
        self, scope: Scope, receive: Receive, send: Send, key: str | None
    ) -> None:
        """Pass on a request without an id: if the SDK gives it one, that is tied to a world."""
        sessions = self.offload.sessions
        owns = key is None and SHARED not in sessions
        world = key or SHARED
        if owns:
            hidden = f":{secrets.token_urlsafe(24)}"
            world = await self.offload.open(self.names, self.seed, key=hidden)
        given = False

        async def watch(message: Message) -> None:
            nonlocal given
            starts = message["type"] == "http.response.start" and message["status"] < 400
            if starts and (number := header(message, ID_HEADER)):
                found = ProtocolSession(scope["path"], world, owns, self.manager)
                self.older.add(number, found)
                given = True
            await send(message)

        try:
            await self._pass(scope, receive, watch, sessions.find(world))
        finally:
            if owns and not given:
                sessions.close(world)


def faces(
    sessions: Sessions, *, shared: bool = False, seed: int = 0
) -> "dict[str, SdkServer[Any]]":
    """One MCP server for each server, by name, and one for all servers together, named ""."""
    groups = {"": list(sessions.servers.values())}
    groups |= {name: [server] for name, server in sessions.servers.items()}
    if shared:
        sessions.share(seed)
    resolve = http_sessions(sessions)
    return {face: sdk_server(face or "provegym", g, resolve) for face, g in groups.items()}


def build_app(
    sessions: Sessions,
    shown: "dict[str, SdkServer[Any]]",
    limits: RequestLimits,
    *,
    seed: int = 0,
    streamed: Container[str] = (),
) -> ASGIApp:
    """The ASGI app: `/s/<session>/<face>/mcp` for each face, and the control API.

    Faces named in `streamed` answer with event streams, for servers that report while they run.
    An older client that names no session gets a world of this seed.
    """
    managers: list[StreamableHTTPSessionManager] = []
    offload, older = Offload(sessions), OlderClients(sessions)
    routes = control_routes(offload)
    for face, server in shown.items():
        manager = http_manager(server, sessions, streamed=face in streamed)
        managers.append(manager)
        names = [name for name in sessions.servers if face in ("", name)]
        endpoint = McpEndpoint(manager, offload, older, names, seed)
        path = f"/{face}/mcp" if face else "/mcp"
        routes += [Route(f"/s/{{session}}{path}", endpoint), Route(path, endpoint)]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in managers:
                await stack.enter_async_context(manager.run())
            offload.start()
            sweeping = asyncio.create_task(_sweep(older))
            yield
            sweeping.cancel()
            offload.stop()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS)
    return Guard(app, limits)


async def _sweep(older: OlderClients) -> None:
    """End what is idle, also when no request comes."""
    while True:
        await asyncio.sleep(min(SWEEP_SECONDS, older.sessions.ttl))
        await older.end_orphans()


async def _refuse(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HostError)
    return JSONResponse({"error": str(problem)}, problem.status)


async def _lost(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    told = f"{problem.detail}; GET /servers lists the servers, POST /sessions opens a session"
    return JSONResponse({"error": told}, problem.status_code, problem.headers)


async def _broken(_: Request, problem: Exception) -> Response:
    return JSONResponse({"error": f"a bug of a server: {shorten(str(problem))}"}, 500)


HANDLERS = {HostError: _refuse, HTTPException: _lost, Bug: _broken}


def bind(address: str) -> socket.socket:
    """A listening socket for HOST:PORT; raises HostError if that fails."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) > 65_535:
        raise HostError(f"{address!r} is no HOST:PORT, e.g. 127.0.0.1:8765")
    try:
        return socket.create_server((host, int(port)), family=_family(host), backlog=1024)
    except OSError as problem:
        raise HostError(f"cannot listen on {address}: {problem.strerror or problem}") from None


def check_token(address: str, token: str | None) -> None:
    """Raise HostError if the address is not loopback and there is no token."""
    host = address.rpartition(":")[0].strip("[]") or "127.0.0.1"
    if token is None and not is_loopback(host):
        raise HostError(
            f"{host} can be reached from other machines: set PROVEGYM_TOKEN to require a token"
        )


def run(app: ASGIApp, listener: socket.socket, limits: ConnectionLimits | None = None) -> None:
    """Serve until interrupted, then let running requests finish.

    Requests are not logged, because their paths contain session ids, which give access.
    """
    logging.getLogger("mcp").setLevel(logging.ERROR)
    LimitedServer(app, limits or ConnectionLimits()).run(sockets=[listener])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
