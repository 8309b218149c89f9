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
from typing import Annotated, Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from provegym import __version__
from provegym.hosts.inline import HostError, Sessions
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


def control_routes(sessions: Sessions) -> list[Route]:
    """The routes of the control API for these sessions."""

    async def open_session(request: Request) -> Response:
        wanted = await _body(request, NewSession)
        return answer(_describe(sessions, sessions.open(wanted.servers, wanted.seed)), 201)

    async def show(request: Request) -> Response:
        return answer(_describe(sessions, request.path_params["session"]))

    async def reset(request: Request) -> Response:
        _session(sessions, request).reset()
        return answer(_describe(sessions, request.path_params["session"]))

    async def fork(request: Request) -> Response:
        return answer(_describe(sessions, sessions.fork(request.path_params["session"])), 201)

    async def advance(request: Request) -> Response:
        minutes = (await _body(request, Advance)).minutes
        _session(sessions, request).advance(minutes)
        return answer(_describe(sessions, request.path_params["session"]))

    async def diff(request: Request) -> Response:
        return answer({"changes": _session(sessions, request).diff()})

    async def digest(request: Request) -> Response:
        return answer({"digest": _session(sessions, request).digest()})

    async def close(request: Request) -> Response:
        sessions.close(request.path_params["session"])
        return answer({"closed": True})

    table: list[tuple[str, str, Endpoint]] = [
        ("POST", "/sessions", open_session),
        ("GET", "/sessions/{session}", show),
        ("POST", "/sessions/{session}/reset", reset),
        ("POST", "/sessions/{session}/fork", fork),
        ("POST", "/sessions/{session}/advance", advance),
        ("GET", "/sessions/{session}/diff", diff),
        ("GET", "/sessions/{session}/digest", digest),
        ("DELETE", "/sessions/{session}", close),
    ]
    routes = [Route(path, endpoint, methods=[method]) for method, path, endpoint in table]
    return routes + _public_routes(sessions)


def _public_routes(sessions: Sessions) -> list[Route]:
    async def list_servers(_: Request) -> Response:
        shown = sessions.servers.values()
        return answer({s.name: {"about": s.about, "tools": list(s.tools)} for s in shown})

    async def health(_: Request) -> Response:
        return answer({"status": "ok", "version": __version__, "sessions": len(sessions)})

    return [Route("/servers", list_servers), Route("/health", health)]


def _session(sessions: Sessions, request: Request) -> Session:
    return sessions.get(request.path_params["session"])


def _describe(sessions: Sessions, key: str) -> dict[str, Any]:
    session = sessions.get(key)
    names = [server.name for server in session.servers]
    return {
        "session": key,
        "seed": session.seed,
        "servers": names,
        "now": session.now,
        "digest": session.digest(),
        "mcp": {name: f"/s/{key}/{name}/mcp" for name in names},
    }


async def _body(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.body() or b"{}", type=kind)
    except msgspec.MsgspecError as problem:
        raise HostError(f"the request's JSON does not fit: {problem}") from None
