"""The HTTP host: MCP over Streamable HTTP, the control API, and one guard in front of both."""

import logging
import socket
from collections.abc import AsyncIterator, Container
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server as SdkServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from provegym.hosts.control import control_routes
from provegym.hosts.guard import Guard, RequestLimits, is_loopback
from provegym.hosts.inline import HostError, NoSession, Sessions
from provegym.hosts.mcp import http_manager, http_sessions, legacy_key, sdk_server

SHUTDOWN_SECONDS = 5


@dataclass(frozen=True)
class McpEndpoint:
    """One MCP endpoint: checks the session in the URL, then passes the request to the SDK."""

    manager: StreamableHTTPSessionManager
    sessions: Sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a session that does not exist, else pass the request to the SDK."""
        key = scope["path_params"].get("session")
        if key is not None:
            try:
                self.sessions.get(key)
            except NoSession as problem:
                await JSONResponse({"error": str(problem)}, problem.status)(scope, receive, send)
                return
        await self.manager.handle_request(scope, receive, send)
        if scope["method"] == "DELETE":
            for name, value in scope["headers"]:
                if name == b"mcp-session-id":
                    self.sessions.close(legacy_key(value.decode("latin-1")))


def faces(
    sessions: Sessions, *, shared: bool = False, seed: int = 0
) -> "dict[str, SdkServer[Any]]":
    """One MCP server for each server, by name, and one for all servers together, named ""."""
    groups = {"": list(sessions.servers.values())}
    groups |= {name: [server] for name, server in sessions.servers.items()}
    resolve = http_sessions(sessions, shared=shared, seed=seed)
    return {face: sdk_server(face or "provegym", g, resolve) for face, g in groups.items()}


def build_app(
    sessions: Sessions,
    shown: "dict[str, SdkServer[Any]]",
    limits: RequestLimits,
    *,
    streamed: Container[str] = (),
) -> ASGIApp:
    """The ASGI app: `/s/<session>/<face>/mcp` for each face, and the control API.

    Faces named in `streamed` answer with event streams, for servers that report while they run.
    """
    managers: list[StreamableHTTPSessionManager] = []
    routes = control_routes(sessions)
    for face, server in shown.items():
        manager = http_manager(server, sessions, streamed=face in streamed)
        managers.append(manager)
        endpoint = McpEndpoint(manager, sessions)
        path = f"/{face}/mcp" if face else "/mcp"
        routes += [Route(f"/s/{{session}}{path}", endpoint), Route(path, endpoint)]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in managers:
                await stack.enter_async_context(manager.run())
            yield

    async def refuse(_: Request, problem: Exception) -> Response:
        assert isinstance(problem, HostError)
        return JSONResponse({"error": str(problem)}, problem.status)

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HostError: refuse})
    return Guard(app, limits)


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


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until interrupted, then let running requests finish.

    Requests are not logged, because their paths contain session ids, which give access.
    """
    logging.getLogger("mcp").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        loop="auto",
        http="httptools",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
