"""What the commands share: the application, options, and how they speak and fail."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperCommand

from provegym import servers
from provegym.kernel import AnyServer
from provegym.kernel.errors import suggest
from provegym.workers import Cluster, ClusterError, Workers, local

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
console = Console()
OLDEST_MCP = (2, 3)

Seed = Annotated[int, typer.Option(help="Which world.", min=0)]
RecipeFile = Annotated[Path | None, typer.Option(help="A recipe; its [reward] table counts.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

Ray = Annotated[
    str | None,
    typer.Option("--ray", metavar="[ADDRESS]", help="On a Ray cluster, or on this machine's own."),
]


class RayCommand(TyperCommand):
    """A command whose --ray stands alone or has an address: typer knows no such option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """An address has a colon or is a word of Ray's; whatever else follows is not for --ray."""
        for at, arg in enumerate(args):
            following = args[at + 1] if at + 1 < len(args) else ""
            if arg == "--ray" and ":" not in following and following not in ("auto", "local"):
                args = [*args[:at], "--ray=", *args[at + 1 :]]
        return super().parse_args(ctx, args)


@contextmanager
def hands(ray: str | None, processes: int = 1) -> Iterator[Workers]:
    """Who does the work of a command."""
    try:
        with closing(local(processes) if ray is None else Cluster(ray)) as workers:
            yield workers
    except ClusterError as problem:
        fail(str(problem))


def need_mcp() -> None:
    """Fail unless the SDK is one our hosts and clients are for: other packages may pin it."""
    found = version("mcp")
    if tuple(map(int, found.split(".")[:2])) < OLDEST_MCP:
        fail(f"this needs mcp 2.3 or newer, and {found} is installed: pip install 'mcp>=2.3'")


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


def progress_bar() -> Progress:
    """A bar with rate and time left, on stderr, so that stdout stays clean."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
