"""Foreign MCP servers: any MCP server behind our interface, with sessions, forks and diffs.

Its state is the log of the successful writes since it started; a fork copies this log. Everything
it sends, including schemas and descriptions, is treated as data and never evaluated.
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
from jsonschema_rs import Validator

from provegym import servers
from provegym.hosts.foreign_pool import Log, ProcessPool, Write
from provegym.hosts.foreign_process import ALIAS, FRESH, NoStart, Options, is_url
from provegym.hosts.foreign_schema import check, compiled, tidy
from provegym.hosts.inline import HostError
from provegym.hosts.mcp import SENSITIVE_META
from provegym.kernel import BadArguments, Change, Seed, Server, Session, State, Tool
from provegym.kernel.errors import quote, shorten
from provegym.kernel.schema import MAX_ARGUMENT_BYTES, Arguments, Json
from provegym.kernel.state import Written

__all__ = ["ForeignServer", "ForeignState", "HostError", "NoStart", "Options", "connect"]

WARNING = (
    "what this server returns is kept in graphs and examples made from it: "
    "look for real or private data in them before you share them"
)

# The most characters of a tool's name that endpoints take.
LONGEST = 128
# Files of a fresh folder whose names are tried as arguments.
MOST_FILES = 60

HOW_TO_USE = (
    "name those that only read with --reads, or add --allow-writes and a way to start anew: "
    f'--reset "COMMAND" or {FRESH} in the command'
)


class ForeignState(State):
    """The state of a foreign server: the log of its successful writes since the start."""

    def __init__(self, pool: ProcessPool, seed: Seed, origin: str) -> None:
        super().__init__(seed)
        self.pool = pool
        self.origin = origin
        self.log: Log = ()

    def run(self, tool: str, arguments: str, *, writes: bool) -> str:
        """Call a tool in this state; a successful write is added to the log."""
        call = Write(tool, arguments)
        result = self.pool.call(self.log, call, writes=writes).give()
        if writes:
            self.log = (*self.log, Write(tool, arguments, result))
            self.undo.append(Written(tool, arguments, None, 0, None, {}))
        return result

    def pass_time(self, minutes: int) -> None:
        """Move the clock of the session; the server's own clock does not move."""
        self.now += timedelta(minutes=minutes)
        self.undo.clear()

    def fork(self) -> Self:
        """An independent copy of the state."""
        twin = type(self).__new__(type(self))
        twin.__dict__ = {**self.__dict__, "undo": []}
        return twin

    def freeze(self) -> Self:
        """Nothing to do: the start is the empty log."""
        return self

    def rollback(self) -> None:
        """Drop the writes since the undo log was cleared."""
        self.log = self.log[: len(self.log) - len(self.undo)]
        self.undo.clear()

    def diff(self, server: str) -> list[Change]:
        """Each distinct write with the number of times it was made; the order does not count."""
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
        """A hash: equal after the same writes in the same order."""
        made = [(write.tool, write.arguments) for write in self.log]
        return blake2b(
            msgspec.json.encode((self.origin, self.now, made)), digest_size=16
        ).hexdigest()

    def size(self) -> int:
        """The number of writes in the log."""
        return len(self.log)


class ForeignArguments(Arguments):
    """The arguments of a foreign tool, validated against its published JSON schema."""

    def __init__(self, published: Json, sensitive: frozenset[str]) -> None:
        self.schema = tidy(published)
        self.names = list(self.schema["properties"])
        self.sensitive = sensitive
        self.validator: Validator | None = None
        self.problem = ""
        try:
            self.validator = compiled(published)
        except ValueError as problem:
            self.problem = quote(str(problem).partition("\n")[0])

    def bind(self, arguments: Mapping[str, Any] | str | bytes) -> list[Any]:
        """Validate the arguments and return them as canonical JSON."""
        raw = arguments if isinstance(arguments, str | bytes) else msgspec.json.encode(arguments)
        if len(raw) > MAX_ARGUMENT_BYTES:
            raise BadArguments(f"the arguments are longer than {MAX_ARGUMENT_BYTES} bytes")
        try:
            given = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
            raise BadArguments(f"the arguments are not JSON: {quote(str(problem))}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"the arguments must be a JSON object, not {quote(given)}")
        check(self.schema, self.validator, given)
        return [msgspec.json.encode(given, order="deterministic").decode()]


class ForeignServer(Server[ForeignState]):
    """A foreign MCP server; close it when done, or use it in a `with` statement."""

    foreign = True

    def __init__(self, target: str, options: Options) -> None:
        self.pool = ProcessPool(target, options)
        atexit.register(self.close)
        try:
            info, listed = self.pool.describe()
        except BaseException:
            self.close()
            raise
        listed = self._proper(listed)
        self.reads = frozenset(options.reads)
        usable = [tool for tool in listed if options.allow_writes or not self._may_write(tool)]
        name = server_name(info.name if info else target)
        super().__init__(name, ForeignState, category="foreign", about=f"A foreign server: {name}.")
        self.invalid_schemas: dict[str, str] = {}
        self.tools = {tool.name: self._tool(tool) for tool in usable}
        self.left_out = [tool.name for tool in listed if tool.name not in self.tools]
        self.version = int.from_bytes(self._fingerprint(options.fresh_from), "big")
        self.files = file_names(options.fresh_from) if FRESH in target else ()
        if not self.tools:
            self.close()
            raise HostError(_nothing_usable(target, self.left_out))

    def _proper(self, listed: list[types.Tool]) -> list[types.Tool]:
        """The tools with proper names, each once; `improper` says what was left out, and why."""
        first: dict[str, types.Tool] = {}
        twice = [tool.name for tool in listed if first.setdefault(tool.name, tool) is not tool]
        bad = [name for name in first if not (name and name.isprintable() and len(name) <= LONGEST)]
        self.improper = []
        if twice:
            told = shorten(", ".join(dict.fromkeys(twice)))
            self.improper.append(f"listed twice, only the first is used: {told}")
        if bad:
            told = shorten(", ".join(map(ascii, bad)))
            self.improper.append(f"left out, as no model can be shown such a name: {told}")
        return [tool for name, tool in first.items() if name not in bad]

    def _world(self, number: int) -> ForeignState:
        """The initial state; the seed changes only the clock."""
        return ForeignState(self.pool, Seed(number, self.name), f"{self.name} {self.version}")

    def _tool(self, tool: types.Tool) -> Tool:
        writes, hints = self._may_write(tool), tool.annotations
        sensitive = frozenset((tool.meta or {}).get(SENSITIVE_META, ()))
        arguments = ForeignArguments(tool.input_schema, sensitive)
        if arguments.problem:
            self.invalid_schemas[tool.name] = arguments.problem
        return Tool(
            name=tool.name,
            server=self.name,
            function=_caller(tool.name, writes=writes),
            description=tool.description or tool.title or tool.name,
            arguments=arguments,
            output_schema=tool.output_schema or {"type": "object"},
            paged=False,
            writes=writes,
            destructive=writes and not (hints and hints.destructive_hint is False),
            idempotent=not writes or bool(hints and hints.idempotent_hint),
        )

    def _may_write(self, tool: types.Tool) -> bool:
        """Whether a tool counts as a write: unless it is annotated as read-only or in `reads`."""
        says_read = tool.annotations and tool.annotations.read_only_hint
        return not says_read and tool.name not in self.reads

    def _fingerprint(self, folder: Path | None) -> bytes:
        """A hash of the tools' schemas and of the files that every copy starts with."""
        total = blake2b(digest_size=6)
        for tool in self.tools.values():
            total.update(msgspec.json.encode((tool.name, tool.description, tool.input_schema)))
        for file in sorted(folder.rglob("*")) if folder else ():
            if file.is_file():
                total.update(str(file.relative_to(folder or "")).encode() + file.read_bytes())
        return total.digest()

    def notes(self) -> Iterator[str]:
        """Notes for the user: tools left out, bad schemas, crashes, and results that differ."""
        if self.left_out:
            yield (f"read-only: left out {', '.join(self.left_out)}; {HOW_TO_USE}")
        if self.invalid_schemas:
            first = next(iter(self.invalid_schemas.values()))
            yield (
                f"{', '.join(self.invalid_schemas)}: the published schema is invalid ({first}), "
                "so only names and JSON types of arguments are checked"
            )
        yield from self.improper
        for sentences in self.pool.lost.values():
            yield sentences[-1]
        if again := [tool for tool in self.pool.retried if tool not in self.pool.lost]:
            yield f"{', '.join(again)}: the server crashed or hung, and answered a second time"
        if self.pool.unstable:
            yield (
                f"{', '.join(sorted(self.pool.unstable))}: the result differs when replayed; "
                "examples that depend on it cannot be reproduced"
            )

    def ask_again(self, session: Session, tool: str, arguments: Json) -> str:
        """The text of a read's result or error, asked for again even if it is known."""
        state = session.state(self)
        assert isinstance(state, ForeignState)
        given = msgspec.json.encode(arguments, order="deterministic").decode()
        return self.pool.ask_again(state.log, Write(tool, given)).text

    def close(self) -> None:
        """Stop its processes; closing twice is fine."""
        atexit.unregister(self.close)
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(target: str, options: Options | None = None) -> ForeignServer:
    """Connect to an MCP server: a URL, or a command, which is run without a shell."""
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


def file_names(folder: Path | None) -> tuple[str, ...]:
    """The names and paths of what a fresh folder starts with, as calls show them."""
    names = [ALIAS] if folder else []
    for file in sorted(folder.rglob("*")) if folder else ():
        name = file.relative_to(folder or "").as_posix()
        if not any(part.startswith(".") for part in name.split("/")):
            names += [name, f"{ALIAS}/{name}"]
    return tuple(names[:MOST_FILES])


def server_name(said: str) -> str:
    """A server name of letters, digits and underscores that differs from all of ours."""
    name = re.sub(r"[^a-z0-9]+", "_", said.casefold()).strip("_")[:40] or "foreign"
    return f"{name}_mcp" if name in servers.packaged() else name


def _caller(name: str, *, writes: bool) -> Callable[..., msgspec.Struct]:
    def call(state: ForeignState, arguments: str) -> msgspec.Struct:
        text = state.run(name, arguments, writes=writes)
        # The text is already JSON, and the kernel only encodes results.
        return cast("msgspec.Struct", msgspec.Raw(text.encode()))

    return call


def _nothing_usable(target: str, left_out: list[str]) -> str:
    if not left_out:
        return f"{target} has no tools"
    return (
        f"{target} marks none of its {len(left_out)} tools as read-only "
        f"({', '.join(left_out)}); {HOW_TO_USE}"
    )
