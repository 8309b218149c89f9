"""Anybody's MCP server with the face of one of ours: the same sessions, forks and diffs, slower.

Its state is the log of the writes that succeeded since it started; a fork copies the log. All that
it says, schemas and descriptions included, is data: nothing of it is ever evaluated.
"""

import atexit
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from shlex import split
from typing import Any, Self, cast

import mcp_types as types
import msgspec

from provegym import servers
from provegym.hosts.foreign_pool import Log, ProcessPool, Write
from provegym.hosts.foreign_process import FRESH, NoStart, Options, is_url
from provegym.hosts.foreign_schema import check, tidy
from provegym.hosts.inline import HostError
from provegym.hosts.mcp import SENSITIVE_META
from provegym.kernel import BadArguments, Change, Seed, Server, State, Tool
from provegym.kernel.errors import quote
from provegym.kernel.schema import MAX_ARGUMENT_BYTES, Arguments, Json
from provegym.kernel.state import Written

__all__ = ["ForeignServer", "ForeignState", "HostError", "NoStart", "Options", "connect"]

WARNING = (
    "what this server returns is kept in graphs and examples made from it: "
    "look for real or private data in them before you share them"
)

HOW_TO_USE = (
    "name those that only read with --reads, or add --allow-writes and a way to start anew: "
    f'--reset "COMMAND" or {FRESH} in the command'
)


class ForeignState(State):
    """A state of somebody's server: the writes that lead to it from the start."""

    def __init__(self, pool: ProcessPool, seed: Seed, origin: str) -> None:
        super().__init__(seed)
        self.pool = pool
        self.origin = origin
        self.log: Log = ()

    def run(self, tool: str, arguments: str, *, writes: bool) -> str:
        """Call a tool in this state; a write that succeeds leads to the next one."""
        call = Write(tool, arguments)
        result = self.pool.call(self.log, call, writes=writes).give()
        if writes:
            self.log = (*self.log, Write(tool, arguments, result))
            self.undo.append(Written(tool, arguments, None, 0, None, {}))
        return result

    def pass_time(self, minutes: int) -> None:
        """Move the clock that examples tell; the server's own is out of reach."""
        self.now += timedelta(minutes=minutes)
        self.undo.clear()

    def fork(self) -> Self:
        """The same state, to go its own way."""
        twin = type(self).__new__(type(self))
        twin.__dict__ = {**self.__dict__, "undo": []}
        return twin

    def freeze(self) -> Self:
        """A state is its log, and starts with none."""
        return self

    def rollback(self) -> None:
        """Forget the writes since the undo log was cleared."""
        self.log = self.log[: len(self.log) - len(self.undo)]
        self.undo.clear()

    def diff(self, server: str) -> list[Change]:
        """The writes made, in whatever order, each with how often it was made."""
        return self._made(server, self.log)

    def changes(self, server: str) -> list[Change]:
        """The writes since the undo log was cleared."""
        return self._made(server, self.log[len(self.log) - len(self.undo) :])

    def _made(self, server: str, log: Log) -> list[Change]:
        return [
            Change(server, write.tool, write.arguments, {}, {"times": self.log.count(write)})
            for write in sorted(set(log), key=lambda write: (write.tool, write.arguments))
        ]

    def digest(self) -> str:
        """A fingerprint: equal after the same writes in the same order."""
        made = [(write.tool, write.arguments) for write in self.log]
        return blake2b(
            msgspec.json.encode((self.origin, self.now, made)), digest_size=16
        ).hexdigest()

    def size(self) -> int:
        """How many writes lead to it."""
        return len(self.log)


class ForeignArguments(Arguments):
    """Arguments as somebody else's schema has them."""

    def __init__(self, schema: Json, sensitive: frozenset[str]) -> None:
        self.schema = schema
        self.names = list(schema["properties"])
        self.sensitive = sensitive

    def bind(self, arguments: Mapping[str, Any] | str | bytes) -> list[Any]:
        """The arguments as canonical JSON, once they fit the schema."""
        raw = arguments if isinstance(arguments, str | bytes) else msgspec.json.encode(arguments)
        if len(raw) > MAX_ARGUMENT_BYTES:
            raise BadArguments(f"the arguments are longer than {MAX_ARGUMENT_BYTES} bytes")
        try:
            given = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
            raise BadArguments(f"the arguments are not JSON: {quote(str(problem))}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"the arguments must be a JSON object, not {quote(given)}")
        check(self.schema, given)
        return [msgspec.json.encode(given, order="deterministic").decode()]


class ForeignServer(Server[ForeignState]):
    """Somebody's server; close it when done, or use it in a `with` statement."""

    foreign = True

    def __init__(self, target: str, options: Options) -> None:
        self.pool = ProcessPool(target, options)
        atexit.register(self.close)
        try:
            info, listed = self.pool.describe()
        except HostError:
            self.close()
            raise
        listed = [tool for tool in listed if tool.name.isprintable()]
        self.reads = frozenset(options.reads)
        usable = [tool for tool in listed if options.allow_writes or not self._may_write(tool)]
        name = server_name(info.name if info else target)
        super().__init__(name, ForeignState, category="foreign", about=f"A foreign server: {name}.")
        self.tools = {tool.name: self._tool(tool) for tool in usable}
        self.left_out = [tool.name for tool in listed if tool.name not in self.tools]
        self.version = int.from_bytes(self._fingerprint(options.fresh_from), "big")
        if not self.tools:
            self.close()
            raise HostError(_nothing_usable(target, self.left_out))

    def _world(self, number: int) -> ForeignState:
        """Every seed is the same world, at another time of its calendar."""
        return ForeignState(self.pool, Seed(number, self.name), f"{self.name} {self.version}")

    def _tool(self, tool: types.Tool) -> Tool:
        writes, hints = self._may_write(tool), tool.annotations
        sensitive = frozenset((tool.meta or {}).get(SENSITIVE_META, ()))
        return Tool(
            name=tool.name,
            server=self.name,
            function=_caller(tool.name, writes=writes),
            description=tool.description or tool.title or tool.name,
            arguments=ForeignArguments(tidy(tool.input_schema), sensitive),
            output_schema=tool.output_schema or {"type": "object"},
            paged=False,
            writes=writes,
            destructive=writes and not (hints and hints.destructive_hint is False),
            idempotent=not writes or bool(hints and hints.idempotent_hint),
        )

    def _may_write(self, tool: types.Tool) -> bool:
        """Whether a tool may change something: unless it, or the user, says that it does not."""
        says_read = tool.annotations and tool.annotations.read_only_hint
        return not says_read and tool.name not in self.reads

    def _fingerprint(self, folder: Path | None) -> bytes:
        """What the world is made of: schemas, and the files that every copy starts with."""
        total = blake2b(digest_size=6)
        for tool in self.tools.values():
            total.update(msgspec.json.encode((tool.name, tool.description, tool.input_schema)))
        for file in sorted(folder.rglob("*")) if folder else ():
            if file.is_file():
                total.update(str(file.relative_to(folder or "")).encode() + file.read_bytes())
        return total.digest()

    def notes(self) -> Iterator[str]:
        """What a user should know of how it went."""
        if self.left_out:
            yield (f"read-only: left out {', '.join(self.left_out)}; {HOW_TO_USE}")
        for sentences in self.pool.lost.values():
            yield sentences[-1]
        if self.pool.unstable:
            yield (
                f"{', '.join(sorted(self.pool.unstable))}: replayed, the answer differs; "
                "what depends on it cannot be reproduced"
            )

    def close(self) -> None:
        """End its processes; closing twice is fine."""
        atexit.unregister(self.close)
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(target: str, options: Options | None = None) -> ForeignServer:
    """Somebody's MCP server: a command, split into words and run without a shell, or a URL."""
    options = options or Options()
    if not is_url(target):
        try:
            words = split(target)
        except ValueError as problem:
            raise HostError(f"the command cannot be read: {problem}") from None
        if not words:
            raise HostError("the command is empty; give a program and its arguments, or a URL")
    if options.fresh_from and not options.fresh_from.is_dir():
        raise HostError(f"{options.fresh_from} is no folder to start from")
    used = f"{target} {options.reset}"
    if options.fresh_from and FRESH not in used:
        raise HostError(f"a folder to start from is of no use without {FRESH} in the command")
    if options.allow_writes and not options.reset and (is_url(target) or FRESH not in target):
        raise HostError(
            "writes need a way to start anew: a reset command that is run before each start, "
            f"or {FRESH} in the server's command, a new folder at each start"
        )
    return ForeignServer(target, options)


def server_name(said: str) -> str:
    """A name of letters, digits and underscores that none of our servers has."""
    name = re.sub(r"[^a-z0-9]+", "_", said.casefold()).strip("_")[:40] or "foreign"
    return f"{name}_mcp" if name in servers.names() else name


def _caller(name: str, *, writes: bool) -> Callable[..., msgspec.Struct]:
    def call(state: ForeignState, arguments: str) -> msgspec.Struct:
        text = state.run(name, arguments, writes=writes)
        # It is JSON already; the kernel does nothing with a result but encode it.
        return cast("msgspec.Struct", msgspec.Raw(text.encode()))

    return call


def _nothing_usable(target: str, left_out: list[str]) -> str:
    if not left_out:
        return f"{target} has no tools"
    return (
        f"{target} marks none of its {len(left_out)} tools as read-only "
        f"({', '.join(left_out)}); {HOW_TO_USE}"
    )
