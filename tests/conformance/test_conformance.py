"""Real clients: the official MCP suite and the Inspector find our host as it should be."""

import re
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from provegym.hosts.guard import Guard, RequestLimits

HERE = Path(__file__).parent
UNAVAILABLE = 3
SECONDS = 1_200


@pytest.mark.conformance
@pytest.mark.parametrize(
    "check", ["2026-07-28", "2025-11-25", pytest.param("inspector", marks=pytest.mark.long)]
)
def test_real_clients_are_served_as_the_protocol_says(check: str) -> None:
    result = subprocess.run(
        [sys.executable, str(HERE / "run.py"), check],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if result.returncode == UNAVAILABLE:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"


def test_every_expected_failure_says_why() -> None:
    files = sorted(HERE.glob("expected-failures-*.yml"))
    assert len(files) == 6
    for path in files:
        for line in path.read_text().splitlines():
            assert re.match(r"#|server:|  - \S+  # \S+ \S+", line), f"{path.name}: {line}"


def test_blanks_around_a_header_value_are_no_part_of_it() -> None:
    seen: list[dict[bytes, bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(dict(scope["headers"]))

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(_: Message) -> None:
        raise AssertionError("refused")

    headers = [(b"host", b"localhost "), (b"authorization", b"Bearer key\t"), (b"mcp-name", b" a ")]
    scope: Scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    anyio.run(Guard(app, RequestLimits(token="key")), scope, receive, send)
    assert [each[b"mcp-name"] for each in seen] == [b"a"]
