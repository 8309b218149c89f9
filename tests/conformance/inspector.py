"""Drive a real server with the MCP Inspector: list, a call that works, a call that fails."""

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolchain import INSPECTOR, node

from provegym import servers
from provegym.kernel import Session

SERVER = "banking"
WORKS = ("list_accounts", {"kind": "savings"})
FAILS = ("get_account", {"account_id": "acc_0"})
ERAS = ("legacy", "modern")
TOOL_FAILED = 5


def inspect(url: str) -> Iterator[tuple[str, str | None]]:
    """Each case by name, with what went wrong, in both eras, over HTTP and over stdio."""
    program = Path(sysconfig.get_path("scripts")) / "provegym"
    targets = {
        "HTTP": ([url, "--transport", "http"], Session([servers.load(SERVER)], 0)),
        "stdio": ([str(program), "serve", SERVER], Session([servers.load(SERVER)], 0)),
    }
    for transport, (target, session) in targets.items():
        for era in ERAS:
            line = [*target, "--protocol-era", era]
            yield f"{transport}, {era}: tools/list", _list(line, session)
            yield f"{transport}, {era}: a call that works", _call(line, session, *WORKS)
            yield f"{transport}, {era}: a call that fails", _call(line, session, *FAILS)


def _list(line: list[str], session: Session) -> str | None:
    """The tools are all there, and none has a schema the Inspector calls an error."""
    code, answer = _ask(line, "tools/list", "--strict")
    names = [tool["name"] for tool in answer.get("tools", [])]
    if code or names != list(session.tools):
        return f"exit {code}, tools {names}"
    return None


def _call(line: list[str], session: Session, tool: str, arguments: dict[str, Any]) -> str | None:
    """The client is told just what the same call says in this process."""
    outcome = session.call(tool, arguments)
    given = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
    code, answer = _ask(line, "tools/call", *given)
    wanted = {
        "content": [{"type": "text", "text": outcome.text}],
        "isError": not outcome.ok,
        "structuredContent": json.loads(outcome.text) if outcome.ok else None,
    }
    got = {name: answer.get(name) for name in wanted}
    if code != (0 if outcome.ok else TOOL_FAILED) or got != wanted:
        return f"exit {code}, got {got}, wanted {wanted}"
    return None


def _ask(line: list[str], method: str, *options: str) -> tuple[int, dict[str, Any]]:
    """One request by the Inspector: its exit code and the result it printed."""
    launcher = INSPECTOR / "clients/launcher/build/index.js"
    asked = ["--method", method, *options, "--format", "json", "--quiet"]
    result = node(launcher, "--cli", *line, *asked)
    printed = json.loads(result.stdout) if result.stdout.strip() else {}
    return result.returncode, printed.get("result", {"stderr": result.stderr})
