"""Load tests of the HTTP host: slow clients, many sessions on fresh seeds, and a soak.

    python docs/reliability_serving.py slow
    python docs/reliability_serving.py sessions --count 10000
    python docs/reliability_serving.py soak --minutes 30

Each measures on this machine, over loopback, and keeps its figures in reliability_serving.json.
`python docs/reliability_serving.py` then writes the table of docs/reliability.md from them.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from statistics import quantiles
from time import monotonic, perf_counter
from typing import Any

from provegym import servers
from provegym.demo import load as load_demo
from provegym.demo import play
from provegym.kernel import Session

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "reliability_serving.json", HERE / "reliability.md"
BEGIN, END = "<!-- made by reliability_serving.py -->", "<!-- end -->"
OLDER, NEWER = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol"
SLOW, CLIENTS, OPENERS = 1_100, 64, 8
Found = dict[str, Any]


@contextmanager
def host(*options: str) -> Iterator[tuple[int, int]]:
    """A running host: its port and its process id."""
    command = [sys.executable, "-m", "provegym", "serve", "--http", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = next(m for line in process.stderr if (m := re.search(r"127\.0\.0\.1:(\d+)", line)))
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.communicate(timeout=60)


@contextmanager
def probed(port: int) -> Iterator[list[float]]:
    """Ask for /health from another process all the time; the list gets the milliseconds."""
    command = [sys.executable, __file__, "probe", "--port", str(port)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    times: list[float] = []
    try:
        yield times
    finally:
        times += json.loads(process.communicate("", timeout=60)[0])


def p99(times: list[float]) -> float:
    """The 99th percentile, rounded."""
    return round(quantiles(times, n=100)[98], 1)


def megabytes(pid: int) -> int:
    """The memory that a process holds (resident set)."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) // 1_000


# HTTP


class Client:
    """One connection that is kept; requests are sent one after the other."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def send(
        self, method: str, path: str, value: object = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """The status, headers and JSON of the answer."""
        body = b"" if value is None else json.dumps(value).encode()
        lines = {
            "host": f"127.0.0.1:{self.port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "content-length": str(len(body)),
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        head = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return await self._answer()

    async def _answer(self) -> tuple[int, dict[str, str], Any]:
        assert self.reader is not None
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        is_json = "json" in headers.get("content-type", "")
        return int(first.split()[1]), headers, json.loads(body) if is_json and body else None

    def close(self) -> None:
        """End the connection."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None


async def probe(port: int) -> list[float]:
    """Milliseconds of /health, one after the other, until stdin ends."""
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    client, times = Client(port), []
    while not ended.done():
        begin = perf_counter()
        status, _, _ = await client.send("GET", "/health")
        assert status == 200
        times.append((perf_counter() - begin) * 1e3)
        await asyncio.sleep(0.005)
    return times


# Slow clients


async def half_sent(port: int, sent: bytes, seconds: float) -> Found:
    """Open many connections that send half a request, and see how others are served."""
    writers, ends = [], []
    for _ in range(SLOW):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writers.append(writer)
        ends.append(asyncio.create_task(_read_to_end(reader)))
    others = Counter[int]()
    begin = monotonic()
    while monotonic() < begin + seconds:
        client = Client(port)
        status, _, opened = await client.send("POST", "/sessions", {"servers": ["banking"]})
        others[status] += 1
        await client.send("DELETE", f"/sessions/{opened['session']}")
        client.close()
        await asyncio.sleep(0.1)
    left = sum(not end.done() for end in ends)
    for writer in writers:
        writer.close()
    await asyncio.gather(*ends)
    return {"others": {str(key): count for key, count in others.items()}, "left": left}


async def _read_to_end(reader: asyncio.StreamReader) -> None:
    """Read until the host ends the connection."""
    with suppress(ConnectionError):
        await reader.read()


def measure_slow() -> Found:
    """1,100 connections with half a head, with half a body, and more than may be open."""
    head = b"POST /sessions HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-length: 9\r\n"
    found: Found = {"connections": SLOW}
    kinds = (("head", b"", "--max-connections=2000"), ("body", b"\r\n{", "--max-connections=2000"))
    for name, rest, option in (*kinds, ("capped", b"", "--max-connections=500")):
        with host("banking", "--request-timeout", "10", option) as (port, _):
            with probed(port) as times:
                outcome = asyncio.run(half_sent(port, head % port + rest, 15))
            found[name] = {**outcome, "health_p99_ms": p99(times)}
            print(name, found[name], file=sys.stderr)
    return found


# Many sessions


async def open_many(port: int, count: int) -> Counter[int]:
    """Sessions on fresh seeds; each has one server, and all servers come in turn."""
    names, numbers, statuses = servers.names(), iter(range(count)), Counter[int]()

    async def open_some() -> None:
        client = Client(port)
        for number in numbers:
            wanted = {"servers": [names[number % len(names)]], "seed": 10_000 + number}
            status, _, _ = await client.send("POST", "/sessions", wanted)
            statuses[status] += 1
        client.close()

    await asyncio.gather(*(open_some() for _ in range(OPENERS)))
    return statuses


async def open_until_full(port: int) -> int:
    """How many sessions on all servers and fresh seeds are opened until the host refuses."""
    client = Client(port)
    for number in range(10_000):
        status, _, _ = await client.send("POST", "/sessions", {"seed": 50_000 + number})
        if status == 503:
            return number
    return 10_000


def measure_sessions(count: int) -> Found:
    """Memory, and how long /health takes meanwhile."""
    with host() as (port, pid):
        before = megabytes(pid)
        with probed(port) as idle:
            asyncio.run(asyncio.sleep(10))
        begin = monotonic()
        with probed(port) as times:
            statuses = asyncio.run(open_many(port, count))
        found: Found = {
            "count": count,
            "statuses": {str(key): number for key, number in statuses.items()},
            "seconds": round(monotonic() - begin),
            "memory": [before, megabytes(pid)],
            "health_p99_ms": [p99(idle), p99(times)],
            "health_max_ms": [round(max(idle), 1), round(max(times), 1)],
        }
    limit = 256
    with host("--max-memory", str(limit)) as (port, pid):
        before = megabytes(pid)
        found["limit"] = limit
        found["until_full"] = asyncio.run(open_until_full(port))
        found["grown"] = megabytes(pid) - before
    return found


# Soak


def recorded(name: str) -> tuple[list[tuple[str, Found]], list[str], str]:
    """The calls of a server's demo on seed 7, their answers in process, and the digest after."""
    session = Session([servers.load(name)], 7)
    told = play(load_demo(name), Session([servers.load(name)], 7))
    first = next((at for at, (_, _, outcome) in enumerate(told) if outcome is None), len(told))
    calls = [(step.tool, dict(arguments)) for step, arguments, _ in told[:first]]
    answers = [session.call(tool, arguments).text for tool, arguments in calls]
    return calls, answers, session.digest()


class Soak:
    """Clients that replay demos, in both eras of the protocol, and compare every answer."""

    def __init__(self, port: int, until: float) -> None:
        self.port, self.until = port, until
        self.stories = {name: recorded(name) for name in servers.names()}
        self.counts = Counter[str]()
        self.told: list[str] = []

    async def run(self, number: int) -> None:
        """One client, until the time is over."""
        chance, client = Random(number), Client(self.port)
        while monotonic() < self.until:
            try:
                await self.story(client, chance, older=number % 2 == 0)
                self.counts["sessions"] += 1
            except (AssertionError, OSError, asyncio.IncompleteReadError) as problem:
                self.counts["errors"] += 1
                self.told.append(repr(problem)[:200])
                client.close()
        client.close()

    async def story(self, client: Client, chance: Random, *, older: bool) -> None:
        """Open a session, replay a demo or look at a fresh world, compare, close."""
        name = chance.choice(list(self.stories))
        calls, answers, digest = self.stories[name]
        seed = 7
        if chance.random() < 0.05:
            seed, calls = chance.randrange(2**31), []
            digest = Session([servers.load(name)], seed).digest()
        status, _, opened = await client.send(
            "POST", "/sessions", {"servers": [name], "seed": seed}
        )
        assert status == 201, opened
        path, key = opened["mcp"][name], opened["session"]
        headers = await self.hello(client, path) if older else {"mcp_protocol_version": NEWER}
        for (tool, arguments), expected in zip(calls, answers, strict=False):
            text = await self.call(client, path, tool, arguments, headers)
            self.counts["calls"] += 1
            self.counts["mismatches"] += text != expected
        _, _, now = await client.send("GET", f"/sessions/{key}/digest")
        self.counts["mismatches"] += now["digest"] != digest
        if older:
            await client.send("DELETE", path, None, **headers)
        status, _, _ = await client.send("DELETE", f"/sessions/{key}")
        assert status == 200, status

    async def hello(self, client: Client, path: str) -> dict[str, str]:
        """Initialise as a client of 2025 does; the headers of what follows."""
        params = {"protocolVersion": OLDER, "capabilities": {}}
        params |= {"clientInfo": {"name": "soak", "version": "1"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        status, given, body = await client.send("POST", path, asked)
        assert status == 200, body
        headers = {"mcp_protocol_version": OLDER, "mcp_session_id": given["mcp-session-id"]}
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        status, _, body = await client.send("POST", path, note, **headers)
        assert status == 202, body
        return headers

    async def call(
        self, client: Client, path: str, tool: str, arguments: Found, headers: dict[str, str]
    ) -> str:
        """Call a tool; the text of its result."""
        params: Found = {"name": tool, "arguments": arguments}
        if headers["mcp_protocol_version"] == NEWER:
            params["_meta"] = {
                f"{META}/protocolVersion": NEWER,
                f"{META}/clientInfo": {"name": "soak", "version": "1"},
                f"{META}/clientCapabilities": {},
            }
            headers = {**headers, "mcp_method": "tools/call", "mcp_name": tool}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        status, _, body = await client.send("POST", path, asked, **headers)
        assert status == 200, body
        return str(body["result"]["content"][0]["text"])


def measure_soak(minutes: float) -> Found:
    """64 clients for some minutes; memory after a tenth of the time and at the end."""
    with host() as (port, pid):
        soak = Soak(port, monotonic() + minutes * 60)
        memory = []

        async def clients() -> None:
            running = asyncio.gather(*(soak.run(number) for number in range(CLIENTS)))
            await asyncio.sleep(minutes * 6)
            memory.append(megabytes(pid))
            await running
            await asyncio.sleep(6)
            _, _, health = await Client(port).send("GET", "/health")
            soak.counts["left"] = health["sessions"]
            memory.append(megabytes(pid))

        asyncio.run(clients())
    for told, number in Counter(soak.told).most_common(5):
        print(number, told, file=sys.stderr)
    counts = {name: soak.counts[name] for name in ("sessions", "calls", "errors", "mismatches")}
    return {"minutes": minutes, **counts, "left": soak.counts["left"], "memory": memory}


# The page


def table(found: Found) -> str:
    """The table of docs/reliability.md."""
    rows = ["| load | what was measured | outcome |", "|---|---|---|"]
    slow, many, soak = found["slow"], found["sessions"], found["soak"]
    said = {
        "head": "half a head each",
        "body": "half a body each",
        "capped": "half a head each, where 500 connections may be open",
    }
    for name, words in said.items():
        one = slow[name]
        served, total = one["others"].get("201", 0), sum(one["others"].values())
        rows.append(
            f"| {slow['connections']:,} slow clients, {words} | others served · still open after"
            f" 15 s · p99 of `/health` | {served} of {total} · {one['left']} ·"
            f" {one['health_p99_ms']} ms |"
        )
    opened = many["statuses"].get("201", 0)
    idle, busy = many["health_p99_ms"]
    rows += [
        f"| {many['count']:,} sessions, each on a fresh seed of one server | opened · memory before"
        f" and after · p99 of `/health` idle and meanwhile | {opened:,} ·"
        f" {many['memory'][0]:,} and {many['memory'][1]:,} MB · {idle} and {busy} ms |",
        f"| sessions on fresh seeds of all servers, `--max-memory {many['limit']}` | opened before"
        f" the first 503 · memory added | {many['until_full']:,} · {many['grown']:,} MB |",
        f"| {CLIENTS} clients for {soak['minutes']:g} minutes, both eras | sessions · calls ·"
        f" errors · mismatches · memory at the start and end | {soak['sessions']:,} ·"
        f" {soak['calls']:,} · {soak['errors']} · {soak['mismatches']} ·"
        f" {soak['memory'][0]:,} and {soak['memory'][1]:,} MB |",
    ]
    return "\n".join(rows)


def write_page() -> None:
    """Put the table on the page."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    shown = table(json.loads(FIGURES.read_text("utf-8")))
    PAGE.write_text(f"{before}{BEGIN}\n{shown}\n{END}{after}", "utf-8")


def main() -> None:
    """Measure one part, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["slow", "sessions", "soak", "probe"])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--port", type=int, default=0)
    asked = parser.parse_args()
    if asked.part == "probe":
        print(json.dumps(asyncio.run(probe(asked.port))))
        return
    known = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    if asked.part == "slow":
        known["slow"] = measure_slow()
    elif asked.part == "sessions":
        known["sessions"] = measure_sessions(asked.count)
    elif asked.part == "soak":
        known["soak"] = measure_soak(asked.minutes)
    else:
        write_page()
        return
    print(json.dumps(known[asked.part], indent=2))
    FIGURES.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
