"""What the whole suite shares: the table of fuzzed calls, printed after the run."""

from collections import Counter
from typing import Any

import pytest

import provegym.models.optional  # noqa: F401  before torch: how its threads wait is set there
from servers.runs import TALLIES

KINDS = ("ok", "refused", "not_found", "invalid_argument")


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
