"""Slow, large and malformed requests: each is answered or cut off, and the others are served."""

import asyncio
import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from threading import Event
from time import monotonic
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.testclient import TestClient
from uvicorn.server import ServerState

from hosts.running import Host
from provegym.hosts.guard import RequestLimits
from provegym.hosts.http import build_app, faces
from provegym.hosts.inline import Sessions
from provegym.hosts.limits import ConnectionLimits, LimitedProtocol
from provegym.kernel.state import State
from provegym.servers import load

PATIENCE = 60
SLOW_SEED = 7_700
StartHost = Callable[..., Host]


def port_of(host: Host) -> int:
    """The port that a host listens on."""
    return int(host.url.rpartition(":")[2])


@contextmanager
def connection(host: Host) -> Iterator[socket.socket]:
    """A connection that waits long for an answer."""
    with socket.create_connection(("127.0.0.1", port_of(host)), timeout=PATIENCE) as opened:
        yield opened


def head(host: Host, method: str = "GET", path: str = "/health", *more: str) -> bytes:
    """The head of a request."""
    lines = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{port_of(host)}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def read_all(opened: socket.socket) -> bytes:
    """Everything until the host ends the connection."""
    parts = []
    try:
        while part := opened.recv(65_536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def status(answer: bytes) -> int:
    """The status of an answer."""
    return int(answer.split()[1])


def is_served(host: Host) -> bool:
    """Whether another client is served."""
    return httpx2.get(f"{host.url}/health", timeout=PATIENCE).status_code == 200


@pytest.fixture(scope="module")
def hasty() -> Iterator[Host]:
    """A host that waits one second for a request, and has 40 connections."""
    from hosts.running import start

    running = start("banking", "--request-timeout", "1", "--max-connections", "40")
    yield running
    running.stop()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"G",
        b"GET /health HTTP/1.1\r\nhost: 127",
        b"\r\n\r\n",
        b"POST /sessions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 9\r\n\r\n{",
        b"POST /sessions HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\n{",
        b"POST /sessions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ntransfer-encoding: chunked\r\n\r\n1",
    ],
)
def test_a_half_sent_request_is_ended(hasty: Host, sent: bytes) -> None:
    with connection(hasty) as opened:
        opened.sendall(sent.replace(b"{port}", str(port_of(hasty)).encode()))
        answer = read_all(opened)
    assert status(answer) in (408, 421)
    assert is_served(hasty)


def test_a_request_that_drips_is_ended(hasty: Host) -> None:
    with connection(hasty) as opened:
        begin = monotonic()
        opened.settimeout(0.2)
        opened.sendall(b"GET /health HTTP/1.1\r\n")
        while monotonic() < begin + PATIENCE:
            try:
                opened.sendall(b"x: y\r\n")
                if not opened.recv(10_000):
                    break
                continue
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("the request still drips")


def test_half_sent_requests_lock_nobody_out(start_host: StartHost) -> None:
    host = start_host("banking", "--max-connections", "40")
    key = host.open()["session"]
    with ExitStack() as stack:
        for number in range(150):
            opened = stack.enter_context(connection(host))
            body = head(host, "POST", "/sessions", "content-length: 9") + b"{"
            opened.sendall(body if number % 2 else b"GET /health HTT")
            if number % 10 == 0:
                assert is_served(host)
        assert httpx2.get(host.path(key, "digest"), timeout=PATIENCE).status_code == 200


def test_more_requests_than_connections_are_refused_with_a_sentence(start_host: StartHost) -> None:
    host = start_host("banking", "--max-connections", "5")
    keys = [host.open()["session"] for _ in range(8)]
    stream = ("accept: text/event-stream", "mcp-protocol-version: 2025-11-25")
    with ExitStack() as stack:
        answers = []
        for key in keys:
            client = older_client(host, f"/s/{key}/banking/mcp")
            if client is None:
                continue
            opened = stack.enter_context(connection(host))
            id_header = f"mcp-session-id: {client}"
            opened.sendall(head(host, "GET", f"/s/{key}/banking/mcp", *stream, id_header))
            answers.append(status(opened.recv(1_000)))
        assert answers == [200] * 5
        with connection(host) as opened:
            answer = read_all(opened)
        assert status(answer) == 503
        assert b"try again later" in answer


def older_client(host: Host, path: str) -> str | None:
    """The id of a client of 2025, or None if there is no connection left."""
    from hosts.test_lost_state import OlderClient

    try:
        return OlderClient(f"{host.url}{path}").id or None
    except httpx2.HTTPError:
        return None


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"x" * 200_000,
        b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 50_000,
        b"GET / HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 9_000 + b"\r\n",
    ],
)
def test_long_headers_are_refused(host: Host, sent: bytes) -> None:
    with connection(host) as opened:
        with suppress(ConnectionError):
            opened.sendall(sent)
        answer = read_all(opened)
    assert not answer or status(answer) == 431
    assert is_served(host)


def test_trailers_are_no_headers(host: Host) -> None:
    lines = ("transfer-encoding: chunked", "origin: http://evil.example")
    with connection(host) as opened:
        opened.sendall(head(host, "POST", "/sessions", lines[0]) + b"2\r\n{}\r\n0\r\nx: y\r\n\r\n")
        assert status(opened.recv(10_000)) == 201
    with connection(host) as opened:
        opened.sendall(head(host, "POST", "/sessions", *lines) + b"0\r\n\r\n")
        assert status(opened.recv(10_000)) == 403


def test_requests_are_not_piled_up_on_a_connection(host: Host) -> None:
    with connection(host) as opened:
        opened.sendall(head(host) * 2_000)
        answer = read_all(opened)
    assert answer.count(b"HTTP/1.1 200") == 1


class FakeTransport:
    """What a connection of uvicorn asks of a transport; it counts how it was ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def get_extra_info(self, _: str) -> None:
        """Nothing is known of the peer."""

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return bool(self.ended)

    def close(self) -> None:
        """Close it when all is written."""
        self.ended.append("close")

    def abort(self) -> None:
        """Close it at once."""
        self.ended.append("abort")


def test_a_client_that_does_not_read_is_cut_off() -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        return

    async def attempt() -> list[str]:
        config = uvicorn.Config(app, interface="asgi3", log_config=None)
        given = {"config": config, "server_state": ServerState(), "app_state": {}}
        protocol = LimitedProtocol(ConnectionLimits(reading=30), {}, **given)
        transport: Any = FakeTransport()
        protocol.connection_made(transport)
        now = monotonic()
        protocol.pause_writing()
        protocol.check_deadlines(now + 5)
        assert not transport.ended
        protocol.resume_writing()
        protocol.check_deadlines(now + 9)
        transport.close()
        protocol.check_deadlines(now + 9)
        protocol.check_deadlines(now + 60)
        return list(transport.ended)

    assert asyncio.run(attempt()) == ["close", "abort"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("host: evil.example",), 400),
        (("origin: http://a", "origin: http://b"), 400),
        (("content-length: 99999999999999999",), 413),
        (("content-length: -1",), 400),
        (("content-length: 5", "content-length: 6"), 400),
        (("upgrade: websocket", "connection: upgrade"), 200),
        (("expect: 100-continue",), 100),
    ],
)
def test_odd_headers(host: Host, lines: tuple[str, ...], code: int) -> None:
    with connection(host) as opened:
        opened.sendall(head(host, "GET", "/health", *lines))
        answer = opened.recv(10_000)
    assert status(answer) == code


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b'{"servers": ["\xff"]}',
        b'{"servers": ["\\ud800"]}',
        b'{"\xff": 1}',
        b'{"seed": 1e400}',
        b'{"seed": 99999999999999999999999999}',
        b'{"servers": []}',
        b"\x00",
        b"{" * 100_000,
        b'{"servers": ' + b"[" * 100_000,
        b'{"minutes": "\xff"}',
    ],
)
def test_no_body_breaks_the_host(host: Host, body: bytes) -> None:
    key = host.open(servers=["banking"])["session"]
    paths = ("/sessions", f"/sessions/{key}/advance", f"/s/{key}/banking/mcp", "/banking/mcp")
    for path in paths:
        for version in ("2025-11-25", "2026-07-28"):
            headers = {
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": version,
                "mcp-method": "tools/list",
            }
            answer = httpx2.post(f"{host.url}{path}", content=body, headers=headers)
            assert 400 <= answer.status_code < 500, f"{path}: {answer.text}"


def test_noise_does_not_break_the_host(host: Host) -> None:
    noise = random.Random(5)
    valid = head(host, "POST", "/sessions", "content-length: 2") + b"{}"
    for _ in range(150):
        sent = bytearray(valid)
        for _ in range(noise.randrange(1, 8)):
            sent[noise.randrange(len(sent))] = noise.randrange(256)
        with connection(host) as opened:
            opened.sendall(bytes(sent))
            opened.shutdown(socket.SHUT_WR)
            answer = read_all(opened)
        assert not answer or status(answer) < 500, bytes(sent)
    assert is_served(host)


def test_a_clock_that_is_moved_again_and_again_is_refused_with_a_sentence(host: Host) -> None:
    key = host.open(servers=["banking"])["session"]
    for _ in range(10):
        moved = httpx2.post(host.path(key, "advance"), json={"minutes": 366 * 24 * 60})
        assert moved.status_code == 200
    moved = httpx2.post(host.path(key, "advance"), json={"minutes": 366 * 24 * 60})
    assert moved.status_code == 400
    assert "10 years in all" in moved.json()["error"]
    assert httpx2.get(host.path(key, "digest")).status_code == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_of_a_token_has_no_case(start_host: StartHost, scheme: str) -> None:
    host = start_host("banking", PROVEGYM_TOKEN="secret")
    for value, code in ((f"{scheme} secret", 200), (f"{scheme} wrong", 401), ("secret", 401)):
        answer = httpx2.get(f"{host.url}/health", headers={"authorization": value})
        assert answer.status_code == code


def test_other_names_and_pages_can_be_allowed(start_host: StartHost) -> None:
    host = start_host(
        *("banking", "--allow-host", "worlds.example", "--allow-host", "proxy.example:8443"),
        *("--allow-origin", "https://proxy.example:8443"),
    )
    port = port_of(host)
    for name, code in {
        "worlds.example": 200,
        f"worlds.example:{port}": 200,
        "worlds.example:1": 421,
        "proxy.example:8443": 200,
        "proxy.example": 421,
    }.items():
        assert httpx2.get(f"{host.url}/health", headers={"host": name}).status_code == code
    for origin, code in {
        "https://proxy.example:8443": 200,
        "https://worlds.example": 403,
        f"http://worlds.example:{port}": 200,
    }.items():
        assert httpx2.get(f"{host.url}/health", headers={"origin": origin}).status_code == code


def test_memory_is_limited_and_told(start_host: StartHost) -> None:
    host = start_host("banking", "--max-memory", "1")
    for seed in range(100):
        opened = httpx2.post(f"{host.url}/sessions", json={"seed": seed}, timeout=PATIENCE)
        if opened.status_code != 201:
            break
    assert 4 < seed < 20
    assert opened.status_code == 503
    assert "memory" in opened.json()["error"]
    assert is_served(host)


def test_worlds_that_are_drawn_at_once_are_those_of_their_seeds(host: Host) -> None:
    with ThreadPoolExecutor(8) as pool:
        wanted = [{"seed": seed} for seed in range(1_000, 1_008)]
        opened = list(pool.map(lambda each: host.open(**each), wanted))
    assert len({each["digest"] for each in opened}) == 8


def open_session(here: TestClient) -> object:
    """Open a session on a seed that nobody asked for before."""
    return here.post("/sessions", json={"seed": SLOW_SEED}).status_code


def initialize(here: TestClient) -> object:
    """Begin as a client of 2025, which gets a world of its own, and call a tool."""
    from hosts.test_lost_state import OlderClient

    return OlderClient("/banking/mcp", here).call("list_payees").status_code


@pytest.mark.parametrize("ask", [open_session, initialize])
def test_others_are_served_while_a_world_is_drawn(
    ask: Callable[[TestClient], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world is drawn only after another request was answered."""
    banking = load("banking")
    draw, begun, answered, in_time = banking.world, Event(), Event(), []

    def wait(seed: int) -> State:
        begun.set()
        in_time.append(answered.wait(PATIENCE))
        return draw(seed)

    monkeypatch.setattr(banking, "world", wait)
    sessions = Sessions([banking])
    app = build_app(sessions, faces(sessions), RequestLimits(), seed=SLOW_SEED)
    with TestClient(app, base_url="http://127.0.0.1") as here, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, here)
        assert begun.wait(PATIENCE)
        assert here.get("/health").status_code == 200
        answered.set()
        assert asked.result(PATIENCE) in (200, 201)
    assert all(in_time)
