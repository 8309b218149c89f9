"""What all commands share: the typer application, common options, output and errors."""

import ctypes
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import fields, is_dataclass
from functools import wraps
from importlib.metadata import version
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand

from provegym import servers
from provegym.cli.help import SETTINGS, Commands
from provegym.kernel import AnyServer
from provegym.kernel.errors import near
from provegym.terminal import printable, printable_json, say

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.text import Text

    from provegym.workers import Workers


app = typer.Typer(
    cls=Commands, context_settings=SETTINGS, rich_markup_mode=None, pretty_exceptions_enable=False
)


class SafeConsole(Console):
    """A console that escapes control characters, which text from a file may hold."""

    def render_str(self, text: str, **how: Any) -> "Text":
        """A text as rich shows it."""
        return super().render_str(printable(text), **how)


def cell(text: str) -> str:
    """Text from a file for a table: brackets in it are no markup of rich."""
    return escape(printable(text))


console = SafeConsole()
OLDEST_MCP = (2, 3)
GOES_ON = "the same command goes on where it stopped"
STARTS_AGAIN = "the same command starts again"

ServerName = Annotated[
    str | None,
    typer.Argument(
        metavar="SERVER", help="One of `provegym servers`.", autocompletion=servers.known
    ),
]
Seed = Annotated[int, typer.Option(help="Which world.", min=0)]
RecipeName = Annotated[
    str | None, typer.Option(help="Take the reward of this recipe: a name, or a file.")
]
SchemeName = Annotated[
    Literal["paper", "hardened"] | None,
    typer.Option(help="The reward: the paper's formula, or hardened.", show_default="paper"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Work on a Ray cluster; without an address, on all cores of this machine.",
    ),
]


class RayCommand(TyperCommand):
    """A command whose --ray has an optional address, which typer does not support."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the next word as the address only if it has a colon, or is auto or local."""
        for at, arg in enumerate(args):
            following = args[at + 1] if at + 1 < len(args) else ""
            if arg == "--ray" and ":" not in following and following not in ("auto", "local"):
                args = [*args[:at], "--ray=", *args[at + 1 :]]
        return super().parse_args(ctx, args)


def option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A decorator: a parameter that is a dataclass becomes one option per field."""
    own = signature(command, eval_str=True).parameters
    kinds: dict[str, type[Any]] = {name: each.annotation for name, each in own.items()}
    groups = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    taken: list[Parameter] = []
    for name, each in own.items():
        taken += signature(groups[name]).parameters.values() if name in groups else [each]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in taken]
    run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    return run


@contextmanager
def hands(ray: str | None, processes: int = 1, preload: str = "") -> Iterator["Workers"]:
    """The workers of a command: this process, several processes, or a Ray cluster."""
    from provegym.workers import Cluster, local

    with closing(local(processes, preload) if ray is None else Cluster(ray)) as workers:
        yield workers


@contextmanager
def stoppable(how: str | Callable[[], str] = GOES_ON) -> Iterator[None]:
    """Say after Ctrl-C or SIGTERM how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"stopped; {how if isinstance(how, str) else how()}")
        raise


def need_mcp() -> None:
    """Fail if the installed MCP SDK is too old; other packages may pin an old one."""
    found = version("mcp")
    if tuple(map(int, found.split(".")[:2])) < OLDEST_MCP:
        fail(f"this needs mcp 2.3 or newer, and {found} is installed: pip install 'mcp>=2.3'")


def tell(note: str) -> None:
    """Print a note on stderr."""
    say(f"provegym: {note}", file=sys.stderr)


def say_next(*words: object, as_json: bool = False) -> None:
    """Print on stderr the command to try next; nothing where a machine reads.

    It has the same --servers-from as this command.
    """
    found = [("--servers-from", os.path.relpath(each)) for each in servers.places().packages]
    options = [word for pair in found for word in pair]
    if not as_json:
        say(f"next: provegym {shlex.join([*options, *map(str, words)])}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    """Print one line on stderr and exit with status 2."""
    tell(message)
    raise SystemExit(2)


def load(name: str | None) -> AnyServer:
    """Load a server by the name that the user typed."""
    listed = "`provegym servers` lists them"
    if name is None:
        fail(f"name a server; {listed}")
    if not servers.is_known(name):
        fail(f"no server {name!r}; {near(name, servers.known()) or listed}")
    return servers.load(name)


def check_model(name: str, known: Sequence[str]) -> None:
    """Fail on a misspelt name, before it is searched on a model hub (hub ids have a slash)."""
    typed = name not in known and "/" not in name and not Path(name).exists()
    if typed and (hint := near(name, known)):
        fail(f"no model {name!r}; {hint}")


def check_folder(out: Path) -> None:
    """Fail if the output folder is an existing file."""
    if out.exists() and not out.is_dir():
        fail(f"{out} is a file; name a folder")


@contextmanager
def stdout_kept(as_json: bool) -> Iterator[None]:
    """With --json, send to stderr what is written to stdout, to keep stdout for the document.

    This replaces file descriptor 1, where libraries in C++ and child processes write. A command
    prints its JSON document afterwards.
    """
    if not as_json:
        yield
        return
    stdout = sys.stdout
    stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        # What is still in a buffer must go to stderr, too: Python's, and that of the C library.
        stdout.flush()
        if sys.platform != "win32":
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.write(printable_json(text) + "\n")


def progress_bar() -> "Progress":
    """A progress bar with the remaining time, on stderr; without a terminal, log lines."""
    from provegym.cli.progress import LoggedProgress

    return LoggedProgress(SafeConsole(stderr=True))
