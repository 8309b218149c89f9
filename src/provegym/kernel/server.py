"""A server: a kind of world and the tools that act on it, collected by decorator."""

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
    """One thing that can be done: a function of the state and of arguments that fit its schema."""

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
        """Validate, then do it; a list comes back as the page that was asked for."""
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
        """All there is to know of it, as plain data."""
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
    """A named kind of world; `@server.read` and `@server.write` make functions its tools.

    One that is `foreign` runs elsewhere: a fork of it costs as much as replaying its writes.
    """

    foreign = False

    def __init__(
        self, name: str, state: type[S], *, category: str, about: str, version: int = 1
    ) -> None:
        self.name = name
        self.state = state
        self.category = category
        self.about = about
        self.version = version
        self.tools: dict[str, Tool] = {}
        self._draw: Callable[[Seed], S] | None = None
        self.world = lru_cache(maxsize=WORLDS_KEPT)(self._world)
        self.later = lru_cache(maxsize=WORLDS_KEPT)(self._later)

    def seed(self, draw: Callable[[Seed], S]) -> Callable[[Seed], S]:
        """Register the function that draws a world from a seed."""
        self._draw = draw
        return draw

    def _world(self, number: int) -> S:
        """The seeded world that sessions fork from; drawn once, then shared."""
        if self._draw is None:
            raise TypeError(f"{self.name} has no @server.seed")
        return self._draw(Seed(number, self.name)).freeze()

    def _later(self, number: int, minutes: int) -> S:
        """A seeded world so long after its seed, nobody having touched it; for forking alone."""
        state = self.world(number).fork()
        state.pass_time(minutes)
        return state

    def read(self, function: F) -> F:
        """Make a function a tool that only looks."""
        return self._add(function, writes=False, destructive=False, idempotent=True)

    @overload
    def write(self, function: F) -> F: ...
    @overload
    def write(self, *, destructive: bool = False, idempotent: bool = False) -> Callable[[F], F]: ...
    def write(
        self, function: F | None = None, *, destructive: bool = False, idempotent: bool = False
    ) -> F | Callable[[F], F]:
        """Make a function a tool that may change the world.

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
            raise TypeError(f"{self.name}: {name!r} is no tool name, or is taken")
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
