"""Calls for any tool, drawn from its schema and a live world: for contracts, benches and checks."""

from typing import Any

from provegym.fuzz.fuzzer import Fuzzer
from provegym.kernel import AnyServer, Session

TRIES = 1_000

__all__ = ["Fuzzer", "find_calls"]


def find_calls(server: AnyServer, session: Session) -> list[tuple[str, dict[str, Any]]]:
    """For each tool arguments that succeed on this session's world, where some are found."""
    fuzzer = Fuzzer(server, "find")
    fuzzer.look(session.state(server))
    found = []
    for tool in server.tools.values():
        for _ in range(TRIES):
            arguments = fuzzer.arguments(tool)
            outcome = session.fork().call(tool.name, arguments)
            fuzzer.learn(tool, arguments, outcome)
            if outcome.ok:
                found.append((tool.name, arguments))
                break
    return found
