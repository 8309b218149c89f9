"""What the whole suite shares: a cache folder, who runs which file, the table of fuzzed calls."""

import os
import shutil
import signal
from collections import Counter
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import provegym.models.optional  # noqa: F401  before torch: how its threads wait is set there
from servers.runs import TALLIES

# No property fails because the machine is busy.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

KINDS = ("ok", "refused", "not_found", "invalid_argument")
ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".pytest_cache" / "xdg"
# The packages that decide what a dependency graph looks like.
PROVING = ("kernel", "servers", "fuzz", "hosts", "graph")


def pytest_configure(config: pytest.Config) -> None:
    """Give all tests one cache folder, which workers and child processes inherit.

    Graphs in it are kept for as long as the code that proves them is the same.
    """
    # A shell that starts the tests in the background lets all their processes ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        return
    user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "provegym"
    kept = CACHE / "provegym"
    kept.mkdir(parents=True, exist_ok=True)
    if (user / "envs").exists() and not (kept / "envs").exists():
        (kept / "envs").symlink_to(user / "envs")  # benchmarks that somebody has set up: 750 MB
    stamp, code = kept / "graphs.stamp", code_digest()
    if not stamp.exists() or stamp.read_text() != code:
        shutil.rmtree(kept / "graphs", ignore_errors=True)
        stamp.write_text(code)
    os.environ["XDG_CACHE_HOME"] = str(CACHE)


def code_digest() -> str:
    """A fingerprint of the code and data that dependency graphs are proven with."""
    digest = blake2b(digest_size=16)
    for package in PROVING:
        for path in sorted((ROOT / "src" / "provegym" / package).rglob("*.*")):
            if path.suffix in (".py", ".toml"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share files out to workers as `--dist loadfile` does, but keep some of them together."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid.partition("::")[0])

    return Together(config, log)


@cache
def scope(file: str) -> str:
    """Who runs a file: one worker for all that look at the same conversations, which it draws once.

    Any other file stands for itself.
    """
    code = (ROOT / file).read_text("utf-8")
    return "conversations" if "from conversation.talks import" in code else file


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what a worker of pytest-xdist has counted to the process that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tallies"] = {
            server: {tool: dict(tally) for tool, tally in tallies.items()}
            for server, tallies in TALLIES.items()
        }


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker has counted; one that crashed has left nothing."""
    for server, tallies in getattr(node, "workeroutput", {}).get("tallies", {}).items():
        TALLIES[server] = {tool: Counter(tally) for tool, tally in tallies.items()}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Show, per tool, how many fuzzed calls succeeded, were refused, missed or were invalid.

    Not after a failure, which would be lost above it.
    """
    if not TALLIES or exitstatus:
        return
    terminalreporter.section("fuzzed calls: ok/refused/not found/invalid")
    for server, tallies in sorted(TALLIES.items()):
        terminalreporter.write_line(f"{server}: {len(tallies)} tools")
        cells = [
            f"{tool[:28]} {'/'.join(str(tally[kind]) for kind in KINDS)}"
            for tool, tally in sorted(tallies.items())
        ]
        for at in range(0, len(cells), 2):
            terminalreporter.write_line(
                "  " + "".join(cell.ljust(50) for cell in cells[at : at + 2])
            )
