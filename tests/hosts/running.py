"""A real host in a process of its own, for the tests that speak HTTP."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

import httpx2


@dataclass
class Host:
    """A running `provegym serve --http` and what it printed."""

    process: "subprocess.Popen[str]"
    url: str
    lines: list[str] = field(default_factory=list)

    def open(self, **wanted: object) -> dict[str, object]:
        """Open a session and return what the control API says of it."""
        response = httpx2.post(f"{self.url}/sessions", json=wanted, timeout=60)
        assert response.status_code == 201, response.text
        opened: dict[str, object] = response.json()
        return opened

    def path(self, session: object, rest: str) -> str:
        """A control URL of a session."""
        return f"{self.url}/sessions/{session}/{rest}"

    def stop(self) -> str:
        """End it and return everything it wrote to stderr."""
        self.process.terminate()
        _, rest = self.process.communicate(timeout=300)
        return "".join(self.lines) + rest


def start(*options: str, **environment: str) -> Host:
    """Start a host on a free port and wait until it says where it listens."""
    command = [sys.executable, "-m", "provegym", "serve", "--http", "127.0.0.1:0", *options]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return Host(process, found[0], lines)
    process.communicate()
    raise AssertionError(f"the host did not start: {''.join(lines)}")
