"""The control API and the guard before it, spoken to over real HTTP."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from hosts.running import Host

PAYEE = {"name": "Ada", "iban": "DE89370400440532013000"}
StartHost = Callable[..., Host]


def call(host: Host, session: object, tool: str, arguments: dict[str, object]) -> httpx2.Response:
    """A tool call as a bare 2025-era JSON-RPC request, without an SDK in between."""
    url = f"{host.url}/s/{session}/banking/mcp"
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello["clientInfo"] = {"name": "test", "version": "1"}  # type: ignore[assignment]
    first = httpx2.post(url, headers=headers, json=rpc("initialize", hello))
    headers["mcp-session-id"] = first.headers["mcp-session-id"]
    httpx2.post(
        url, headers=headers, json={"jsonrpc": "2.0", "method": "notifications/initialized"}
    )
    body = rpc("tools/call", {"name": tool, "arguments": arguments})
    return httpx2.post(url, headers=headers, json=body)


def rpc(method: str, params: dict[str, object]) -> dict[str, object]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_a_session_lives_from_opening_to_closing(host: Host) -> None:
    opened = host.open(servers=["banking"], seed=5)
    key = opened["session"]
    assert opened["servers"] == ["banking"]
    assert opened["mcp"] == {"banking": f"/s/{key}/banking/mcp"}
    assert call(host, key, "add_payee", PAYEE).json()["result"]["isError"] is False
    changes = httpx2.get(host.path(key, "diff")).json()["changes"]
    assert [change["table"] for change in changes] == ["payees"]
    twin = httpx2.post(host.path(key, "fork")).json()
    assert twin["digest"] != opened["digest"]
    assert httpx2.post(host.path(key, "reset")).json()["digest"] == opened["digest"]
    assert httpx2.get(host.path(twin["session"], "digest")).json()["digest"] == twin["digest"]
    later = httpx2.post(host.path(key, "advance"), json={"minutes": 60 * 24 * 40}).json()
    assert later["now"] > str(opened["now"])
    for _ in range(2):
        assert httpx2.delete(f"{host.url}/sessions/{key}").json() == {"closed": True}
    assert call_after_close(host, key) == 404


def call_after_close(host: Host, key: object) -> int:
    """The status of a call into a session that is no more."""
    response = httpx2.post(f"{host.url}/s/{key}/banking/mcp", json=rpc("tools/list", {}))
    assert "open a new one" in response.json()["error"]
    return response.status_code


def test_equal_seeds_are_equal_worlds_and_sessions_do_not_see_each_other(host: Host) -> None:
    one, two = host.open(servers=["banking"], seed=9), host.open(servers=["banking"], seed=9)
    assert one["digest"] == two["digest"]
    made = call(host, one["session"], "add_payee", PAYEE).json()["result"]["structuredContent"]
    gone = call(host, two["session"], "remove_payee", {"payee_id": made["id"]}).json()["result"]
    assert gone["isError"] is True
    assert "no payee" in gone["content"][0]["text"]
    assert httpx2.get(host.path(two["session"], "diff")).json() == {"changes": []}


def test_two_resets_at_once_are_one_reset(host: Host) -> None:
    opened = host.open(servers=["banking"], seed=2)
    call(host, opened["session"], "add_payee", PAYEE)
    with ThreadPoolExecutor(8) as pool:
        urls = [host.path(opened["session"], "reset")] * 8
        digests = {response.json()["digest"] for response in pool.map(httpx2.post, urls)}
    assert digests == {opened["digest"]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("POST", "/sessions", b'{"servers": ["bankng"]}', 400, "no server 'bankng'"),
        ("POST", "/sessions", b'{"sed": 1}', 400, "unknown field"),
        ("POST", "/sessions", b'{"seed": -1}', 400, ">= 0"),
        ("POST", "/sessions", b"{", 400, "does not fit"),
        ("POST", "/sessions", b"[" * 100_000, 400, "does not fit"),
        ("GET", "/sessions/nobody", b"", 404, "open a new one"),
        ("POST", "/sessions/nobody/fork", b"", 404, "open a new one"),
        ("GET", "/s/nobody/banking/mcp", b"", 404, "open a new one"),
    ],
)
def test_bad_requests_get_a_sentence(
    host: Host, method: str, path: str, body: bytes, status: int, says: str
) -> None:
    response = httpx2.request(method, f"{host.url}{path}", content=body)
    assert response.status_code == status
    assert says in response.json()["error"]


def test_a_clock_is_not_moved_too_far(host: Host) -> None:
    key = host.open(servers=["banking"])["session"]
    response = httpx2.post(host.path(key, "advance"), json={"minutes": 10**9})
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "["}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "https://localhost:{port}"}, 403),
        ({"origin": "chrome-extension://localhost"}, 403),
        ({"origin": "http://evil@127.0.0.1:{port}"}, 403),
        ({"origin": "http://localhost:{port}"}, 200),
        ({"host": "localhost"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"host": "evil@127.0.0.1:{port}"}, 421),
        ({"host": "LOCALHOST:{port}"}, 200),
        ({"host": "[::1]:{port}"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/health", "/servers", "/s/x/banking/mcp", "/banking/mcp"])
def test_host_and_origin_are_checked_everywhere(
    host: Host, headers: dict[str, str], status: int, path: str
) -> None:
    port = host.url.rpartition(":")[2]
    sent = {name: value.format(port=port) for name, value in headers.items()}
    code = httpx2.get(f"{host.url}{path}", headers=sent).status_code
    assert (
        code == status
        if status != 200 or path in ("/health", "/servers")
        else code not in (403, 421)
    )


def test_a_body_over_the_limit_is_refused_announced_or_not(host: Host) -> None:
    def drip() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 10_000

    url = f"{host.url}/sessions"
    assert httpx2.post(url, content=b" " * 300_000).status_code == 413
    assert httpx2.post(url, content=drip()).status_code == 413


def test_the_cap_on_sessions_is_told(start_host: StartHost) -> None:
    host = start_host("--max-sessions", "2")
    host.open(), host.open()
    response = httpx2.post(f"{host.url}/sessions", json={})
    assert response.status_code == 503
    assert "2 sessions are open" in response.json()["error"]


def test_a_token_is_asked_for_and_never_logged(start_host: StartHost) -> None:
    secret = "correct-horse-battery-staple"
    host = start_host(PROVEGYM_TOKEN=secret)
    url = f"{host.url}/sessions"
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": secret}):
        assert httpx2.post(url, headers=headers).status_code == 401
    good = {"authorization": f"Bearer {secret}"}
    key = httpx2.post(url, headers=good, json={}).json()["session"]
    httpx2.post(f"{host.url}/s/{key}/banking/mcp", headers=good, content=b"nonsense")
    httpx2.post(f"{host.url}/sessions/{key}/advance", headers=good, content=b"nonsense")
    printed = host.stop()
    assert secret not in printed
    assert str(key) not in printed


def test_an_interrupted_host_stops_by_itself(start_host: StartHost) -> None:
    host = start_host()
    key = host.open()["session"]
    httpx2.get(host.path(key, "digest"))
    printed = host.stop()
    assert host.process.returncode is not None
    assert "Traceback" not in printed
