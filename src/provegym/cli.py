"""The command line: look at servers, call a tool, serve worlds, measure them."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from provegym import __version__, servers
from provegym.config import BadRecipe
from provegym.hosts.inline import HostError, Sessions
from provegym.kernel import AnyServer, Session, Tool
from provegym.kernel.errors import suggest
from provegym.story import fitting_table
from provegym.trace import BadFile

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
console = Console()

Seed = Annotated[int, typer.Option(help="Which world.", min=0)]
RecipeFile = Annotated[Path | None, typer.Option(help="A recipe; its [reward] table counts.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def fail(message: str) -> NoReturn:
    """End with one line and a non-zero exit."""
    print(f"provegym: {message}", file=sys.stderr)
    raise SystemExit(2)


def load(name: str) -> AnyServer:
    """A server by the name a user typed."""
    if name not in servers.names():
        fail(f"no server {name!r}; {suggest(name, list(servers.names()))}")
    return servers.load(name)


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Train language models to use tools, in worlds where the tools actually work."""
    if version:
        print(__version__)
    elif ctx.invoked_subcommand is None:
        print(ctx.get_help())


@app.command("servers")
def show_servers(
    name: Annotated[str | None, typer.Argument()] = None, as_json: Json = False
) -> None:
    """List the servers, or show one with its tools."""
    chosen = [load(name)] if name else servers.load_all()
    if as_json:
        print_json({"servers": [_server_json(server) for server in chosen]})
    elif name:
        _show_tools(chosen[0])
    else:
        columns = ("server", "category", "tools", "reads", "writes")
        table = fitting_table(*columns, last="what it is")
        for server in chosen:
            writes = sum(tool.writes for tool in server.tools.values())
            count = len(server.tools)
            row = (server.name, server.category, count, count - writes, writes, server.about)
            table.add_row(*map(str, row))
        console.print(table)
        console.print(f"\n{len(chosen)} servers, {sum(len(s.tools) for s in chosen)} tools")


@app.command("call")
def call_tool(
    server: str, tool: str, arguments: Annotated[str, typer.Argument()] = "{}", seed: Seed = 0
) -> None:
    """Call one tool in a fresh session and print its JSON result; exit 1 if the tool refuses."""
    outcome = Session([load(server)], seed).call(tool, arguments)
    print(outcome.text)
    raise typer.Exit(0 if outcome.ok else 1)


@app.command()
def serve(
    names: Annotated[list[str] | None, typer.Argument(help="Servers; all if none.")] = None,
    http: Annotated[str | None, typer.Option(help="Serve over HTTP on HOST:PORT.")] = None,
    seed: Seed = 0,
    shared: Annotated[bool, typer.Option(help="One session for requests without one.")] = False,
    allow_host: Annotated[list[str] | None, typer.Option(help="Also answer to this Host.")] = None,
    ttl: Annotated[float, typer.Option(help="Seconds until an idle session ends.", min=1)] = 1800,
    max_sessions: Annotated[int, typer.Option(help="How many sessions at most.", min=1)] = 10_000,
    max_body: Annotated[int, typer.Option(help="Bytes of a request at most.", min=1024)] = 256
    * 1024,
) -> None:
    """Serve worlds over MCP: on stdio, or with --http over Streamable HTTP with a control API.

    A token is read from PROVEGYM_TOKEN and required when listening beyond this machine.
    """
    chosen = [load(name) for name in names] if names else servers.load_all()
    if http is None:
        _serve_stdio(chosen, seed)
        return
    from provegym.hosts.guard import Limits
    from provegym.hosts.http import bind, build_app, check_token, faces, run

    token = os.environ.get("PROVEGYM_TOKEN")
    if token == "":
        fail("PROVEGYM_TOKEN is empty; set a token or unset it")
    check_token(http, token)
    listener = bind(http)
    host, port = listener.getsockname()[:2]
    limits = Limits(hosts=[*(allow_host or []), host], token=token, max_body=max_body)
    sessions = Sessions(chosen, most=max_sessions, ttl=ttl)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    print(
        f"serving {len(chosen)} servers on {url}; open a session with\n"
        f"  curl -X POST {url}/sessions -d '{{\"seed\": {seed}}}'",
        file=sys.stderr,
    )
    run(build_app(sessions, faces(sessions, shared=shared, seed=seed), limits), listener)


@app.command()
def bench(as_json: Json = False) -> None:
    """Measure what worlds cost here: calls, forks, sessions, hosts."""
    from provegym.bench import measure

    figures = measure(Console(stderr=True, quiet=as_json))
    if as_json:
        print_json(figures)
        return
    table = Table("figure", "value", box=None)
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}" if isinstance(value, float) else str(value))
    console.print(table)


@app.command()
def quickstart() -> None:
    """Walk one multi-step task on each server and show what changed in its world."""
    from provegym.story import SEED, tell_all

    tell_all(console, SEED)


@app.command()
def story(name: str) -> None:
    """Tell one server's story: a task, call by call, and what it changed in the world."""
    from provegym.story import SEED, tell

    tell(console, load(name).name, SEED)


@app.command("rollout")
def run_rollouts(
    data: Annotated[Path, typer.Option(help="Examples: a JSONL file or a folder of them.")],
    out: Annotated[Path, typer.Option(help="Where rollouts go; what is there already is kept.")],
    policy: Annotated[str, typer.Option(help="A script (oracle, noop, …) or an endpoint's URL.")],
    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = "default",
    concurrency: Annotated[int, typer.Option(help="Rollouts at a time.", min=1)] = 8,
    recipe: RecipeFile = None,
) -> None:
    """Play every example with a policy and write one rollout per line; resumes where it stopped."""
    from provegym.play import Job, play_file

    name = policy if "://" not in policy else f"{model} at {policy.rpartition('@')[2]}"
    job = Job(data, out, name, _policy(policy, model), _scheme(recipe), concurrency)
    with progress_bar() as bar:
        count, mean, failed = play_file(job, bar)
    print(f"{count} rollouts in {out}, mean reward {mean:.3f}")
    if failed:
        fail(f"{len(failed)} rollouts went wrong and are played again next time; {failed[0]}")


@app.command("score")
def score_rollouts(
    file: Annotated[Path, typer.Argument(help="Rollouts: a JSONL file or a folder of them.")],
    recipe: RecipeFile = None,
    weights: Annotated[str, typer.Option(help="Other weights, e.g. name=0,argument=0.3.")] = "",
    strict: Annotated[
        bool, typer.Option(help="Only the first path, without alternatives.")
    ] = False,
    calls: Annotated[bool, typer.Option("--explain", help="Say what each call was worth.")] = False,
    as_json: Json = False,
) -> None:
    """Score recorded rollouts again, without their worlds."""
    from provegym.play import complete_weights, parse_weights, score_file

    scheme = complete_weights(_scheme(recipe), parse_weights(weights), strict=strict)
    report = score_file(file, scheme, explained=calls)
    if as_json:
        print_json(report)
        return
    for line in report["lines"]:
        print(line)
    means = ", ".join(f"{part} {value:.3f}" for part, value in report["parts"].items())
    print(f"{report['rollouts']} rollouts, mean {report['total']:.3f} ({means})")


@app.command("verify")
def verify_examples(
    data: Annotated[Path, typer.Argument(help="Examples: a JSONL file or a folder of them.")],
    as_json: Json = False,
) -> None:
    """Hold every example to the contract; exit 1 and say what fails and why if any does."""
    from provegym.play import verify_file

    with progress_bar() as bar:
        failed, count = verify_file(data, bar)
    if as_json:
        print_json({"examples": count, "failed": failed})
    else:
        for example, problems in failed.items():
            for problem in problems:
                print(f"{example}: {problem}")
        print(f"{count} examples, {len(failed)} fail the contract")
    raise typer.Exit(1 if failed else 0)


@app.command("audit")
def audit_reward(
    data: Annotated[Path, typer.Option(help="Examples to look for exploits on.")],
    recipe: RecipeFile = None,
    as_json: Json = False,
) -> None:
    """Look for what the reward pays for and should not: edits that pay while the task fails."""
    from provegym.trace import Example, read
    from provegym.verify.audit import audit, by_edit

    findings = audit(read(data, Example), _scheme(recipe))
    exploits = by_edit(findings)
    best = [finding.best_failing for finding in findings]
    if as_json:
        print_json({"best_failing": best, "exploits": exploits})
        return
    table = Table("what pays while the task fails", "times", "mean gain", "largest", box=None)
    for edit, (times, mean, most) in sorted(exploits.items(), key=lambda item: -item[1][2]):
        table.add_row(edit, str(times), f"{mean:+.3f}", f"{most:+.3f}")
    console.print(table)
    mean = sum(best) / len(best) if best else 0.0
    console.print(
        f"\na failing rollout is paid up to {max(best, default=0):.3f}, {mean:.3f} on average"
    )


@app.command("synth")
def synthesise(
    size: Annotated[int, typer.Option(help="How many examples.", min=1)],
    out: Annotated[Path, typer.Option(help="The corpus's folder; an unfinished one goes on.")],
    seed: Seed = 0,
    names: Annotated[str, typer.Option("--servers", help="Comma-separated; all if left out.")] = "",
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
) -> None:
    """Make verified examples from live worlds, offline: the same seed gives the same bytes."""
    from provegym.synth.corpus import Order, make

    chosen = tuple(load(name).name for name in names.split(",")) if names else servers.names()
    with progress_bar() as bar:
        funnel = make(Order(size, seed, out, chosen, workers), bar)
    print(", ".join(f"{count} {what}" for what, count in funnel.most_common()))
    if funnel["kept"] < size:
        fail(f"only {funnel['kept']} of {size} were found among {funnel.total()} candidates")


@app.command("graph")
def show_graph(
    name: Annotated[str, typer.Argument(metavar="SERVER")],
    as_json: Json = False,
    svg: Annotated[bool, typer.Option("--svg", help="Print the picture as SVG.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Print a page of its own.")] = False,
    why: Annotated[str, typer.Option(help="Show the evidence of this tool's edges.")] = "",
    seed: Seed = 0,
) -> None:
    """Show which tools of a server depend on which, each proven by running it both ways."""
    from provegym.synth.graph import cached
    from provegym.synth.show import list_evidence, show

    server = load(name)
    if why and why not in server.tools:
        fail(f"no tool {why!r}; {suggest(why, list(server.tools))}")
    if as_json + svg + html + bool(why) > 1:
        fail("choose one of --json, --svg, --html and --why")
    graph = cached(server, seed)
    form = "json" if as_json else "svg" if svg else "html" if html else "text"
    print(list_evidence(graph, why) if why else show(server, graph, form))


def _policy(name: str, model: str) -> Any:
    from provegym.policies.endpoint import Endpoint, EndpointConfig
    from provegym.policies.scripted import SCRIPTS

    if name.startswith(("http://", "https://")):
        return Endpoint(EndpointConfig(url=name, model=model))
    if name not in SCRIPTS:
        hint = suggest(name, list(SCRIPTS))
        fail(f"no policy {name!r}; give an endpoint's URL or a script: {hint}")
    return SCRIPTS[name]


def _scheme(recipe: Path | None) -> Any:
    from provegym.config import load_recipe
    from provegym.rewards import PAPER

    return load_recipe(recipe).reward if recipe else PAPER


def progress_bar() -> Progress:
    """A bar with rate and time left, on stderr, so that stdout stays clean."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _serve_stdio(chosen: list[AnyServer], seed: int) -> None:
    import anyio

    from provegym.hosts.mcp import serve_stdio

    anyio.run(serve_stdio, chosen, seed)


def _show_tools(server: AnyServer) -> None:
    console.print(f"[bold]{server.name}[/bold] ({server.category}) — {server.about}\n")
    table = Table("tool", "", "arguments", "what it does", box=None)
    for tool in server.tools.values():
        required = tool.input_schema.get("required", [])
        arguments = ", ".join(n if n in required else f"[{n}]" for n in tool.arguments.names)
        table.add_row(tool.name, "write" if tool.writes else "read", arguments, tool.description)
    console.print(table, markup=False)


def _server_json(server: AnyServer) -> dict[str, Any]:
    return {
        "name": server.name,
        "category": server.category,
        "version": server.version,
        "about": server.about,
        "tools": [_tool_json(tool) for tool in server.tools.values()],
    }


def _tool_json(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "writes": tool.writes,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent,
        "sensitive": sorted(tool.arguments.sensitive),
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def main() -> None:
    """Run the command line; every error is one line."""
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as problem:
        fail(problem.format_message())
    except (HostError, BadFile, BadRecipe) as problem:
        fail(str(problem))
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    raise SystemExit(code)
