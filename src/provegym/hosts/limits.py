"""Limits on HTTP connections: deadlines for headers, bodies and reading, caps on size and number.

uvicorn has none of these. A connection waits while it has no complete request. When there are too
many connections, the one that waits longest makes room for a new one, so that slow clients cannot
lock out the others.
"""

import asyncio
import logging
import sys
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from provegym.terminal import printable

NEVER = float("inf")
SHUTDOWN_SECONDS = 5
LINGER_SECONDS = 5
HEAD_SECONDS = 10.0
TICKS_PER_SWEEP = 5
SPARE_FILES = 64
HEADER_BYTES = 32
REASONS = {
    400: "this is no HTTP request that can be read",
    408: "the request did not come in time",
    431: "the headers are too long",
    503: "too many connections are open; try again later",
}


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections there may be, and how many seconds a client may take.

    `head` and `body` are for sending a request, `idle` is for the time between two of them, and
    `reading` for taking an answer. `head_bytes` limits the first line and the headers.
    """

    connections: int = 2_000
    head: float = HEAD_SECONDS
    body: float = 30
    idle: float = 15
    reading: float = 30
    head_bytes: int = 32 * 1024


class ParsingEnds(Exception):
    """Stops the parser; the connection says with which status."""


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 protocol with a deadline for everything that a client must do.

    Requests are not pipelined: one that comes before the last answer is not read, and the
    connection ends with that answer.
    """

    def __init__(
        self, limits: ConnectionLimits, waiting: "dict[LimitedProtocol, None]", **given: Any
    ) -> None:
        super().__init__(**given)
        self.limits = limits
        self.waiting = waiting
        self.deadline = self.reading_deadline = NEVER
        self.in_head = True
        self.head_bytes = self.received = 0
        self.status = 400

    @property
    def is_running(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline; if there are too many connections, end one that waits, or this."""
        super().connection_made(transport)
        self.deadline = monotonic() + self.limits.head
        if len(self.connections) > self.limits.connections:
            if not self.waiting:
                self.refuse(503)
                return
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.transport.abort()
            self.connections.discard(oldest)
        self.waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is no longer counted."""
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came; the first byte of a request starts its deadline."""
        if self.transport.is_closing():
            return
        if self.deadline == NEVER and not self.is_running:
            self.deadline = monotonic() + self.limits.head
        self.received += len(data)
        super().data_received(data)
        # The parser collects a long value before it calls `on_header`.
        if self.in_head and self.received > self.limits.head_bytes:
            self.refuse(431)

    def on_message_begin(self) -> None:
        """A request begins; it must not come before the last one is answered."""
        if self.is_running:
            self.cycle.keep_alive = False
            self.status = 0
            raise ParsingEnds
        self.head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the first line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows a chunked body is not one."""
        self._count(len(name) + len(value) + HEADER_BYTES)
        if "path" not in self.scope:
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        self.head_bytes += size
        if self.head_bytes > self.limits.head_bytes:
            self.status = 431
            raise ParsingEnds

    def on_headers_complete(self) -> None:
        """The headers came in time; the body has a deadline of its own."""
        self.in_head = False
        self.deadline = monotonic() + self.limits.body
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete; how long its answer takes is our business."""
        self.in_head, self.received = True, 0
        self.deadline = NEVER
        if self.is_running:
            self.waiting.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The request is answered: the connection waits for another one."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self.waiting[self] = None

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser could not read."""
        if self.status:
            self.refuse(self.status)

    def refuse(self, status: int) -> None:
        """Answer with a status and end the connection, if no answer has begun."""
        body = msgspec.json.encode({"error": REASONS[status]})
        if not self.is_running or not self.cycle.response_started:
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n"
            self.transport.write(STATUS_LINE[status] + head % len(body) + b"\r\n" + body)
        self.transport.close()

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        self.reading_deadline = monotonic() + self.limits.reading
        super().pause_writing()

    def resume_writing(self) -> None:
        """The client has read."""
        self.reading_deadline = NEVER
        super().resume_writing()

    def check_deadlines(self, now: float) -> None:
        """End the connection if its client took too long."""
        if now > self.reading_deadline:
            self.transport.abort()
        elif self.transport.is_closing():
            self.reading_deadline = min(self.reading_deadline, now + LINGER_SECONDS)
        elif now > self.deadline:
            self.refuse(408)


class LimitedServer(uvicorn.Server):
    """uvicorn with `ConnectionLimits`."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits) -> None:
        limits = replace(limits, connections=_allow_files(limits.connections))
        http: Any = partial(LimitedProtocol, limits, {})
        config = uvicorn.Config(
            app,
            loop="auto",
            http=http,
            ws="none",
            access_log=False,
            log_config=None,
            timeout_keep_alive=limits.idle,  # type: ignore[arg-type]
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        _log_errors()
        super().__init__(config)

    async def on_tick(self, counter: int) -> bool:
        """Check the deadlines twice a second."""
        if counter % TICKS_PER_SWEEP == 0:
            now = monotonic()
            for connection in list(self.server_state.connections):
                assert isinstance(connection, LimitedProtocol)
                connection.check_deadlines(now)
        return await super().on_tick(counter)


class PlainFormatter(logging.Formatter):
    """Formats log records; control characters in them are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record, without what a terminal would act on."""
        return printable(super().format(record))


def _log_errors() -> None:
    """Log errors on stderr; what clients do wrong is answered and not logged."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(levelname)s: %(message)s"))
    logger = logging.getLogger("uvicorn")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.ERROR)


def _allow_files(connections: int) -> int:
    """Let this process open enough files; returns how many connections there can be."""
    if sys.platform == "win32":
        return connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        connections = min(connections, max(1, soft - SPARE_FILES))
    return connections
