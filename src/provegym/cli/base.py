"""What the commands share: the application, options, and how they speak and fail."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from provegym import servers
from provegym.kernel import AnyServer
from provegym.kernel.errors import suggest

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


def progress_bar() -> Progress:
    """A bar with rate and time left, on stderr, so that stdout stays clean."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
