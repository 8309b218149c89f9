"""The routes of the page: what is asked for, checked and handed to who knows it."""

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
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
from provegym.view import page, worlds
from provegym.view.compare import Comparer, show_pair
from provegym.view.gate import Gate
from provegym.view.item import show_item
from provegym.view.library import Library
from provegym.view.query import LISTS, Query
from provegym.view.runs import list_watched, show_run
from provegym.view.sources import Rows
from provegym.view.trials import Trials

T = TypeVar("T", bound=msgspec.Struct)
Number = Annotated[int, Meta(ge=0, le=2**31)]
Name = Annotated[str, Meta(max_length=200)]


class Asked(msgspec.Struct, frozen=True):
    """What a GET may be asked with, besides filters."""

    source: Number = 0
    at: Number = 0
    offset: Number = 0
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    after: Number = 0
    left: Number = 0
    right: Number = 0
    left_at: Number = 0
    right_at: Number = 0
    seed: Number = 0
    name: Name = ""
    server: Name = ""
    session: Name = ""
    sort: Name = ""


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a new session is asked for with."""

    server: Name
    seed: Number = 0


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which session."""

    session: Name


class Calling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call; its arguments are the kernel's to check."""

    session: Name
    tool: Name
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class Site:
    """The answers, over a library and the trials of this start."""

    def __init__(self, library: Library, trials: Trials) -> None:
        self.library, self.trials = library, trials
        self.comparer = Comparer()

    def sources(self, request: Request) -> Json:
        """What is in the folders."""
        return {"sources": self.library.describe(), "version": __version__}

    def rows(self, request: Request) -> Json:
        """A page of the list."""
        asked, query = _asked(request), _query(request)
        source = self.library.rows(asked.source)
        self.library.await_rows(source, asked.offset + asked.limit)
        begun = perf_counter()
        with self.library.answering():
            found = source.rows(query, asked.offset, asked.limit)
        return {**found, "took_ms": round((perf_counter() - begun) * 1e3, 3)}

    def facets(self, request: Request) -> object:
        """How many rows each value of a filter would leave."""
        source = self.library.rows(_asked(request).source)
        with self.library.answering():
            return source.selector.facets(_query(request))

    def item(self, request: Request) -> Json:
        """One example or rollout, and its neighbours in the list."""
        asked = _asked(request)
        source = self.library.rows(asked.source)
        self.library.await_rows(source, asked.at + 1)
        with self.library.answering():
            shown = show_item(source, asked.at)
            return {**shown, **_neighbours(source, _query(request), asked.at)}

    def compare(self, request: Request) -> Json:
        """Two files of rollouts side by side."""
        asked = _asked(request)
        left, right = self.library.rows(asked.left), self.library.rows(asked.right)
        with self.library.answering():
            page = slice(asked.offset, asked.offset + asked.limit)
            return self.comparer.compare(left, right, asked.sort, page)

    def pair(self, request: Request) -> Json:
        """Two rollouts side by side."""
        asked = _asked(request)
        left, right = self.library.rows(asked.left), self.library.rows(asked.right)
        return show_pair((left, asked.left_at), (right, asked.right_at))

    def run(self, request: Request) -> Json:
        """A run's steps after so many."""
        asked = _asked(request)
        return show_run(self.library.run(asked.source), asked.after)

    def watched(self, request: Request) -> list[Json]:
        """The examples that were sampled at more than one step of a run."""
        return list_watched(self.library.run(_asked(request).source))

    def servers(self, request: Request) -> list[Json]:
        """The servers in brief."""
        return worlds.list_servers()

    def server(self, request: Request) -> Json:
        """A server's tools and rules."""
        return worlds.show_server(_asked(request).name)

    def world(self, request: Request) -> Json:
        """The records of a seed, or of a session."""
        asked = _asked(request)
        if asked.session:
            with self.trials.lock:
                trial = self.trials[asked.session]
                return worlds.show_world(trial.server, trial.now)
        server = worlds.load(asked.server)
        return worlds.show_world(server, Session([server], asked.seed))

    def graph(self, request: Request) -> Json:
        """A server's dependency graph."""
        return worlds.show_graph(_asked(request).server)

    def open(self, body: bytes) -> Json:
        """Begin to try tools."""
        wanted = _body(body, Opening)
        with self.trials.lock:
            return {"session": self.trials.open(wanted.server, wanted.seed)}

    def call(self, body: bytes) -> Json:
        """Try a tool."""
        wanted = _body(body, Calling)
        with self.trials.lock:
            return self.trials[wanted.session].call(wanted.tool, bytes(wanted.arguments))

    def undo(self, body: bytes) -> Json:
        """Take the last change back."""
        with self.trials.lock:
            return self.trials[_body(body, Named).session].undo()

    def reset(self, body: bytes) -> Json:
        """Back to the seed."""
        with self.trials.lock:
            return self.trials[_body(body, Named).session].reset()


def build_app(library: Library, port: int, token: str) -> ASGIApp:
    """The ASGI app for one start of the page."""
    site = Site(library, Trials())
    gets: dict[str, Callable[[Request], object]] = {
        "/api/sources": site.sources,
        "/api/rows": site.rows,
        "/api/facets": site.facets,
        "/api/item": site.item,
        "/api/compare": site.compare,
        "/api/pair": site.pair,
        "/api/run": site.run,
        "/api/run/examples": site.watched,
        "/api/servers": site.servers,
        "/api/server": site.server,
        "/api/world": site.world,
        "/api/graph": site.graph,
    }
    posts: dict[str, Callable[[bytes], object]] = {
        "/api/session": site.open,
        "/api/call": site.call,
        "/api/undo": site.undo,
        "/api/reset": site.reset,
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
    return Gate(Starlette(routes=routes, exception_handlers=handlers), port, token)


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
    """A JSON response; money is a number."""
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


def _asked(request: Request) -> Asked:
    return _convert(dict(request.query_params), Asked)


def _query(request: Request) -> Query:
    given: Json = {name: value for name, value in request.query_params.items() if value != ""}
    for name in LISTS:
        given[name] = [value for value in request.query_params.getlist(name) if value != ""]
    return _convert(given, Query)


def _neighbours(source: Rows, query: Query, at: int) -> Json:
    """The rows before and after one in a list; outside the list there are none."""
    found = source.selector.select(query)
    try:
        place = found.index(at)
    except ValueError:
        return {"previous": None, "next": None, "place": None, "total_items": len(found)}
    return {
        "previous": found[place - 1] if place else None,
        "next": found[place + 1] if place + 1 < len(found) else None,
        "place": place,
        "total_items": len(found),
    }


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
