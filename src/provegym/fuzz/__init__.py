"""Schema-based fuzzing: random calls for any tool, with values of a live world."""

from collections.abc import Iterable
from typing import Any

from provegym.fuzz.fuzzer import Fuzzer
from provegym.kernel import Session, Tool

TRIES = 1_000

__all__ = ["Fuzzer", "find_calls"]


def find_calls(tools: Iterable[Tool], session: Session) -> list[tuple[str, dict[str, Any]]]:
    """Arguments that succeed on this world, for each tool for which the fuzzer finds some."""
    server = session.servers[0]
    fuzzer = Fuzzer(server, f"find {session.seed}")
    fuzzer.look(session.state(server))
    found = []
    for tool in tools:
        for _ in range(TRIES):
            arguments = fuzzer.arguments(tool)
            outcome = session.fork().call(tool.name, arguments)
            fuzzer.learn(tool, arguments, outcome)
            if outcome.ok:
                found.append((tool.name, arguments))
                break
    return found
