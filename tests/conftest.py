"""What the whole suite shares: the table of fuzzed calls, printed after the run."""

import pytest

from servers.runs import TALLIES

KINDS = ("ok", "refused", "not_found", "invalid_argument")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show, per tool, how many fuzzed calls succeeded, were refused, missed or were invalid."""
    if not TALLIES:
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
