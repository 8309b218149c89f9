"""A server: a type of state, a function that seeds it, and tools registered by decorators."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints, overload

import msgspec

from provegym.kernel.schema import Arguments, Json, Page, output_schema, page, parse_docstring
from provegym.kernel.seed import Seed
from provegym.kernel.state import State

S = TypeVar("S", bound=State)
Result = msgspec.Struct | list[Any]
F = TypeVar("F", bound=Callable[..., Result])

WORLDS_KEPT = 64


@dataclass(frozen=True, eq=False, slots=True)
class Tool:
    """A tool: a function of the state and of arguments, with its JSON schema and annotations."""

    name: str
    server: str
    function: Callable[..., Result]
    description: str
    arguments: Arguments
    output_schema: Json
    paged: bool
    writes: bool
    destructive: bool
    idempotent: bool

    def run(self, state: State, arguments: Mapping[str, Any] | str | bytes) -> msgspec.Struct:
        """Validate the arguments and run the tool; a list is cut to the requested page."""
        values = self.arguments.bind(arguments)
        if not self.paged:
            return cast("msgspec.Struct", self.function(state, *values))
        *values, limit, offset = values
        return page(cast("list[Any]", self.function(state, *values)), limit, offset)

    @property
    def input_schema(self) -> Json:
        """The JSON schema of its arguments, as published."""
        return self.arguments.schema

    def describe(self) -> Json:
        """The tool's schemas and annotations as plain data."""
        return {
            "name": self.name,
            "description": self.description,
            "writes": self.writes,
            "destructive": self.destructive,
            "idempotent": self.idempotent,
            "sensitive": sorted(self.arguments.sensitive),
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
        }


class Server(Generic[S]):
    """A named server; the decorators `@server.read` and `@server.write` register its tools.

    A `foreign` server runs in another process: to fork it, its writes are replayed.
    """

    foreign = False

    def __init__(
        self, name: str, state: type[S], *, category: str, about: str, version: int = 1
    ) -> None:
        if not isinstance(version, int):
            raise TypeError(f"the version of {name} is a whole number, not {version!r}")
        self.name = name
        self.state = state
        self.category = category
        self.about = about
        self.version = version
        self.tools: dict[str, Tool] = {}
        self._draw: Callable[[Seed], S] | None = None
        self.world = lru_cache(maxsize=WORLDS_KEPT)(self._world)
        self.later = lru_cache(maxsize=WORLDS_KEPT)(self._later)

    def __repr__(self) -> str:
        return f"<Server {self.name}: {len(self.tools)} tools>"

    def seed(self, draw: Callable[[Seed], S]) -> Callable[[Seed], S]:
        """Decorator: registers the function that generates a world from a seed."""
        self._draw = draw
        return draw

    def _world(self, number: int) -> S:
        """The seeded world that sessions fork from; generated once, then cached."""
        if self._draw is None:
            raise TypeError(f"{self.name} has no seed function; mark one with @server.seed")
        return self._draw(Seed(number, self.name)).freeze()

    def _later(self, number: int, minutes: int) -> S:
        """A seeded world some minutes after its start, without any call; sessions fork it."""
        state = self.world(number).fork()
        state.pass_time(minutes)
        return state

    def read(self, function: F) -> F:
        """Decorator: registers a read-only tool."""
        return self._add(function, writes=False, destructive=False, idempotent=True)

    @overload
    def write(self, function: F) -> F: ...
    @overload
    def write(self, *, destructive: bool = False, idempotent: bool = False) -> Callable[[F], F]: ...
    def write(
        self, function: F | None = None, *, destructive: bool = False, idempotent: bool = False
    ) -> F | Callable[[F], F]:
        """Decorator: registers a tool that may change the state.

        Destructive: it takes away something the user had.
        Idempotent: calling it again with the same arguments changes nothing more.
        """
        if function is not None:
            return self._add(function, writes=True, destructive=False, idempotent=False)
        return lambda f: self._add(f, writes=True, destructive=destructive, idempotent=idempotent)

    def _add(self, function: F, *, writes: bool, destructive: bool, idempotent: bool) -> F:
        name = function.__name__
        returned: Any = get_type_hints(function).get("return")
        paged = get_origin(returned) is list
        shown = get_args(returned)[0] if paged else returned
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) or name in self.tools:
            raise TypeError(f"{self.name}: {name!r} is not a valid tool name, or is already taken")
        if not (isinstance(shown, type) and issubclass(shown, msgspec.Struct)):
            raise TypeError(f"{name} must return a struct or a list of structs")
        description, described = parse_docstring(function)
        generic: Any = Page
        self.tools[name] = Tool(
            name=name,
            server=self.name,
            function=function,
            description=description,
            arguments=Arguments(function, described, paged=paged),
            paged=paged,
            output_schema=output_schema(generic[shown] if paged else shown),
            writes=writes,
            destructive=destructive,
            idempotent=idempotent,
        )
        return function


AnyServer = Server[Any]
