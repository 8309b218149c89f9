"""The official SDK's client against every host, in both eras: the same worlds, kept apart."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from hosts.running import Host
from provegym.demo import load as load_demo
from provegym.demo import play
from provegym.hosts.mcp import SESSION_META, describe, own_sessions, sdk_server
from provegym.kernel import Session
from provegym.servers import load, names

ERAS = ["legacy", "2026-07-28"]
SECONDS = 300
PAYEE = {"name": "Ada", "iban": "DE89370400440532013000"}
Calls = list[tuple[str, dict[str, Any]]]


def stdio(*arguments: str, mode: str = "auto") -> Client:
    """A client of a server process of its own."""
    command = StdioServerParameters(command=sys.executable, args=["-m", "provegym", *arguments])
    return Client(stdio_client(command), mode=mode)


def memory(name: str, mode: str = "auto") -> Client:
    """A client in this process."""
    return Client(sdk_server(name, [load(name)], own_sessions([load(name)], 7)), mode=mode)


def recorded(name: str) -> tuple[Calls, list[str]]:
    """The calls of a server's demo before any time passes, and what they come to in process."""
    session = Session([load(name)], 7)
    told = play(load_demo(name), Session([load(name)], 7))
    first = next((at for at, (_, _, outcome) in enumerate(told) if outcome is None), len(told))
    calls: Calls = [(step.tool, arguments) for step, arguments, _ in told[:first]]
    calls += [(tool, {"surprise": 1}) for tool in load(name).tools]
    return calls, [session.call(tool, arguments).text for tool, arguments in calls]


async def replay(connection: AbstractAsyncContextManager[Client], calls: Calls) -> list[str]:
    """The same calls through a client."""
    texts = []
    async with connection as client:
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments)
            texts.append(result.content[0].text)  # type: ignore[union-attr]
            assert result.is_error == (result.structured_content is None)
    return texts


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("name", names())
def test_memory_and_http_answer_as_the_process_does(name: str, mode: str, host: Host) -> None:
    calls, expected = recorded(name)
    opened = host.open(servers=[name], seed=7)
    url = f"{host.url}/s/{opened['session']}/{name}/mcp"
    assert anyio.run(replay, memory(name, mode), calls) == expected
    assert anyio.run(replay, Client(url, mode=mode), calls) == expected
    session = Session([load(name)], 7)
    for tool, arguments in calls:
        session.call(tool, arguments)
    assert httpx2.get(host.path(opened["session"], "digest")).json()["digest"] == session.digest()


@pytest.mark.parametrize("mode", ERAS)
def test_one_stdio_process_answers_for_all_servers_as_this_one_does(mode: str) -> None:
    calls, expected = [], []
    for name in names():
        asked, told = recorded(name)
        calls += asked
        expected += told
    assert anyio.run(replay, stdio("serve", "--seed", "7", mode=mode), calls) == expected


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    "name", [names()[0], *(pytest.param(name, marks=pytest.mark.long) for name in names()[1:])]
)
def test_a_stdio_process_of_one_server_answers_as_this_one_does(name: str, mode: str) -> None:
    calls, expected = recorded(name)
    assert anyio.run(replay, stdio("serve", name, "--seed", "7", mode=mode), calls) == expected


@pytest.mark.parametrize("mode", ERAS)
def test_a_published_tool_says_all_there_is_to_know(mode: str) -> None:
    async def listed() -> Any:
        async with memory("banking", mode) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = anyio.run(listed)
    assert list(tools) == list(load("banking").tools)
    remove, find = tools["remove_payee"], tools["search_transactions"]
    assert remove.annotations.destructive_hint is True
    assert remove.annotations.read_only_hint is False
    assert find.annotations.read_only_hint is True
    assert tools["add_payee"].meta == {"provegym/sensitive": ["iban"]}
    assert remove.input_schema["required"] == ["payee_id"]
    assert find.output_schema["properties"]["items"]["type"] == "array"
    assert describe(load("banking").tools["add_payee"]).description


@pytest.mark.parametrize("mode", ERAS)
def test_two_clients_at_once_are_isolated(mode: str, host: Host) -> None:
    async def both() -> list[int]:
        counts = []
        keys = [host.open(servers=["banking"])["session"] for _ in range(2)]
        one, two = (Client(f"{host.url}/s/{key}/banking/mcp", mode=mode) for key in keys)
        async with one, two:
            for number in range(3):
                payee = {"name": f"Ada {number}", "iban": ibans()[number]}
                assert not (await one.call_tool("add_payee", payee)).is_error
                counts += [await total(two), await total(one)]
        return counts

    assert anyio.run(both) == [14, 15, 14, 16, 14, 17]


def ibans() -> list[str]:
    """Account numbers nobody in the seeded worlds has."""
    return ["DE89370400440532013000", "GB33BUKB20201555555555", "NL91ABNA0417164300"]


async def total(client: Client, **options: Any) -> int:
    """How many payees a client sees."""
    result = await client.call_tool("list_payees", {}, **options)
    assert result.structured_content is not None
    return int(result.structured_content["total"])


def test_older_clients_without_a_session_get_one_each(host: Host) -> None:
    async def both() -> tuple[int, int]:
        url = f"{host.url}/banking/mcp"
        async with Client(url, mode="legacy") as one, Client(url, mode="legacy") as two:
            await one.call_tool("add_payee", PAYEE)
            return await total(one), await total(two)

    assert anyio.run(both) == (15, 14)


def test_a_session_in_meta_is_as_good_as_one_in_the_url(host: Host) -> None:
    async def both() -> tuple[int, int]:
        keys = [str(host.open(servers=["banking"])["session"]) for _ in range(2)]
        one, two = ({SESSION_META: key} for key in keys)
        async with Client(f"{host.url}/banking/mcp", mode="2026-07-28") as client:
            await client.call_tool("add_payee", PAYEE, meta=one)
            return await total(client, meta=one), await total(client, meta=two)

    assert anyio.run(both) == (15, 14)


def test_names_in_meta_are_worlds_of_their_own_on_one_process() -> None:
    async def three() -> tuple[int, int, int]:
        a, b = {SESSION_META: "a"}, {SESSION_META: "b"}
        async with stdio("serve", "banking") as client:
            await client.call_tool("add_payee", PAYEE, meta=a)
            return await total(client, meta=a), await total(client, meta=b), await total(client)

    assert anyio.run(three) == (15, 14, 14)


def test_a_request_without_a_session_is_told_how_to_open_one(host: Host) -> None:
    async def attempt() -> None:
        async with Client(f"{host.url}/banking/mcp", mode="2026-07-28") as client:
            with pytest.raises(MCPError, match=r"POST /sessions and use /s/<session>/banking/mcp"):
                await client.call_tool("list_payees", {})
            with pytest.raises(MCPError, match="open a new one"):
                await client.call_tool("list_payees", {}, meta={SESSION_META: "guess"})

    anyio.run(attempt)


def test_nobody_chooses_the_id_of_a_session(host: Host) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    held = httpx2.get(f"{host.url}/health").json()["sessions"]
    for key in ("whatever", ":mcp:whatever", ":shared"):
        headers = {"mcp-session-id": key, "mcp-protocol-version": "2026-07-28"}
        httpx2.post(f"{host.url}/banking/mcp", json=body, headers=headers)
        assert httpx2.post(f"{host.url}/s/{key}/banking/mcp", json=body).status_code == 404
    assert httpx2.get(f"{host.url}/health").json()["sessions"] == held


def test_shared_opens_one_for_everybody(start_host: Callable[..., Host]) -> None:
    async def both(url: str) -> tuple[int, int]:
        one, two = Client(url, mode="2026-07-28"), Client(url, mode="legacy")
        async with one, two:
            await one.call_tool("add_payee", PAYEE)
            return await total(one), await total(two)

    host = start_host("--shared")
    assert anyio.run(both, f"{host.url}/banking/mcp") == (15, 15)


def test_an_endpoint_shows_and_runs_its_own_tools_only(host: Host) -> None:
    async def attempt() -> tuple[int, int]:
        key = host.open(servers=["banking", "food_delivery"])["session"]
        async with Client(f"{host.url}/s/{key}/mcp") as everything:
            shown = len((await everything.list_tools()).tools)
            with pytest.raises(MCPError, match="unknown tool 'list_directory'"):
                await everything.call_tool("list_directory", {})
        async with Client(f"{host.url}/s/{key}/banking/mcp") as banking:
            with pytest.raises(MCPError, match="unknown tool"):
                await banking.call_tool("search_restaurants", {})
            return shown, len((await banking.list_tools()).tools)

    assert anyio.run(attempt) == (34, 17)


def test_hostile_arguments_over_the_wire_are_errors_the_model_can_use(host: Host) -> None:
    async def attempt() -> list[str]:
        key, deep = host.open(servers=["banking"])["session"], []
        for _ in range(200):
            deep = [deep]
        hostile: list[dict[str, Any]] = [
            {"account_id": "x" * 100_000},
            {"account_id": deep},
            {"account_id": None},
            {"account_id": 1e308},
            {},
        ]
        async with Client(f"{host.url}/s/{key}/banking/mcp") as client:
            results = [await client.call_tool("get_account", each) for each in hostile]
            return [result.content[0].text for result in results]  # type: ignore[union-attr]

    for text in anyio.run(attempt):
        assert '"error":"invalid_argument"' in text
        assert len(text) < 400


def test_a_killed_client_leaves_no_server_behind() -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', 'provegym', 'serve', 'banking'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    client = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    with client.stdout:
        server = int(client.stdout.readline())
        client.send_signal(signal.SIGKILL)
        client.wait(SECONDS)
    anyio.run(gone, server)


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    with anyio.fail_after(SECONDS):
        while os.path.exists(f"/proc/{pid}"):
            await anyio.sleep(0.05)
