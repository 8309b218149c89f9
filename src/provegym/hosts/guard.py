"""What every HTTP request must pass: a known Host and Origin, the token, and a bounded body."""

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
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class RequestLimits:
    """Who may speak to the host and how much at once."""

    hosts: Iterable[str] = ()
    token: str | None = field(default=None, repr=False)
    max_body: int = 256 * 1024


class Guard:
    """Middleware in front of MCP, control API and pages alike."""

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
        # HTTP calls the blanks around a value no part of it (RFC 9110 §5.5); httptools keeps them.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        if refusal := self._refusal(dict(headers)):
            status, message = refusal
            await JSONResponse({"error": message}, status)(scope, receive, send)
            return
        await self.app({**scope, "headers": headers}, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = _host_name(f"//{headers.get(b'host', b'').decode('latin-1')}")
        if host not in self.names:
            return 421, f"this host does not answer to {host!r}; see --allow-host"
        origin = headers.get(b"origin")
        if origin is not None and _host_name(origin.decode("latin-1")) not in self.names:
            return 403, "requests from pages of other origins are refused"
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
