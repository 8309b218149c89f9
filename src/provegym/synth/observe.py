"""What can be learnt of a server from outside: its schemas, calls and forks, and nothing else.

Every tool is tried with values that other calls returned. What worked, what a rule refused, and
which output yields which value is kept; the dependency graph is proven from it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from provegym.fuzz import Fuzzer
from provegym.fuzz.pool import Pool, Row, flat, singular
from provegym.kernel import AnyServer, Outcome, Session, Tool

READ_TRIES = 24
WRITE_TRIES = 160
KEPT = 6
ROUNDS = 4
VERBS = re.compile(r"^(?:list|search|get|find|show|track|read|check|view|lookup|compare)_")

Json = dict[str, Any]
Scalar = str | int | float


class Source(NamedTuple):
    """Where a value comes from: a tool and a place in its result, lists folded into `*`."""

    tool: str
    pointer: str


class Tried(NamedTuple):
    """A call that was made on a fresh world, what it came to, and the world after it."""

    tool: str
    arguments: Json
    outcome: Outcome
    after: Session


class Observer:
    """Explores one world of a server through its tools."""

    def __init__(self, server: AnyServer, seed: int = 0) -> None:
        self.server = server
        self.base = Session([server], seed)
        self.values: dict[Source, dict[Scalar, None]] = defaultdict(dict)
        self.worked: dict[str, list[Tried]] = defaultdict(list)
        self.refused: dict[str, list[Tried]] = defaultdict(list)
        self.rows: dict[tuple[str, str], Row] = {}
        self.fuzzer = Fuzzer(server, f"observe {seed}")

    def explore(self) -> "Observer":
        """Try reads until they yield nothing new, then writes, each on a fork.

        What never works on the fresh world is tried again on worlds that other writes leave.
        """
        reads = [tool for tool in self.server.tools.values() if not tool.writes]
        for _ in range(ROUNDS):
            self._arrange()
            for tool in reads:
                self._try(tool, READ_TRIES)
        self._arrange()
        writes = [tool for tool in self.server.tools.values() if tool.writes]
        for tool in writes:
            self._try(tool, WRITE_TRIES)
        worlds = [made.after for tool in writes for made in self.worked[tool.name][:2]]
        for tool in self.server.tools.values():
            if worlds and not self.worked[tool.name]:
                self._try(tool, WRITE_TRIES, worlds)
        return self

    def _arrange(self) -> None:
        self.fuzzer.pool = Pool(self.base.now, ((row, False) for row in self.rows.values()))

    def _try(self, tool: Tool, tries: int, worlds: Sequence[Session] = ()) -> None:
        known = bool(self.fuzzer.pool.rows)
        if not known and tool.input_schema["required"]:
            return
        for number in range(tries if known else 1):
            bare = number == 0 and not tool.input_schema["required"]
            arguments = {} if bare else self.fuzzer.arguments(tool)
            world = worlds[number % len(worlds)] if worlds else self.base
            session = world.fork()
            outcome = session.call(tool.name, arguments)
            self.fuzzer.learn(tool, arguments, outcome)
            tried = Tried(tool.name, arguments, outcome, session)
            if outcome.ok:
                self._keep(self.worked[tool.name], tried)
                self._take_in(tool.name, outcome.value, fresh=tool.writes)
            elif outcome.error in ("rejected", "denied", "not_found"):
                self._keep(self.refused[tool.name], tried, 5 * KEPT)

    def _keep(self, kept: list[Tried], tried: Tried, most: int = KEPT) -> None:
        if len(kept) < most and all(tried.arguments != other.arguments for other in kept):
            kept.append(tried)

    def _take_in(self, tool: str, result: Any, *, fresh: bool) -> None:
        """Note every value a result holds; only what reads show is there on a fresh world."""
        for pointer, leaf in spots(result):
            if not isinstance(leaf, bool):
                self.values[Source(tool, pointer)][leaf] = None
        if fresh:
            return
        for noun, record in records(result, singular(VERBS.sub("", tool))):
            key = key_of(record)
            if key is not None:
                self.rows.setdefault((noun, key), Row(noun, key, flat(record)))

    @property
    def now(self) -> datetime:
        """What the clock says."""
        return self.base.now

    def sources(self, value: Scalar) -> list[Source]:
        """Every place of a read's result that was seen to hold a value."""
        writes = {name for name, tool in self.server.tools.items() if tool.writes}
        return [s for s, seen in self.values.items() if value in seen and s.tool not in writes]


def spots(value: Any, pointer: str = "") -> Iterator[tuple[str, Scalar | bool]]:
    """Every scalar of a result with its place; the elements of a list share one."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from spots(part, f"{pointer}/{name}")
    elif isinstance(value, list):
        for part in value:
            yield from spots(part, f"{pointer}/*")
    elif value is not None:
        yield pointer, value


def records(value: Any, noun: str) -> Iterator[tuple[str, Json]]:
    """Every record in a result, with the noun that its place suggests."""
    if isinstance(value, list):
        for part in value:
            yield from records(part, noun)
    elif isinstance(value, dict):
        if "items" not in value:
            yield noun, value
        for name, part in value.items():
            if isinstance(part, dict | list):
                yield from records(part, noun if name == "items" else singular(name))


def key_of(record: Json) -> str | None:
    """What a record goes by: its id, else its first plain string."""
    if isinstance(record.get("id"), str):
        return str(record["id"])
    return next((v for v in record.values() if isinstance(v, str) and v and " " not in v), None)
