"""One running process of a foreign MCP server, started with a minimal environment."""

import asyncio
import logging
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import mcp_types as types
import msgspec
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from provegym.hosts import supervise
from provegym.hosts.foreign_reply import Answer, read_error, read_result
from provegym.hosts.inline import HostError
from provegym.kernel.errors import Lost, quote

T = TypeVar("T")

FRESH = "{fresh}"
# The path of the fresh folder changes at each start. Calls and results show this path instead.
ALIAS = "/workspace"
ALIASED = re.compile(rf"(?<![\w./-]){ALIAS}(?![\w-])")
PAGES, MOST_TOOLS = 100, 1_000
CLOSING = 15.0
# What the SDK says when the server is gone.
CLOSED = "Connection closed"
LAST_LINES, LAST_BYTES, LAST_WIDTH = 3, 4_000, 200
# Without a handler, the SDK's log messages would be printed to the terminal.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class NoStart(HostError, Lost):
    """The server could not be started or does not speak MCP."""


class ProcessLost(Exception):
    """The server crashed or hung during a call; its process cannot be used again."""


@dataclass(frozen=True)
class Options:
    """How to run a foreign server.

    Writes need `allow_writes` and a way to start from clean data: `reset` is a command that is run
    before each start, and `{fresh}` in a command is replaced by a new folder, a copy of
    `fresh_from`. A tool without annotations counts as a write unless `reads` names it.
    """

    allow_writes: bool = False
    reset: str = ""
    fresh_from: Path | None = None
    reads: tuple[str, ...] = ()
    processes: int = 2
    call_seconds: float = 20
    start_seconds: float = 30


class Background:
    """An asyncio event loop in a background thread, for synchronous callers."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, name="foreign servers", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result."""
        return self.start(work).result()

    def close(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Process:
    """A running server: a child process, or a connection if the target is a URL."""

    def __init__(self, target: str, options: Options, folder: Path, mode: str = "auto") -> None:
        self.target = target
        self.options = options
        self._folder = folder
        self._mode = mode
        self._said = ""
        self._up, self._stop = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The MCP client of a started server."""
        if self._client is None:
            raise NoStart(f"{self.target} is not running")
        return self._client

    @property
    def mode(self) -> str:
        """The connection mode for the next process, from the protocol version of this one."""
        version = self.client.protocol_version
        return "legacy" if version in HANDSHAKE_PROTOCOL_VERSIONS else "auto"

    async def start(self) -> "Process":
        """Start the server and do the MCP handshake; raises NoStart with the reason."""
        if self._stop.is_set():
            raise NoStart(f"{self.target} was stopped before it was started")
        self._task = asyncio.create_task(self._hold())
        up = asyncio.create_task(self._up.wait())
        # The reset command has a limit of its own.
        seconds = self.options.start_seconds * (2 if self.options.reset else 1)
        await asyncio.wait({self._task, up}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._up.is_set():
            return self
        finished = self._task.done()
        await self.close()
        if not finished:
            why = f"did not shake hands within {self.options.start_seconds:g} s"
        else:
            why = f"could not be started: {_why_ended(self._task)}"
        raise NoStart(f"{self.target} {why}{self._said}")

    async def _hold(self) -> None:
        """Keep the connection open until `close`; one task must both open and close it."""
        try:
            async with self._transport() as transport, Client(transport, mode=self._mode) as client:
                self._client = client
                self._up.set()
                await self._stop.wait()
        finally:
            self._said = last_words(self._folder / "stderr")
            shutil.rmtree(self._folder, ignore_errors=True)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        fresh, home = self._folder / "fresh", self._folder / "home"
        home.mkdir()
        if self.options.fresh_from:
            await asyncio.to_thread(shutil.copytree, self.options.fresh_from, fresh)
        else:
            fresh.mkdir()
        environment = _environment(home)
        if self.options.reset:
            command = split(self.options.reset, fresh)
            await _reset(command, environment, self.options.start_seconds)
        if is_url(self.target):
            yield streamable_http_client(self.target)
            return
        program, *arguments = self._command(split(self.target, fresh), environment["PATH"])
        parameters = StdioServerParameters(command=program, args=arguments, env=environment)
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            yield stdio_client(parameters, nowhere)

    def _command(self, words: list[str], path: str) -> list[str]:
        """The command of the server's supervisor, which starts the server itself."""
        if shutil.which(words[0], path=path) is None:
            raise FileNotFoundError(f"No such file or directory: {words[0]!r}")
        if os.name != "posix":
            return words
        script = [sys.executable, "-I", "-S", "-B", supervise.__file__]
        return [*script, str(self._folder), *words]

    async def list_tools(self) -> list[types.Tool]:
        """All tools of the server; raises NoStart if it does not list them properly."""
        tools: list[types.Tool] = []
        seen: set[str | None] = {None}
        cursor: str | None = None
        while True:
            page = await self._list_tools(cursor)
            tools += page.tools
            if len(tools) > MOST_TOOLS:
                raise NoStart(
                    f"{self.target} lists more than {MOST_TOOLS:,} tools, which is the most"
                )
            cursor = page.next_cursor
            if cursor is None:
                return tools
            if cursor in seen or len(seen) > PAGES:
                raise NoStart(f"{self.target} lists its tools without end")
            seen.add(cursor)

    async def _list_tools(self, cursor: str | None) -> types.ListToolsResult:
        try:
            return await self._within(self.client.list_tools(cursor=cursor), "tools/list")
        except ProcessLost as lost:
            raise NoStart(str(lost)) from None
        except MCPError as problem:
            raise NoStart(f"{self.target} refused tools/list: {_reason(problem)}") from None

    async def call(self, tool: str, arguments: str) -> Answer:
        """Call a tool with JSON arguments; an error that the server returns is an answer too."""
        fresh = str(self._folder / "fresh") if FRESH in self.target else ALIAS
        given = msgspec.json.decode(ALIASED.sub(fresh, arguments))
        params = types.CallToolRequestParams(name=tool, arguments=given)
        # The session's `call_tool` would also validate results against the output schema.
        request = types.CallToolRequest(params=params)
        work = self.client.session.send_request(request, types.CallToolResult)
        try:
            answer = read_result(await self._within(work, tool), given)
        except MCPError as problem:
            answer = read_error(problem)
        return answer._replace(text=answer.text.replace(fresh, ALIAS))

    async def _within(self, work: Coroutine[Any, Any, T], what: str) -> T:
        """Wait for an answer with a timeout; ProcessLost if the server crashed or hung."""
        seconds = self.options.call_seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            said = f"did not answer {what} within {seconds:g} s{self._words()}"
            raise ProcessLost(f"{self.target} {said}") from None
        except MCPError as problem:
            # Many servers use the same code, -32000, for errors of their own.
            if problem.code != types.CONNECTION_CLOSED or problem.message != CLOSED:
                raise
            raise ProcessLost(f"{self.target} ended while it ran {what}{self._words()}") from None
        except Exception as problem:
            said = f"gave no proper answer to {what}: {_reason(problem)}"
            raise ProcessLost(f"{self.target} {said}") from problem

    def _words(self) -> str:
        return last_words(self._folder / "stderr") if self._folder.exists() else self._said

    async def close(self) -> None:
        """Stop the server, with its whole process group if needed."""
        self._stop.set()
        if self._task is None:
            return
        if not self._up.is_set():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSING)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()


def is_url(target: str) -> bool:
    """Whether a target is the address of a server rather than a command."""
    return target.startswith(("http://", "https://"))


def split(command: str, fresh: Path) -> list[str]:
    """The words of a command, which is run without a shell."""
    return [word.replace(FRESH, str(fresh)) for word in shlex.split(command)]


def last_words(file: Path) -> str:
    """The last lines a server wrote to stderr, without terminal control characters."""
    if not file.exists():
        return ""
    lines = file.read_bytes()[-LAST_BYTES:].decode(errors="replace").splitlines()
    plain = ["".join(c for c in line if c.isprintable()).strip()[:LAST_WIDTH] for line in lines]
    told = [line for line in plain if line][-LAST_LINES:]
    return f"; it last said: {' | '.join(told)}" if told else "; it said nothing on stderr"


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}


async def _reset(command: list[str], environment: dict[str, str], seconds: float) -> None:
    """Run the command that resets the server's data; it ends with everything that it started."""
    pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        running = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=none, stdout=none, stderr=pipe, start_new_session=True
        )
    except OSError as problem:
        raise NoStart(f"the reset command failed: {problem}") from None
    said = b""
    try:
        async with asyncio.timeout(seconds):
            while running.stderr and (chunk := await running.stderr.read(LAST_BYTES)):
                said = (said + chunk)[-LAST_BYTES:]
            await running.wait()
    except TimeoutError:
        raise NoStart(f"the reset command failed: it took more than {seconds:g} s") from None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(running.pid, signal.SIGKILL)
        await running.wait()
    if running.returncode:
        told = quote(said.decode(errors="replace").strip()[-LAST_WIDTH:])
        raise NoStart(f"the reset command ended with {running.returncode}: {told}")


def _why_ended(task: "asyncio.Task[None]") -> str:
    return "it was stopped" if task.cancelled() else _reason(task.exception())


def _reason(problem: BaseException | None) -> str:
    """The message of an exception in one line; of an exception group, that of the first."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    said = " ".join(str(problem).split())
    return "".join(c for c in said if c.isprintable())[:LAST_WIDTH] or type(problem).__name__
