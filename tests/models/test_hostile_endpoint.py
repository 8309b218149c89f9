"""Endpoints that send too much, too slowly, or something else than an answer."""

import asyncio
import gzip
import json
import resource
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from command import run
from examples import pay_example
from provegym.models.endpoint import Endpoint, EndpointConfig, EndpointError
from provegym.rollout import play
from provegym.trace import Reply, Rollout, line, write

MEGABYTE = 2**20
Send = Callable[[BaseHTTPRequestHandler], None]


class Handler(BaseHTTPRequestHandler):
    """Answers every request as its server says."""

    server: "Hostile"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        with suppress(OSError):
            self.server.send(self)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Hostile(ThreadingHTTPServer):
    """A server that answers with one function."""

    daemon_threads = True

    def __init__(self, send: Send) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.send = send
        self.asked = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


@pytest.fixture
def hostile() -> Iterator[Callable[[Send], Hostile]]:
    """Start servers; they end with the test."""
    running: list[Hostile] = []

    def begin(send: Send) -> Hostile:
        running.append(Hostile(send))
        threading.Thread(target=running[-1].serve_forever, daemon=True).start()
        return running[-1]

    yield begin
    for each in running:
        each.shutdown()
        each.server_close()


def headers(request: BaseHTTPRequestHandler, **named: str) -> None:
    """Send the head of a good answer that ends with the connection."""
    request.send_response(200)
    request.send_header("connection", "close")
    for name, value in named.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()


def whole(body: bytes) -> Send:
    """Send a whole body."""

    def send(request: BaseHTTPRequestHandler) -> None:
        headers(request, content_length=str(len(body)))
        request.wfile.write(body)

    return send


def ask(server: Hostile, **options: Any) -> Reply:
    """Ask once; no retries unless an option says so."""

    async def once() -> Reply:
        given = {"timeout": 60.0, "retries": 0, **options}
        endpoint = Endpoint(EndpointConfig(server.url, "m", **given), backoff=0.01)
        try:
            return await endpoint.reply([{"role": "user", "content": "Hi."}], [])
        finally:
            await endpoint.aclose()

    return asyncio.run(once())


def bomb(request: BaseHTTPRequestHandler) -> None:
    """Two gigabytes of spaces in two megabytes of gzip."""
    headers(request, content_encoding="gzip")
    packer = zlib.compressobj(1, wbits=31)
    spaces = b" " * MEGABYTE
    for _ in range(2_048):
        request.wfile.write(packer.compress(spaces))
    request.wfile.write(packer.flush())


def nested_bomb(request: BaseHTTPRequestHandler) -> None:
    """Packed twice: a gigabyte in a few kilobytes."""
    headers(request, content_encoding="gzip, gzip")
    request.wfile.write(gzip.compress(gzip.compress(b" " * (256 * MEGABYTE), 9), 9))


def endless(request: BaseHTTPRequestHandler) -> None:
    """A body without end."""
    headers(request)
    while True:
        request.wfile.write(b" " * MEGABYTE)


def drip(request: BaseHTTPRequestHandler) -> None:
    """A byte now and then, for minutes."""
    headers(request)
    for _ in range(3_000):
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.1)


@pytest.mark.parametrize("send", [bomb, nested_bomb, endless])
def test_a_long_answer_is_not_read_to_its_end(
    hostile: Callable[[Send], Hostile], send: Send
) -> None:
    server = hostile(send)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(EndpointError, match="more than 4,194,304 bytes") as problem:
        ask(server, max_bytes=4 * MEGABYTE, retries=3)
    assert "\n" not in str(problem.value)
    assert server.asked == 1, "it would be as long again"
    if send is bomb:
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_drip_ends_with_the_timeout_of_each_try(hostile: Callable[[Send], Hostile]) -> None:
    server, begun = hostile(drip), time.monotonic()
    with pytest.raises(EndpointError, match=r"after 2 tries: no whole answer within 0\.5 s"):
        ask(server, timeout=0.5, retries=1)
    assert server.asked == 2
    assert time.monotonic() - begun < 60


def test_a_deadline_ends_all_tries(hostile: Callable[[Send], Hostile]) -> None:
    server, begun = hostile(drip), time.monotonic()
    with pytest.raises(EndpointError, match="gave no whole answer within 1 s"):
        ask(server, timeout=100, deadline=1, retries=50)
    assert time.monotonic() - begun < 60


def test_waiting_for_the_rate_limit_is_not_held_against_the_endpoint(
    hostile: Callable[[Send], Hostile],
) -> None:
    server = hostile(whole(json.dumps({"choices": [{"message": {"content": "Hi."}}]}).encode()))

    async def both() -> list[Reply]:
        config = EndpointConfig(server.url, "m", timeout=60, deadline=60, per_minute=0.9)
        endpoint = Endpoint(config)
        limits = []
        async with asyncio.timeout(60) as limit:
            for _ in range(2):
                waiting = asyncio.create_task(endpoint._wait_for_turn(limit))
                await asyncio.sleep(0)
                limits.append(limit.when() or 0)
                waiting.cancel()
        await endpoint.aclose()
        assert limits[1] - limits[0] > 60
        return []

    asyncio.run(both())


@pytest.mark.parametrize(
    "body",
    [
        b"<html>busy</html>",
        b"[1, 2",
        b'{"choices": 7}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": 7}}]}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"completion_tokens": "many"}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_answer_is_one_sentence(hostile: Callable[[Send], Hostile], body: bytes) -> None:
    with pytest.raises(EndpointError) as problem:
        ask(hostile(whole(body)))
    assert "\n" not in str(problem.value)
    assert len(str(problem.value)) < 1_000


@pytest.mark.parametrize("count", [1e300, -5, 10**30])
def test_a_count_of_tokens_that_cannot_be_is_none(
    hostile: Callable[[Send], Hostile], count: float
) -> None:
    said = {"choices": [{"message": {"content": "Hi."}}], "usage": {"completion_tokens": count}}
    assert ask(hostile(whole(json.dumps(said).encode()))).tokens == 0


def test_a_huge_list_of_calls_ends_the_rollout_and_not_the_process(
    hostile: Callable[[Send], Hostile],
) -> None:
    call = {"type": "function", "function": {"name": "list_accounts", "arguments": "{}"}}
    said = {"choices": [{"message": {"content": None, "tool_calls": [call] * 100_000}}]}
    server = hostile(whole(json.dumps(said).encode()))

    async def roll() -> Rollout:
        endpoint = Endpoint(EndpointConfig(server.url, "m", retries=0))
        try:
            return await play(pay_example(), endpoint, name="endpoint")
        finally:
            await endpoint.aclose()

    rollout = asyncio.run(roll())
    assert rollout.ended == "calls"
    assert len(line(rollout)) < MEGABYTE


def test_the_command_line_has_options_for_it(
    hostile: Callable[[Send], Hostile], tmp_path: Any
) -> None:
    write(tmp_path / "examples.jsonl", [pay_example()])
    given = ("--data", tmp_path / "examples.jsonl", "--out", tmp_path / "out.jsonl")
    options = ("--retries", "0", "--max-answer", "1", "--deadline", "30")
    done = run("rollout", *given, "--policy", hostile(endless).url, *options)
    assert done.returncode == 2
    assert "the answer has more than 1,048,576 bytes" in done.stderr
    slow = run("rollout", *given, "--policy", hostile(drip).url, "--deadline", "1")
    assert "gave no whole answer within 1 s" in slow.stderr
    script = run("rollout", *given, "--policy", "oracle", "--max-answer", "1", "--deadline", "3")
    assert "deadline, max-answer: an option for endpoints" in script.stderr


def commands_that_ask(url: str, folder: Path) -> dict[str, tuple[object, ...]]:
    """Commands with a model at an endpoint, each with a place of its own to write to."""
    task = {"origin_prompt": [{"role": "user", "content": "Hi."}], "ground_truth": {"answer": "B"}}
    (folder / "review_str.json").write_text(json.dumps({"1": {**task, "template": ""}}))
    write(folder / "examples.jsonl", [pay_example()])
    heldout = ("eval", "heldout", "--data", folder / "examples.jsonl", "--model", url)
    teval = ("eval", "teval", "--data", folder, "--endpoint", url, "--model", "m")
    small = ("--servers", "maps", "--workers", 1, "--size", 1)
    return {
        "heldout": (*heldout, "--out", folder / "heldout"),
        "teval": (*teval, "--out", folder / "teval"),
        "synth": ("synth", *small, "--teacher", url, "--out", folder / "synth"),
        "write": ("worlds", "write", "--teacher", url, "--about", "x", "--out", folder / "worlds"),
    }


@pytest.mark.parametrize("name", ["heldout", "teval", "synth", "write"])
def test_every_command_that_asks_has_the_same_limits(
    hostile: Callable[[Send], Hostile], tmp_path: Path, name: str
) -> None:
    slow = commands_that_ask(hostile(drip).url, tmp_path)[name]
    done = run(*slow, "--deadline", "1")
    assert done.returncode == 2
    assert "gave no whole answer within 1 s" in done.stdout + done.stderr
    large = commands_that_ask(hostile(bomb).url, tmp_path)[name]
    done = run(*large, "--max-answer", "1", "--deadline", "60")
    assert done.returncode == 2
    assert "the answer has more than 1,048,576 bytes" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "heldout", "--model", "oracle"),
        ("eval", "bfcl", "--endpoint", "oracle", "--out", "unused"),
        ("eval", "bfcl", "--local", "embedded", "--out", "unused"),
        ("synth", "--size", 1, "--out", "unused"),
    ],
    ids=lambda command: " ".join(map(str, command[:4])),
)
def test_where_no_endpoint_is_asked_the_limits_are_refused(command: tuple[object, ...]) -> None:
    done = run(*command, "--deadline", "3", "--max-answer", "1")
    assert done.returncode == 2
    assert "--deadline" in done.stderr
    assert "--max-answer" in done.stderr
    assert "limits for" in done.stderr or "no effect" in done.stderr
