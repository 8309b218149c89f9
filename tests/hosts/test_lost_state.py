"""A session that is gone is refused and never made anew; nobody ends what is not theirs."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from hosts.running import Host
from hosts.test_control import rpc
from hosts.test_sessions import Clock
from provegym.hosts.guard import RequestLimits
from provegym.hosts.http import build_app, faces
from provegym.hosts.inline import NoSession, Sessions
from provegym.servers import load

PATIENCE = 60
StartHost = Callable[..., Host]
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
PAYEE = {"name": "Ada", "iban": "DE89370400440532013000"}


class OlderClient:
    """A client of 2025, without an SDK in between."""

    def __init__(self, url: str, http: Any = httpx2) -> None:
        self.url, self.http = url, http
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
        hello["clientInfo"] = {"name": "test", "version": "1"}  # type: ignore[assignment]
        self.first = http.post(url, headers=HEADERS, json=rpc("initialize", hello))
        self.id = self.first.headers.get("mcp-session-id", "")
        self.headers = {**HEADERS, "mcp-session-id": self.id}

    def send(self, method: str, **params: object) -> httpx2.Response:
        """One request of this client."""
        response: httpx2.Response = self.http.post(
            self.url, headers=self.headers, json=rpc(method, params)
        )
        return response

    def call(self, tool: str, **arguments: object) -> httpx2.Response:
        """Call a tool."""
        return self.send("tools/call", name=tool, arguments=arguments)

    def payees(self) -> int:
        """How many payees this client sees."""
        return int(self.call("list_payees").json()["result"]["structuredContent"]["total"])


def count(host: Host) -> int:
    """How many sessions the host has."""
    return int(httpx2.get(f"{host.url}/health").json()["sessions"])


def test_pings_keep_the_world_alive() -> None:
    clock = Clock()
    sessions = Sessions([load("banking")], ttl=60, clock=clock)
    app = build_app(sessions, faces(sessions), RequestLimits())
    with TestClient(app, base_url="http://127.0.0.1") as here:
        client = OlderClient("/banking/mcp", here)
        client.call("add_payee", **PAYEE)
        for _ in range(5):
            clock.now += 50
            assert client.send("ping").status_code == 200
        assert client.payees() == 15
        clock.now += 61
        assert client.send("ping").status_code == 404
        assert client.call("list_payees").status_code == 404
        assert len(sessions) == 0


def test_an_expired_world_is_not_made_anew(start_host: StartHost) -> None:
    host = start_host("banking", "--ttl", "1")
    client = OlderClient(f"{host.url}/banking/mcp")
    client.call("add_payee", **PAYEE)
    await_count(host, 0)
    for response in (client.call("list_payees"), client.send("ping")):
        assert response.status_code == 404
        assert "initialize again" in response.json()["error"]["message"]
    assert count(host) == 0


def await_count(host: Host, wanted: int) -> None:
    """Wait until the host has so many sessions."""
    begin = monotonic()
    while count(host) != wanted:
        assert monotonic() < begin + PATIENCE
        sleep(0.1)


def test_an_older_client_of_a_closed_session_is_refused(host: Host) -> None:
    key = host.open(servers=["banking"])["session"]
    client = OlderClient(f"{host.url}/s/{key}/banking/mcp")
    assert client.send("ping").status_code == 200
    httpx2.delete(f"{host.url}/sessions/{key}")
    assert client.send("ping").status_code == 404


def test_a_request_in_progress_keeps_the_world_alive() -> None:
    clock = Clock()
    sessions = Sessions([load("banking")], ttl=60, clock=clock)
    key = sessions.open()
    opened = sessions.get(key)
    with sessions.hold(opened):
        clock.now = 500
        sessions.drop_idle()
        assert sessions.get(key) is opened
        clock.now = 1_000
    clock.now = 1_050
    assert sessions.get(key) is opened
    clock.now = 1_111
    with pytest.raises(NoSession):
        sessions.get(key)
    assert sessions.meter.used == 0


@pytest.mark.parametrize("path", ["/budget/mcp", "/mcp", "/s/{key}/banking/mcp"])
def test_nobody_deletes_at_another_address(host: Host, path: str) -> None:
    key = host.open(servers=["banking"])["session"]
    client = OlderClient(f"{host.url}/banking/mcp")
    client.call("add_payee", **PAYEE)
    elsewhere = f"{host.url}{path.format(key=key)}"
    assert httpx2.delete(elsewhere, headers=client.headers).status_code == 404
    assert httpx2.post(elsewhere, headers=client.headers, json=rpc("ping", {})).status_code == 404
    assert client.payees() == 15


def test_the_control_api_does_not_reach_what_the_host_keeps(start_host: StartHost) -> None:
    host = start_host("banking", "--shared")
    client = OlderClient(f"{host.url}/banking/mcp")
    client.call("add_payee", **PAYEE)
    for key in (":shared", f":mcp:{client.id}", client.id):
        httpx2.delete(f"{host.url}/sessions/{key}")
    assert client.payees() == 15


def test_the_shared_world_does_not_expire(start_host: StartHost) -> None:
    host = start_host("banking", "--shared", "--ttl", "1")
    OlderClient(f"{host.url}/banking/mcp").call("add_payee", **PAYEE)
    sleep(4)
    assert OlderClient(f"{host.url}/banking/mcp").payees() == 15


def test_a_deleted_client_takes_its_world_along(host: Host) -> None:
    before = count(host)
    client = OlderClient(f"{host.url}/banking/mcp")
    assert count(host) == before + 1
    assert httpx2.delete(client.url, headers=client.headers).status_code == 200
    assert count(host) == before
    assert client.send("ping").status_code == 404


def test_the_cap_counts_both_eras_at_all_addresses(start_host: StartHost) -> None:
    host = start_host("banking", "budget", "crm", "--max-sessions", "5")
    paths = ("/banking/mcp", "/budget/mcp", "/mcp")
    clients = [OlderClient(f"{host.url}{path}") for path in paths]
    keys = [host.open(servers=["crm"])["session"] for _ in range(2)]
    for path in (*paths, "/crm/mcp"):
        refused = OlderClient(f"{host.url}{path}").first
        assert refused.status_code == 503
        assert "5 sessions are open" in refused.json()["error"]
    assert httpx2.post(f"{host.url}/sessions", json={}).status_code == 503
    assert httpx2.post(host.path(keys[0], "fork")).status_code == 503
    assert count(host) == 5
    assert OlderClient(f"{host.url}/s/{keys[0]}/crm/mcp").first.status_code == 200
    httpx2.delete(clients[0].url, headers=clients[0].headers)
    assert OlderClient(f"{host.url}/crm/mcp").first.status_code == 200


def test_a_session_has_no_more_older_clients_than_there_may_be_sessions(
    start_host: StartHost,
) -> None:
    host = start_host("banking", "--max-sessions", "3")
    key = host.open()["session"]
    url = f"{host.url}/s/{key}/banking/mcp"
    clients = [OlderClient(url) for _ in range(3)]
    assert OlderClient(url).first.status_code == 503
    httpx2.delete(url, headers=clients[0].headers)
    assert OlderClient(url).first.status_code == 200


def test_a_request_that_does_not_initialize_leaves_nothing(host: Host) -> None:
    before = count(host)
    for body in ({}, rpc("tools/list", {}), [], "x"):
        assert httpx2.post(f"{host.url}/banking/mcp", headers=HEADERS, json=body).is_client_error
    assert httpx2.get(f"{host.url}/banking/mcp", headers=HEADERS).is_client_error
    assert count(host) == before
