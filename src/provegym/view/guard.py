"""Checks of every request to the page (Host, Origin, token), and the headers of every answer.

This defends against DNS rebinding and cross-site requests. `hosts.guard` limits bodies and refuses
headers that are given twice; here a request that changes anything also needs the page's token.
"""

import hmac
from collections.abc import Iterable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provegym.hosts.guard import Guard, RequestLimits

MAX_BODY = 128 * 1024
TOKEN = b"x-provegym-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
NO_STORE = (b"cache-control", b"no-store")
READING = ("GET", "HEAD")


class PageGuard:
    """ASGI middleware before all routes."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self.app = Guard(app, RequestLimits(port=port, max_body=MAX_BODY))
        self.port = port
        self.hosts = frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))
        self.origins = frozenset(b"http://" + host for host in self.hosts)
        self.token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it comes from this page, with headers that keep the answer safe."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                extra = [NO_STORE] if b"cache-control" not in given else []
                message["headers"] = [*message["headers"], *HEADERS, *extra]
            await send(message)

        if refusal := self._refusal(scope["method"], scope["headers"]):
            await JSONResponse({"error": refusal}, 403)(scope, receive, marked)
            return
        await self.app(scope, receive, marked)

    def _refusal(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Why a request is refused, or nothing."""
        given = {name: value.strip(b" \t") for name, value in headers}
        if given.get(b"host", b"").lower() not in self.hosts:
            return (
                f"this page answers to 127.0.0.1:{self.port} and localhost:{self.port} alone; when"
                " you forward a port, forward the same number (see --port)"
            )
        origin = given.get(b"origin")
        if origin is not None and origin.lower() not in self.origins:
            return "requests from pages of other origins are refused"
        if method in READING:
            return ""
        if not hmac.compare_digest(given.get(TOKEN, b""), self.token):
            return "send the header X-ProveGym-Token with the token of this start; reload the page"
        return ""
