"""Benchmark of worlds: latency of calls and forks, memory of sessions, and the transports of MCP.

Times are medians. Compare the ratios, not the times: both sides are measured in the same run.
"""

import asyncio
import copy
import gc
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import msgspec
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from rich.console import Console

from provegym import servers
from provegym.bench.http import calls_per_second, peer_command, serve_command
from provegym.bench.page import measure_view
from provegym.bench.pipeline import measure_reward, measure_synthesis
from provegym.bench.specs import measure_specs
from provegym.fuzz import find_calls
from provegym.hosts.mcp import own_sessions, sdk_server
from provegym.kernel import AnyServer, Record, Seed, Session, State, Table, money, table

Figures = dict[str, float | int]
SESSIONS = 10_000
WORLDS = 12
READ = "get_transaction"


class Item(Record, frozen=True):
    """A record of the large world."""

    id: str
    name: str
    price: Decimal


class Warehouse(State):
    """A world with 10,000 records, far more than the servers have."""

    items: Table[Item] = table(Item, "itm", most=20_000)


def microseconds(function: Callable[[], object], rounds: int = 200, inner: int = 10) -> float:
    """The median time of a call, in microseconds."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        for _ in range(inner):
            function()
        times.append((perf_counter() - start) / inner)
    return median(times) * 1e6


def measure(progress: Console) -> Figures:
    """Every figure of the bench."""
    figures: Figures = {}
    parts: list[tuple[str, Callable[[], Figures]]] = [
        ("calls", measure_calls),
        ("forks", measure_forks),
        ("drawing worlds", measure_worlds),
        ("a world of 10,000 records", measure_large_world),
        ("worlds that are data", measure_specs),
        (f"{SESSIONS:,} sessions", measure_sessions),
        ("rewards and rollouts", measure_reward),
        ("synthesis", measure_synthesis),
        ("hosts", measure_hosts),
        ("HTTP", measure_http),
        ("the page", measure_view),
    ]
    for name, part in parts:
        progress.print(f"measuring {name} …")
        figures |= {key: round(value, 3) for key, value in part().items()}
    return figures


def measure_calls() -> Figures:
    """Latency of an in-process call of each tool, with validation and a JSON result."""
    times: dict[str, float] = {}
    for server in servers.load_all():
        for seed in range(WORLDS):
            world = Session([server], seed)
            left = [tool for tool in server.tools.values() if tool.name not in times]
            for tool, arguments in find_calls(left, world) if left else ():
                times[tool] = _call_time(world, tool, msgspec.json.encode(arguments))
    measured = list(times.values())
    return {
        "call_us_p50": median(measured),
        "call_us_p90": quantiles(measured, n=10)[-1],
        "tools_measured": len(measured),
    }


def _call_time(world: Session, tool: str, arguments: bytes) -> float:
    """Microseconds per call; each call gets its own fork, made before the clock starts."""
    times = []
    for _ in range(30):
        sessions = [world.fork() for _ in range(5)]
        start = perf_counter()
        for session in sessions:
            session.call(tool, arguments)
        times.append((perf_counter() - start) / 5)
    return median(times) * 1e6


def measure_forks() -> Figures:
    """Fork and reset of a world, compared with `copy.deepcopy` of the same records."""
    forks, resets, copies = [], [], []
    for server in servers.load_all():
        session = Session([server])
        state = session.state(server)
        plain = {name: _plain(getattr(state, name)) for name in state.tables}
        forks.append(microseconds(session.fork))
        resets.append(microseconds(lambda s=session, v=server: (s.reset(), s.state(v))))  # type: ignore[misc]
        copies.append(microseconds(lambda p=plain: copy.deepcopy(p), rounds=7, inner=1))  # type: ignore[misc]
    return {
        "fork_us_p50": median(forks),
        "reset_us_p50": median(resets),
        "deepcopy_over_fork": median(copies) / median(forks),
    }


def _plain(rows: Table[Any]) -> dict[str, Any]:
    return {key: msgspec.structs.asdict(rows[key]) for key in rows.keys()}  # noqa: SIM118


def measure_worlds() -> Figures:
    """Drawing a world from a seed for the first time; sessions on a known seed only fork it."""
    times = []
    for server in servers.load_all():
        start = perf_counter()
        for seed in range(1_000, 1_004):
            server.world(seed)
        times.append((perf_counter() - start) / 4 * 1e3)
    return {"draw_world_ms_p50": median(times), "draw_all_worlds_ms": sum(times)}


def measure_large_world() -> Figures:
    """Fork and first write in 10,000 records; diff after one write, to that in 100."""
    small, large = _warehouse(100), _warehouse(10_000)
    key = next(iter(large.items.keys()))

    def fork_and_write() -> State:
        twin = large.fork()
        twin.items.update(key, name="changed")
        return twin

    large_twin, small_twin = fork_and_write(), small.fork()
    small_twin.items.update(next(iter(small_twin.items.keys())), name="changed")
    return {
        "fork_write_10k_us": microseconds(fork_and_write, rounds=100, inner=2),
        "diff_10k_over_diff_100": microseconds(lambda: large_twin.diff(""))
        / microseconds(lambda: small_twin.diff("")),
    }


def _warehouse(count: int) -> Warehouse:
    world = Warehouse(Seed(0))
    for number in range(count):
        world.items.add(name=f"item {number}", price=money(number))
    return world.freeze()


def measure_sessions() -> Figures:
    """Memory of an idle session on all servers, and whether all sessions are isolated."""
    everything = servers.load_all()
    first = Session(everything)
    first.digest()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    live = [first.fork() for _ in range(SESSIONS)]
    size = (tracemalloc.get_traced_memory()[0] - before) / SESSIONS
    tracemalloc.stop()
    for number, session in enumerate(live):
        session.call("open_account", {"name": f"Pot {number}", "kind": "savings"})
    names = [session.diff()[0].after for session in live]
    apart = sum(
        len(session.diff()) == 1 and name is not None and name["name"] == f"Pot {number}"
        for number, (session, name) in enumerate(zip(live, names, strict=True))
    )
    return {"session_bytes": size, "sessions_live": len(live), "sessions_isolated": apart}


def measure_hosts() -> Figures:
    """Latency of one read: in process, through the SDK in memory, over stdio (paper)."""
    banking = servers.load("banking")
    session = Session([banking])
    arguments = {"transaction_id": fixed_transaction(banking)}
    inline = microseconds(lambda: session.call(READ, arguments))
    memory = Client(sdk_server("banking", [banking], own_sessions([banking], 0)))
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "provegym", "serve", "banking"]
    )
    in_memory = asyncio.run(_client_time(memory, arguments))
    stdio = asyncio.run(_client_time(Client(stdio_client(command)), arguments))
    return {
        "inline_us": inline,
        "sdk_memory_over_inline": in_memory / inline,
        "stdio_over_inline": stdio / inline,
    }


def fixed_transaction(banking: AnyServer) -> str:
    """The id of the record that every host is asked for."""
    found = Session([banking]).call("search_transactions", {"limit": 1}).value
    return str(found["items"][0]["id"])


async def _client_time(
    connection: AbstractAsyncContextManager[Client], arguments: dict[str, Any]
) -> float:
    times = []
    async with connection as client:
        await client.call_tool(READ, arguments)
        for _ in range(300):
            start = perf_counter()
            await client.call_tool(READ, arguments)
            times.append(perf_counter() - start)
    return median(times) * 1e6


def measure_http() -> Figures:
    """Calls per second over Streamable HTTP, compared with the SDK's `MCPServer`."""
    transaction = fixed_transaction(servers.load("banking"))
    ours, theirs = [], []
    for _ in range(3):
        ours.append(calls_per_second(serve_command(), READ, transaction))
        theirs.append(calls_per_second(peer_command(), READ, transaction))
    return {
        "http_calls_per_s": median(ours),
        "mcpserver_calls_per_s": median(theirs),
        "http_over_mcpserver": median(ours) / median(theirs),
    }
