"""ASGI middleware that protects the HTTP host: Host, Origin, bearer token and body size.

Checking Host and Origin prevents DNS rebinding and requests from pages of other sites. Both are
compared as a whole: name and port, and for an origin its scheme too.
"""

import hmac
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HTTP_PORT = 80
DIGITS = 18
LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A request that repeats one of these could mean one thing to a proxy and another to us.
ONCE = (b"host", b"origin", b"authorization", b"content-length", b"mcp-session-id")
Headers = list[tuple[bytes, bytes]]


def is_loopback(host: str) -> bool:
    """Whether an address is a loopback address, which only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class RequestLimits:
    """What a request must be like.

    Besides the loopback names at `port`, the host answers to `hosts` (at `port` and without a
    port, or as given if they have one), and to pages of these and of `origins`.
    """

    port: int = HTTP_PORT
    hosts: Iterable[str] = ()
    origins: Iterable[str] = ()
    token: str | None = field(default=None, repr=False)
    max_body: int = 256 * 1024


class RequestRefused(Exception):
    """A request that may not come in: the status, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """ASGI middleware in front of MCP, the control API and the pages."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self.app = app
        self.hosts = allowed_hosts(limits)
        pages = (f"http://{host}" for host in self.hosts)
        self.origins = frozenset((*pages, *(origin.lower() for origin in limits.origins)))
        self.token = None if limits.token is None else limits.token.encode()
        self.max_body = limits.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body if it may come in, else refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Blanks around a header value are not part of it (RFC 9110 §5.5), but httptools keeps them.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        try:
            self._check(headers)
            body = await self._read(receive)
        except RequestRefused as refused:
            answer = JSONResponse({"error": str(refused)}, refused.status, {"connection": "close"})
            await answer(scope, receive, send)
            return
        if body is not None:
            await self.app({**scope, "headers": headers}, _replay(body, receive), send)

    def _check(self, headers: Headers) -> None:
        """Raise RequestRefused if the headers do not allow the request."""
        given = dict(headers)
        if len(given) < len(headers) and (name := _repeated(headers)):
            raise RequestRefused(400, f"the header {name} is given twice")
        host = given.get(b"host", b"").decode("latin-1").lower()
        if host not in self.hosts:
            raise RequestRefused(
                421, f"the Host {host!r} is not allowed here; allow it with --allow-host"
            )
        origin = given.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in self.origins:
            raise RequestRefused(403, "requests from web pages of other origins are refused")
        if self.token is not None and not _has_token(given.get(b"authorization", b""), self.token):
            raise RequestRefused(
                401, "send the header 'Authorization: Bearer <token>' of this host"
            )
        length = given.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > DIGITS or int(length) > self.max_body:
            raise self._too_long()

    async def _read(self, receive: Receive) -> bytes | None:
        """The whole body, or None if the client left before its end."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > self.max_body:
                raise self._too_long()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_long(self) -> "RequestRefused":
        return RequestRefused(413, f"the body is longer than {self.max_body} bytes")


def allowed_hosts(limits: RequestLimits) -> frozenset[str]:
    """The values of the header Host that are answered."""
    found = []
    for name in (*LOOPBACK, *limits.hosts):
        bracketed = f"[{name}]" if _is_ipv6(name) else name.lower()
        if bracketed.rpartition(":")[2].isdigit() and not _is_ipv6(name):
            found.append(bracketed)
            continue
        found.append(f"{bracketed}:{limits.port}")
        if limits.port == HTTP_PORT or name not in LOOPBACK:
            found.append(bracketed)
    return frozenset(found)


def _is_ipv6(name: str) -> bool:
    return name.count(":") > 1 and not name.startswith("[")


def _repeated(headers: Headers) -> str:
    counts = Counter(name for name, _ in headers)
    return next((name.decode() for name in ONCE if counts[name] > 1), "")


def _has_token(given: bytes, token: bytes) -> bool:
    """Whether an Authorization header holds the token; the scheme's case does not matter."""
    scheme, _, value = given.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(value.strip(b" "), token)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, then what the server has to say: that the client left."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
