"""The command that shows what depends on what, on a server of ours or on anybody's."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym.cli.base import Json, Seed, app, fail, load, need_mcp
from provegym.kernel import AnyServer
from provegym.kernel.errors import suggest

if TYPE_CHECKING:
    from provegym.hosts.foreign import ForeignServer, Options

Mcp = Annotated[str, typer.Option(help="Somebody's MCP server: a command (no shell) or a URL.")]
AllowWrites = Annotated[
    bool, typer.Option("--allow-writes", help="Also call tools that may change something.")
]
Reset = Annotated[str, typer.Option(help="A command that is run before each start of it.")]
FreshFrom = Annotated[
    Path | None, typer.Option(help="What {fresh}, a new folder at each start, is a copy of.")
]
Reads = Annotated[str, typer.Option(help="Tools that only read, whatever they say of themselves.")]
Patience = Annotated[float, typer.Option("--timeout", help="Seconds for a call to it.", min=0.1)]


@app.command("graph")
def show_graph(
    name: Annotated[str | None, typer.Argument(metavar="SERVER")] = None,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="Print a page that draws it.")] = False,
    why: Annotated[str, typer.Option(help="Show the evidence of this tool's edges.")] = "",
    seed: Seed = 0,
    mcp: Mcp = "",
    allow_writes: AllowWrites = False,
    reset: Reset = "",
    fresh_from: FreshFrom = None,
    reads: Reads = "",
    timeout: Patience = 20,
) -> None:
    """Show which tools of a server depend on which, each proven by running it both ways."""
    if bool(name) == bool(mcp):
        fail('name one server, or give the command of somebody\'s with --mcp "COMMAND"')
    if as_json + html + bool(why) > 1:
        fail("choose one of --json, --html and --why")
    form = "json" if as_json else "html" if html else "text"
    if name:
        _show(load(name), seed, why, form)
        return
    with foreign(mcp, treated(allow_writes, reset, fresh_from, reads, timeout)) as server:
        _show(server, seed, why, form)


def _show(server: AnyServer, seed: int, why: str, form: str) -> None:
    from provegym.graph.dependency import cached
    from provegym.graph.show import as_json, list_edges, list_evidence

    if why and why not in server.tools:
        fail(f"no tool {why!r}; {suggest(why, list(server.tools))}")
    graph = cached(server, seed)
    if why:
        print(list_evidence(graph, why))
    elif form == "html":
        from provegym.view.report import build_report, freeze_graph

        print(build_report(freeze_graph(server, graph)))
    else:
        print(as_json(graph) if form == "json" else list_edges(graph))


def treated(
    allow_writes: bool, reset: str, fresh_from: Path | None, reads: str, timeout: float
) -> "Options":
    """How somebody's server is to be treated, from what the command line says."""
    need_mcp()
    from provegym.hosts.foreign import Options

    return Options(allow_writes, reset, fresh_from, listed(reads), call_seconds=timeout)


def listed(names: str) -> tuple[str, ...]:
    """Names that were given with commas between them."""
    return tuple(names.split(",")) if names else ()


@contextmanager
def foreign(target: str, options: "Options") -> Iterator["ForeignServer"]:
    """Somebody's server while a command runs; what a user should know goes to stderr."""
    from provegym.hosts.foreign import WARNING, connect

    with connect(target, options) as server:
        tell(WARNING)
        try:
            yield server
        finally:
            for note in server.notes():
                tell(note)


def tell(note: str) -> None:
    """Something beside the result, on stderr."""
    print(f"provegym: {note}", file=sys.stderr)
