"""The command `graph`: which tools of a server depend on which, for our and foreign MCP servers."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym import servers
from provegym.cli.base import (
    Json,
    Seed,
    ServerName,
    app,
    fail,
    load,
    need_mcp,
    option_groups,
    say_next,
    tell,
)
from provegym.kernel import AnyServer
from provegym.kernel.errors import suggest
from provegym.terminal import printable_json, say

if TYPE_CHECKING:
    from provegym.hosts.foreign import ForeignServer


# Seconds for a call to a foreign server, for commands that have no option for it.
CALL_SECONDS = 20.0


@dataclass(frozen=True)
class TheirServer:
    """Options: a foreign MCP server, and which of its tools may be called."""

    mcp: Annotated[
        str, typer.Option(help="Somebody's MCP server: a command (no shell) or a URL.")
    ] = ""
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Also call tools that may change something.")
    ] = False
    reset: Annotated[str, typer.Option(help="A command that is run before each start of it.")] = ""
    fresh_from: Annotated[
        Path | None, typer.Option(help="What {fresh}, a new folder at each start, is a copy of.")
    ] = None
    reads: Annotated[
        str, typer.Option(help="Tools that only read, whatever they say of themselves.")
    ] = ""

    @property
    def call_seconds(self) -> float:
        """How long a call may take."""
        return CALL_SECONDS

    @property
    def again(self) -> tuple[str, ...]:
        """The options that connect the same server in another command."""
        given = {
            "--mcp": self.mcp,
            "--reset": self.reset,
            "--fresh-from": str(self.fresh_from or ""),
            "--reads": self.reads,
        }
        words = [word for name, value in given.items() if value for word in (name, value)]
        return (*words, *(["--allow-writes"] if self.allow_writes else []))

    @property
    def reading(self) -> tuple[str, ...]:
        """The names of the tools that only read."""
        return tuple(self.reads.split(",")) if self.reads else ()

    @contextmanager
    def connected(self) -> Iterator["ForeignServer"]:
        """Connect the server while a command runs; warnings and notes go to stderr."""
        need_mcp()
        from provegym.hosts.foreign import WARNING, Options, connect

        how = (self.allow_writes, self.reset, self.fresh_from, self.reading)
        with connect(self.mcp, Options(*how, call_seconds=self.call_seconds)) as server:
            tell(WARNING)
            try:
                yield server
            finally:
                for note in server.notes():
                    tell(note)


@dataclass(frozen=True)
class Theirs(TheirServer):
    """The same, with the time that a call may take."""

    timeout: Annotated[float, typer.Option(help="Seconds for a call to it.", min=0.1)] = (
        CALL_SECONDS
    )

    @property
    def call_seconds(self) -> float:
        """How long a call may take."""
        return self.timeout


@dataclass(frozen=True)
class TheirsToPlay(TheirServer):
    """The same, for a command whose --timeout is that of a model."""

    call_timeout: Annotated[float, typer.Option(help="Seconds for a call to it.", min=0.1)] = (
        CALL_SECONDS
    )

    @property
    def call_seconds(self) -> float:
        """How long a call may take."""
        return self.call_timeout


Refresh = Annotated[
    bool, typer.Option("--refresh", help="With --mcp: prove its graph anew, not from the cache.")
]


@app.command("graph")
@option_groups
def show_graph(
    *,
    name: ServerName = None,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="Print a page that draws it.")] = False,
    why: Annotated[
        str, typer.Option(help="Show the calls that prove the dependencies of this tool.")
    ] = "",
    seed: Seed = 0,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Write the package's graphs anew: of SERVER, or of all."),
    ] = False,
    refresh: Refresh = False,
    theirs: Theirs,
) -> None:
    """Show which tools of a server depend on which, proven with and without each call."""
    if as_json + html + bool(why) + rebuild > 1:
        fail("choose one of --json, --html, --why and --rebuild")
    if rebuild:
        if seed or theirs.mcp:
            fail(
                "the package holds the graphs of our servers on seed 0: leave --seed and --mcp out"
            )
        _rebuild([name] if name else servers.names())
        return
    if bool(name) == bool(theirs.mcp):
        fail('name one server, or give the command of somebody\'s with --mcp "COMMAND"')
    if refresh and name:
        fail("--refresh is for somebody's server; --rebuild writes the package's graphs anew")
    form = "json" if as_json else "html" if html else "text"
    if name:
        _show(load(name), seed, why, form)
        return
    with theirs.connected() as server:
        if refresh:
            forget_graph(server, seed)
        _show(server, seed, why, form)


def forget_graph(server: "ForeignServer", seed: int = 0) -> None:
    """Remove the cached graph of a foreign server."""
    from provegym.graph.dependency import forget

    forget(server, seed)


def _show(server: AnyServer, seed: int, why: str, form: str) -> None:
    from provegym.graph.dependency import cached
    from provegym.graph.show import as_json, list_edges, list_evidence

    if why and why not in server.tools:
        fail(f"no tool {why!r}; {suggest(why, list(server.tools))}")
    graph = cached(server, seed)
    if why:
        say(list_evidence(graph, why))
        if servers.is_known(server.name):
            say_next("synth", "--servers", server.name, "--size", 20, "--out", "corpus")
    elif form == "html":
        from provegym.view.report import build_report, freeze_graph

        sys.stdout.write(build_report(freeze_graph(server, graph)) + "\n")
    else:
        say(printable_json(as_json(graph)) if form == "json" else list_edges(graph))
        if graph.edges and form == "text" and servers.is_known(server.name):
            say_next("graph", server.name, "--why", graph.edges[0].target)


def _rebuild(names: Sequence[str]) -> None:
    """Build the graphs of some of our servers, and write them into the package."""
    from provegym.graph.dependency import rebuild

    for name in names:
        graph = rebuild(load(name))
        say(f"{name}: {len(graph.tools)} tools, {len(graph.edges)} dependencies")
