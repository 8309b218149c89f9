"""ASGI middleware that protects the HTTP host: Host, Origin, bearer token and body size.

Checking Host and Origin prevents DNS rebinding and requests from pages of other sites.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
    """The host names that are accepted, the bearer token, and the largest body in bytes."""

    hosts: Iterable[str] = ()
    token: str | None = field(default=None, repr=False)
    max_body: int = 256 * 1024


class Guard:
    """ASGI middleware in front of MCP, the control API and the pages."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self.app = RequestBodyLimitMiddleware(app, limits.max_body)
        self.names = frozenset((*LOOPBACK, *limits.hosts))
        self.token = None if limits.token is None else f"Bearer {limits.token}".encode()
        self.max_body = limits.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if its Host, Origin, token and size allow it, else refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Blanks around a header value are not part of it (RFC 9110 §5.5), but httptools keeps them.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        if refusal := self._refusal(dict(headers)):
            status, message = refusal
            await JSONResponse({"error": message}, status)(scope, receive, send)
            return
        await self.app({**scope, "headers": headers}, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = _host_name(f"//{headers.get(b'host', b'').decode('latin-1')}")
        if host not in self.names:
            return 421, f"the Host {host!r} is not allowed here; allow it with --allow-host"
        origin = headers.get(b"origin")
        if origin is not None and _host_name(origin.decode("latin-1")) not in self.names:
            return 403, "requests from web pages of other origins are refused"
        given = headers.get(b"authorization", b"")
        if self.token is not None and not hmac.compare_digest(given, self.token):
            return 401, "send the header 'Authorization: Bearer <token>' with the host's token"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.max_body:
            return 413, f"the body is longer than {self.max_body} bytes"
        return None


def _host_name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
