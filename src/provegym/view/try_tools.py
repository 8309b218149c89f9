"""Sessions in which a user tries tools by hand. Undo: a fork of the world before every change."""

import secrets
from collections import OrderedDict
from threading import Lock

import msgspec

from provegym.kernel import Session
from provegym.trace import Json
from provegym.view.sources import Missing
from provegym.view.worlds import load

MAX_SESSIONS, MAX_UNDO = 32, 500


class UndoableSession:
    """A session, and the forks of it that undo goes back to."""

    def __init__(self, server: str, seed: int) -> None:
        self.server = load(server)
        self.now = Session([self.server], seed)
        self.past: list[Session] = []

    def call(self, tool: str, arguments: bytes) -> Json:
        """Call a tool; its changes can be undone."""
        before = self.now.fork()
        outcome = self.now.call(tool, arguments)
        changes = self.now.changes(tool) if outcome.ok else []
        if changes:
            self.past = [*self.past, before][-MAX_UNDO:]
        return {
            "ok": outcome.ok,
            "error": outcome.error,
            "result": msgspec.Raw(outcome.text.encode()),
            "diff": changes,
            "depth": len(self.past),
            "since": self.now.diff(),
        }

    def undo(self) -> Json:
        """Back to before the last call that changed something."""
        if self.past:
            self.now = self.past.pop()
        return self.describe()

    def reset(self) -> Json:
        """Back to the seed; this can be undone too."""
        if self.now.diff():
            self.past = [*self.past, self.now.fork()][-MAX_UNDO:]
        self.now.reset()
        return self.describe()

    def describe(self) -> Json:
        """How many calls can be undone, and what differs from the seed."""
        return {"depth": len(self.past), "diff": self.now.diff()}


class OpenSessions:
    """The open sessions by id; when there are too many, the least recently used is dropped."""

    def __init__(self, most: int = MAX_SESSIONS) -> None:
        self.most = most
        self.lock = Lock()
        self._open: OrderedDict[str, UndoableSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, server: str, seed: int) -> str:
        """Open a session and return its id, which nobody can guess."""
        key = secrets.token_urlsafe(18)
        self._open[key] = UndoableSession(server, seed)
        while len(self._open) > self.most:
            self._open.popitem(last=False)
        return key

    def __getitem__(self, key: str) -> UndoableSession:
        if key not in self._open:
            raise Missing("no such session: it was dropped or never opened; open a new one")
        self._open.move_to_end(key)
        return self._open[key]
