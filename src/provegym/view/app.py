"""The HTTP API of the page: routes, and the checks of what a request asks for."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from provegym import __version__
from provegym.hosts.inline import HostError
from provegym.kernel import Session
from provegym.kernel.state import ENCODE
from provegym.trace import Json
from provegym.view import drawn, page, worlds
from provegym.view.figures import show_figures
from provegym.view.fingerprints import fingerprint
from provegym.view.guard import PageGuard
from provegym.view.item import show_item
from provegym.view.library import Library
from provegym.view.runs import list_watched, show_run
from provegym.view.try_tools import OpenSessions

T = TypeVar("T", bound=msgspec.Struct)
Number = Annotated[int, Meta(ge=0, le=2**31)]
Name = Annotated[str, Meta(max_length=200)]
Word = Annotated[str, Meta(max_length=4_000)]
MAX_ROWS, MAX_WORDS = 500, 8
ENOUGH_ROWS = 100
LISTS = ("row", "word")


class Parameters(msgspec.Struct, frozen=True):
    """The parameters that a GET may have; `row` and `word` may be given several times."""

    source: Number = 0
    at: Number = 0
    row: Annotated[tuple[Number, ...], Meta(max_length=MAX_ROWS)] = ()
    word: Annotated[tuple[Word, ...], Meta(max_length=MAX_WORDS)] = ()
    generation: Number = 0
    after: Number = 0
    seed: Number = 0
    name: Name = ""
    server: Name = ""
    session: Name = ""


class OpenRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which server and seed a new session has."""

    server: Name
    seed: Number = 0


class SessionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which session is meant."""

    session: Name


class CallRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of a tool; the kernel checks its arguments."""

    session: Name
    tool: Name
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class PageApi:
    """The answers to all requests, from a library and the sessions opened on the page."""

    def __init__(self, library: Library, sessions: OpenSessions) -> None:
        self.library, self.sessions = library, sessions

    def sources(self, request: Request) -> Json:
        """What is in the folders."""
        worlds = len(drawn.names())
        return {"sources": self.library.describe(), "worlds": worlds, "version": __version__}

    def columns(self, request: Request) -> Json:
        """The columns of the next rows of a source; the page filters, orders and counts them."""
        asked = _parameters(request)
        source = self.library.rows(asked.source)
        self.library.await_rows(source, asked.after + ENOUGH_ROWS)
        with self.library.answering():
            return source.show_columns(asked.generation, asked.after)

    def figures(self, request: Request) -> Json:
        """Mean reward and shares of success over the rows read so far."""
        source = self.library.rows(_parameters(request).source)
        with self.library.answering():
            return show_figures(source.columns)

    def search(self, request: Request) -> list[int]:
        """The rows that contain every word, among those read so far."""
        asked = _parameters(request)
        columns = self.library.rows(asked.source).columns
        with self.library.answering():
            return columns.search(asked.word)

    def texts(self, request: Request) -> list[str]:
        """The first words of some rows."""
        asked = _parameters(request)
        source = self.library.rows(asked.source)
        with self.library.answering():
            return [source.first_words(at) for at in asked.row]

    def fingerprints(self, request: Request) -> object:
        """The fingerprints of some rollouts, by which two are compared."""
        asked = _parameters(request)
        source = self.library.rows(asked.source)
        with self.library.answering():
            return [fingerprint(source, at) for at in asked.row]

    def item(self, request: Request) -> Json:
        """One example or rollout."""
        asked = _parameters(request)
        source = self.library.rows(asked.source)
        self.library.await_rows(source, asked.at + 1)
        with self.library.answering():
            return show_item(source, asked.at)

    def run(self, request: Request) -> Json:
        """A run, with its steps after the first so many."""
        asked = _parameters(request)
        return show_run(self.library.run(asked.source), asked.after)

    def watched(self, request: Request) -> list[Json]:
        """The examples that were sampled at more than one step of a run."""
        return list_watched(self.library.run(_parameters(request).source))

    def servers(self, request: Request) -> list[Json]:
        """The servers in brief."""
        return worlds.list_servers()

    def server(self, request: Request) -> Json:
        """A server's tools and rules."""
        return worlds.show_server(worlds.load(_parameters(request).name))

    def world(self, request: Request) -> Json:
        """The records of a seed, or of a session."""
        asked = _parameters(request)
        if asked.session:
            with self.sessions.lock:
                session = self.sessions[asked.session]
                return worlds.show_world(session.server, session.now)
        server = worlds.load(asked.server)
        return worlds.show_world(server, Session([server], asked.seed))

    def graph(self, request: Request) -> Json:
        """A server's dependency graph."""
        server = worlds.load(_parameters(request).server)
        return worlds.show_graph(server, worlds.load_graph(server))

    def open(self, body: bytes) -> Json:
        """Open a session to try tools in."""
        wanted = _body(body, OpenRequest)
        with self.sessions.lock:
            return {"session": self.sessions.open(wanted.server, wanted.seed)}

    def call(self, body: bytes) -> Json:
        """Call a tool in a session."""
        wanted = _body(body, CallRequest)
        with self.sessions.lock:
            return self.sessions[wanted.session].call(wanted.tool, bytes(wanted.arguments))

    def undo(self, body: bytes) -> Json:
        """Undo the last call that changed something."""
        with self.sessions.lock:
            return self.sessions[_body(body, SessionRequest).session].undo()

    def reset(self, body: bytes) -> Json:
        """Reset a session to its seed."""
        with self.sessions.lock:
            return self.sessions[_body(body, SessionRequest).session].reset()


def build_app(library: Library, port: int, token: str) -> ASGIApp:
    """The ASGI app of the page; requests that change anything must carry the token."""
    api = PageApi(library, OpenSessions())
    gets: dict[str, Callable[[Request], object]] = {
        "/api/sources": api.sources,
        "/api/columns": api.columns,
        "/api/figures": api.figures,
        "/api/search": api.search,
        "/api/texts": api.texts,
        "/api/fingerprints": api.fingerprints,
        "/api/item": api.item,
        "/api/run": api.run,
        "/api/run/examples": api.watched,
        "/api/servers": api.servers,
        "/api/server": api.server,
        "/api/world": api.world,
        "/api/graph": api.graph,
    }
    posts: dict[str, Callable[[bytes], object]] = {
        "/api/session": api.open,
        "/api/call": api.call,
        "/api/undo": api.undo,
        "/api/reset": api.reset,
    }
    routes = [Route(path, _get(function)) for path, function in gets.items()]
    routes += [Route(path, _post(function), methods=["POST"]) for path, function in posts.items()]
    routes += _files(token)
    handlers: Mapping[Any, Any] = {
        HostError: _refuse,
        HTTPException: _lost,
        RecursionError: _deep,
        Exception: _broken,
    }
    return PageGuard(Starlette(routes=routes, exception_handlers=handlers), port, token)


Endpoint = Callable[[Request], Awaitable[Response]]


def _get(function: Callable[[Request], object]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return answer(await run_in_threadpool(function, request))

    return endpoint


def _post(function: Callable[[bytes], object]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return answer(await run_in_threadpool(function, await request.body()))

    return endpoint


def _files(token: str) -> list[Route]:
    async def root(_: Request) -> Response:
        return HTMLResponse(page.index(token))

    async def built(request: Request) -> Response:
        found = page.asset(request.path_params["name"])
        return found or answer({"error": "there is no such file in the built page"}, 404)

    async def icon(_: Request) -> Response:
        return Response(status_code=204)

    return [Route("/", root), Route("/assets/{name}", built), Route("/favicon.ico", icon)]


def answer(value: object, status: int = 200) -> Response:
    """A JSON response; amounts of money are written as numbers."""
    return Response(ENCODE(value), status, media_type="application/json")


async def _refuse(_: Request, problem: HostError) -> Response:
    return answer({"error": str(problem)}, problem.status)


async def _lost(_: Request, problem: HTTPException) -> Response:
    return answer({"error": f"there is nothing here: {problem.detail}"}, problem.status_code)


async def _deep(_: Request, problem: RecursionError) -> Response:
    return answer({"error": "what is asked for is nested too deeply to be shown"}, 422)


async def _broken(_: Request, problem: Exception) -> Response:
    told = f"{type(problem).__name__}: {problem}"
    return answer({"error": f"a bug of provegym, please report it: {told[:300]}"}, 500)


def _parameters(request: Request) -> Parameters:
    given: Json = dict(request.query_params)
    for name in LISTS:
        given[name] = request.query_params.getlist(name)
    return _convert(given, Parameters)


def _convert(given: Json, kind: type[T]) -> T:
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise HostError(f"the address does not fit: {problem}") from None


def _body(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise HostError(f"the request's JSON does not fit: {problem}") from None
