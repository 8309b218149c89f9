"""Benchmark of the server behind `provegym view`, on 100,000 rollouts: latency, search, memory.

Filters, sorting and counts are not measured here: the page computes them in the browser.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any
from urllib.parse import urlencode

import msgspec

from provegym.bench.pipeline import four_calls
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import line

ROLLOUTS = 100_000
POLICIES = ("oracle", "noop", "shuffler", "guesser", "eager")
PATIENCE = 180.0
SHOWN = 100
# Searches in upper case, as the page sends them: rare, common and absent words.
SEARCHES = ("WHAT IS LEFT", "BENCH-0777", "NOWHERE TO BE FOUND", "PAY_PAYEE", "HARBOUR PAY")


def measure_view(count: int = ROLLOUTS) -> dict[str, float | int]:
    """Times and memory of `provegym view` on `count` rollouts, with the page's requests."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        write_rollouts(path, count)
        begun = perf_counter()
        with viewed(path) as (process, connection):
            shown = perf_counter()
            first = ask(connection, "columns")["columns"]["at"][:SHOWN]
            texts = ask(connection, "texts", row=first)
            figures = {
                "view_start_s": shown - begun,
                "view_first_rows_ms": (perf_counter() - shown) * 1e3,
                "view_first_rows": len(texts),
            }
            figures["view_rollouts"] = _await(connection)
            figures["view_index_s"] = perf_counter() - shown
            figures["view_columns_ms"] = _load(connection)
            times = [_search(connection, words) for words in SEARCHES]
            figures["view_search_ms_p50"], figures["view_search_ms_max"] = median(times), max(times)
            figures["view_memory_mb"] = _memory(process.pid)
    return figures


def write_rollouts(path: Path, count: int) -> None:
    """Write rollouts of a few policies on one example, each with an id of its own."""
    example = four_calls()
    played = [play_script(example, SCRIPTS[name]) for name in POLICIES]
    named = [
        msgspec.structs.replace(rollout, policy=name)
        for rollout, name in zip(played, POLICIES, strict=True)
    ]
    lines = [line(rollout).partition(b'"id":"bench"') for rollout in named]
    with path.open("wb") as out:
        for number in range(count):
            before, _, after = lines[number % len(lines)]
            out.write(b'%b"id":"bench-%06d"%b' % (before, number, after))


@contextmanager
def viewed(path: Path) -> Iterator[tuple["subprocess.Popen[str]", HTTPConnection]]:
    """Start `provegym view` on a path, and connect to it."""
    command = [sys.executable, "-m", "provegym", "view", "--no-open", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.match(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert found, "the page did not start"
        with closing(HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)) as connection:
            yield process, connection
    finally:
        process.terminate()
        process.communicate(timeout=30)


def ask(connection: HTTPConnection, what: str, **query: object) -> Any:
    """The server's JSON answer to a request about the first source."""
    connection.request("GET", f"/api/{what}?{urlencode({'source': 0, **query}, doseq=True)}")
    return msgspec.json.decode(connection.getresponse().read())


def _load(connection: HTTPConnection) -> float:
    """Milliseconds to load the columns of all rows."""
    begun = perf_counter()
    batch = ask(connection, "columns")
    have = len(batch["columns"]["at"])
    while have < batch["total"]:
        batch = ask(connection, "columns", generation=batch["generation"], after=have)
        have += len(batch["columns"]["at"])
    return (perf_counter() - begun) * 1e3


def _search(connection: HTTPConnection, words: str) -> float:
    begun = perf_counter()
    ask(connection, "search", word=words.split())
    return (perf_counter() - begun) * 1e3


def _await(connection: HTTPConnection) -> int:
    """Wait until the whole file is read; return its number of rows."""
    until = perf_counter() + PATIENCE
    while perf_counter() < until:
        source = ask(connection, "sources")["sources"][0]
        if source["done"]:
            return int(source["count"])
        sleep(0.1)
    raise TimeoutError(f"provegym view did not read the whole file within {PATIENCE:.0f} s")


def _memory(process: int) -> float:
    """The peak memory of a process in megabytes, on Linux; elsewhere NaN."""
    status = Path(f"/proc/{process}/status")
    text = status.read_text("utf-8") if status.exists() else ""
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else float("nan")
