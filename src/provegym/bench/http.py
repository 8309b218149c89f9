"""Benchmark of MCP over Streamable HTTP: 32 clients on our host, or on the SDK's `MCPServer`."""

import asyncio
import re
import subprocess
import sys
from time import perf_counter
from typing import Any

import mcp_types as types
import msgspec
import uvicorn
from mcp.server.mcpserver import MCPServer

from provegym import servers
from provegym.hosts.http import bind
from provegym.kernel import Session
from provegym.terminal import say

CLIENTS = 32
CALLS_EACH = 60
VERSION = "2026-07-28"


def serve_command() -> list[str]:
    """The command that starts our host."""
    return [sys.executable, "-m", "provegym", "serve", "banking", "--http", "127.0.0.1:0"]


def peer_command() -> list[str]:
    """The command that starts the SDK's `MCPServer`."""
    return [sys.executable, "-c", "from provegym.bench.http import serve_peer; serve_peer()"]


def serve_peer() -> None:
    """Serve the same read of the same records with the SDK's high-level server."""
    banking = servers.load("banking")
    state: Any = Session([banking]).state(banking)
    records = {row.id: msgspec.to_builtins(row) for row in state.transactions}
    server = MCPServer("peer")

    @server.tool()
    def get_transaction(transaction_id: str) -> dict[str, Any]:
        """Show one booking."""
        return dict(records[transaction_id])

    listener = bind("127.0.0.1:0")
    say(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    config = uvicorn.Config(app, http="httptools", log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


def calls_per_second(command: list[str], tool: str, transaction: str) -> float:
    """Calls per second of a host that is started, loaded by concurrent clients and stopped."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        port = _port(process)
        return asyncio.run(_load(port, tool, transaction))
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _port(process: "subprocess.Popen[str]") -> int:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    raise RuntimeError(f"the host ended with {process.wait()} before it listened")


async def _load(port: int, tool: str, transaction: str) -> float:
    path = "/mcp"
    if session := await _open_session(port):
        path = f"/s/{session}/banking/mcp"
    request = _request(port, path, tool, {"transaction_id": transaction})
    await _client(port, request, 5)
    start = perf_counter()
    await asyncio.gather(*(_client(port, request, CALLS_EACH) for _ in range(CLIENTS)))
    return CLIENTS * CALLS_EACH / (perf_counter() - start)


async def _open_session(port: int) -> str | None:
    """Open a session on our host; the SDK's server has none and answers 404."""
    status, body = await _exchange(port, _post(port, "/sessions", b"{}", {}))
    return str(msgspec.json.decode(body)["session"]) if status == 201 else None


async def _exchange(port: int, request: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await _answer(reader)
    writer.close()
    return answer


async def _client(port: int, request: bytes, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(request)
        status, body = await _answer(reader)
        if status != 200 or b'"isError":true' in body or b'"result"' not in body:
            raise RuntimeError(f"the host answered {status}: {body[:200]!r}")
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", head)
    return int(head.split()[1]), await reader.readexactly(int(length[1]) if length else 0)


def _request(port: int, path: str, tool: str, arguments: dict[str, Any]) -> bytes:
    meta = {
        types.PROTOCOL_VERSION_META_KEY: VERSION,
        types.CLIENT_INFO_META_KEY: {"name": "bench", "version": "1"},
        types.CLIENT_CAPABILITIES_META_KEY: {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = msgspec.json.encode(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    )
    routing = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": tool}
    return _post(port, path, body, routing)


def _post(port: int, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body
