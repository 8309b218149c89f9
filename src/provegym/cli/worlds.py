"""The commands `servers`, `call`, `serve`, `bench`, `quickstart` and `demo`."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from provegym import servers
from provegym.cli.base import (
    Json,
    SafeConsole,
    Seed,
    ServerName,
    app,
    check_folder,
    console,
    fail,
    load,
    need_mcp,
    option_groups,
    print_json,
    say_next,
    stoppable,
)
from provegym.kernel import AnyServer, Session
from provegym.terminal import printable_json, say

if TYPE_CHECKING:
    from provegym.hosts.guard import RequestLimits

QUICK, FULL_QUICK = Path("runs") / "quickstart", Path("runs") / "quickstart-full"


@app.command("servers")
def show_servers(
    name: ServerName = None,
    as_json: Json = False,
    openapi: Annotated[
        bool, typer.Option("--openapi", help="Describe the server as a REST API (OpenAPI 3.1).")
    ] = False,
) -> None:
    """List the servers, or show one with its tools."""
    if openapi and name is None:
        fail("name the server that --openapi describes")
    chosen = [load(name)] if name else servers.load_known()
    for problem in [] if name else servers.problems():
        say(f"provegym: {problem}", file=sys.stderr)
    if openapi:
        print_json(_as_api(chosen[0]))
    elif as_json:
        print_json({"servers": [_server_json(server) for server in chosen]})
    elif name:
        _show_tools(chosen[0])
        say_next("demo" if name in servers.names() else "check-server", name)
    else:
        table = Table("server", "tools", "what it is", box=None)
        for server in chosen:
            table.add_row(server.name, str(len(server.tools)), server.about)
        console.print(table)
        console.print(f"\n{len(chosen)} servers, {sum(len(s.tools) for s in chosen)} tools")
        say_next("servers", chosen[0].name)


@app.command("call")
def call_tool(
    server: ServerName = None,
    tool: Annotated[str | None, typer.Argument(metavar="TOOL", help="One of its tools.")] = None,
    arguments: Annotated[str, typer.Argument(help="Its arguments, as a JSON object.")] = "{}",
    seed: Seed = 0,
) -> None:
    """Call one tool in a fresh session and print its JSON result; exit 1 if the tool refuses."""
    world = load(server)
    if tool is None:
        fail(f"name a tool of {server}; `provegym servers {server}` lists them")
    outcome = Session([world], seed).call(tool, arguments)
    say(printable_json(outcome.text))
    if not outcome.ok:
        say_next("servers", server)
    elif server in servers.names():
        say_next("demo", server)
    raise typer.Exit(0 if outcome.ok else 1)


@dataclass(frozen=True)
class HttpLimits:
    """Whom a host over HTTP answers, and how much it takes."""

    allow_host: Annotated[
        list[str] | None, typer.Option(help="Also answer to this HOST or HOST:PORT.")
    ] = None
    allow_origin: Annotated[
        list[str] | None, typer.Option(help="Also answer pages of this origin, with its scheme.")
    ] = None
    ttl: Annotated[float, typer.Option(help="Seconds until an idle session ends.", min=1)] = 1800
    max_sessions: Annotated[int, typer.Option(help="How many sessions at most.", min=1)] = 10_000
    max_memory: Annotated[int, typer.Option(help="Megabytes of worlds at most, about.", min=1)] = (
        2_048
    )
    max_body: Annotated[int, typer.Option(help="Bytes of a request at most.", min=1024)] = (
        256 * 1024
    )
    max_connections: Annotated[int, typer.Option(help="Connections at most.", min=1)] = 2_000
    request_timeout: Annotated[
        float, typer.Option(help="Seconds that a client may take to send a request.", min=0.1)
    ] = 30


@app.command()
@option_groups
def serve(
    *,
    names: Annotated[list[str] | None, typer.Argument(help="Servers; all of ours if none.")] = None,
    http: Annotated[str | None, typer.Option(help="Serve over HTTP on HOST:PORT.")] = None,
    seed: Seed = 0,
    shared: Annotated[bool, typer.Option(help="Requests that name no session share one.")] = False,
    limits: HttpLimits,
) -> None:
    """Serve worlds over MCP: on stdio, or with --http over Streamable HTTP with a control API.

    A token is read from PROVEGYM_TOKEN and required when listening beyond this machine.
    """
    need_mcp()
    chosen = [load(name) for name in names] if names else servers.load_all()
    if http is None:
        _serve_stdio(chosen, seed)
        return
    from provegym.hosts.drawing import WorldProcess
    from provegym.hosts.http import bind, build_app, check_token, faces, run
    from provegym.hosts.inline import Sessions
    from provegym.hosts.limits import HEAD_SECONDS, ConnectionLimits

    token = os.environ.get("PROVEGYM_TOKEN")
    if token == "":
        fail("PROVEGYM_TOKEN is empty; set a token or unset it")
    check_token(http, token)
    # Before there are threads or sockets, because the process is a fork of this one.
    process = WorldProcess(chosen)
    listener = bind(http)
    host, port = listener.getsockname()[:2]
    sessions = Sessions(
        chosen, most=limits.max_sessions, ttl=limits.ttl, memory=limits.max_memory * 1e6
    )
    sessions.shelf.draw_one = process.draw
    shown = faces(sessions, shared=shared, seed=seed)
    served = build_app(sessions, shown, _request_limits(limits, host, port, token), seed=seed)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    say(
        f"serving {len(chosen)} servers on {url}; open a session with\n"
        f"  curl -X POST {url}/sessions -d '{{\"seed\": {seed}}}'",
        file=sys.stderr,
    )
    most, body = limits.max_connections, limits.request_timeout
    run(served, listener, ConnectionLimits(most, head=min(HEAD_SECONDS, body), body=body))


def _request_limits(limits: HttpLimits, host: str, port: int, token: str | None) -> "RequestLimits":
    from provegym.hosts.guard import RequestLimits

    return RequestLimits(
        port=port,
        hosts=[*(limits.allow_host or []), host],
        origins=limits.allow_origin or [],
        token=token,
        max_body=limits.max_body,
    )


@app.command()
def bench(as_json: Json = False) -> None:
    """Measure speed and memory on this machine: calls, forks, sessions, hosts."""
    from provegym.bench.worlds import measure

    figures = measure(SafeConsole(stderr=True, quiet=as_json))
    if as_json:
        print_json(figures)
        return
    table = Table("figure", "value", box=None)
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}" if isinstance(value, float) else str(value))
    console.print(table)
    say_next("demo", "banking")


@app.command()
def quickstart(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Its folder; an unfinished one is continued.",
            show_default="runs/quickstart, or runs/quickstart-full",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All servers, 300 examples, held-out tasks: ten minutes.")
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """See it all in a few minutes: a story, examples, a model before and after, and GRPO."""
    from provegym.cli.viewing import has_screen, show_page
    from provegym.quickstart.run import FULL, SHORT, run

    out = out or (FULL_QUICK if full else QUICK)
    check_folder(out)
    # The console keeps the real stdout, because sys.stdout is redirected while libraries run.
    screen = SafeConsole(file=sys.stdout)
    with stoppable():
        run(out, screen, fresh, FULL if full else SHORT)
    files = [out / "base.jsonl", out / "trained.jsonl"]
    if not no_open and screen.is_terminal and has_screen() and all(map(Path.exists, files)):
        say()
        # The first two are the sources 0 and 1 of the page.
        show_page([*files, out], at="#/compare?left=0&right=1")


@app.command()
def demo(name: ServerName = None) -> None:
    """Show one task on a server, call by call, and what it changed in the world."""
    from provegym.demo import SEED, tell

    tell(console, load(name).name, SEED)
    say_next("synth", "--servers", name, "--size", 20, "--out", "corpus")


def _serve_stdio(chosen: list[AnyServer], seed: int) -> None:
    import anyio

    from provegym.hosts.mcp import serve_stdio

    # A thread waits for stdin, and Python waits for the thread: these signals end both at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    anyio.run(serve_stdio, chosen, seed)


def _show_tools(server: AnyServer) -> None:
    console.print(f"[bold]{server.name}[/bold] ({server.category}) — {server.about}\n")
    table = Table("tool", "", "arguments", "what it does", box=None)
    for tool in server.tools.values():
        required = tool.input_schema.get("required", [])
        arguments = ", ".join(n if n in required else f"[{n}]" for n in tool.arguments.names)
        table.add_row(tool.name, "write" if tool.writes else "read", arguments, tool.description)
    console.print(table, markup=False)


def _as_api(server: AnyServer) -> dict[str, Any]:
    from provegym.worlds.describe import describe

    return describe(server.name, server.about, [tool.describe() for tool in server.tools.values()])


def _server_json(server: AnyServer) -> dict[str, Any]:
    return {
        "name": server.name,
        "category": server.category,
        "version": server.version,
        "about": server.about,
        "tools": [tool.describe() for tool in server.tools.values()],
    }
