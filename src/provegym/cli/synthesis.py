"""Commands about synthesis: the graph of a server, and corpora."""

from pathlib import Path
from typing import Annotated

import typer

from provegym import servers
from provegym.cli.base import Json, Seed, app, fail, load, progress_bar
from provegym.kernel.errors import suggest


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
