"""Calls tools on a small world made by hand; the stories of all servers are told with it."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Generic, Self, TypeVar

from provegym.kernel import AnyServer, Outcome, Session, State

World = TypeVar("World", bound=State)


class Desk(Generic[World]):
    """A session over a small world, with a method for each way that a call can end.

    A server's test derives a desk of its own: its constructor fills the world, keeps the ids in
    attributes, and calls `start`. After each call the invariants of the world must hold, and a
    call that fails must leave the world as it was. `usual` holds arguments that are given to
    every tool that takes them.
    """

    session: Session

    def __init__(self, server: AnyServer, world: World) -> None:
        self.server = server
        self.world = world
        self.usual: Mapping[str, Any] = {}

    def start(self) -> None:
        """Begin a session over the world as it was made so far."""
        self.session = Session.over(self.server, self.world)

    def fork(self) -> Self:
        """Another desk, whose session goes its own way from here."""
        twin = copy(self)
        twin.session = self.session.fork()
        return twin

    @property
    def state(self) -> World:
        """The world as it is now."""
        state = self.session.state(self.server)
        assert isinstance(state, type(self.world))
        return state

    def call(self, tool: str, /, **arguments: Any) -> Outcome:
        """Make a call, with the usual arguments where the tool takes them; it may fail."""
        known = self.server.tools[tool].input_schema["properties"]
        usual = {name: value for name, value in self.usual.items() if name in known}
        outcome = self.session.call(tool, usual | arguments)
        self.session.check()
        return outcome

    def done(self, tool: str, /, **arguments: Any) -> Any:
        """Make a call that must succeed, and return its result."""
        outcome = self.call(tool, **arguments)
        assert outcome.ok, outcome.text
        return outcome.value

    def rejected(self, tool: str, because: str = "", /, **arguments: Any) -> str:
        """Assert that a rule of the domain forbids a call, and return the message."""
        return self._failed("rejected", tool, because, arguments)

    def denied(self, tool: str, because: str = "", /, **arguments: Any) -> str:
        """Assert that the acting user has no right to make a call, and return the message."""
        return self._failed("denied", tool, because, arguments)

    def not_found(self, tool: str, because: str = "", /, **arguments: Any) -> str:
        """Assert that a call names something that does not exist, and return the message."""
        return self._failed("not_found", tool, because, arguments)

    def _failed(self, kind: str, tool: str, because: str, arguments: Mapping[str, Any]) -> str:
        before = self.session.digest()
        outcome = self.call(tool, **arguments)
        assert outcome.error == kind, outcome.text
        assert self.session.digest() == before
        message = str(outcome.value["message"])
        assert because in message
        return message

    def wait(self, minutes: int = 0, *, hours: int = 0, days: int = 0) -> None:
        """Let time pass."""
        self.session.advance(minutes + 60 * (hours + 24 * days))
        self.session.check()
