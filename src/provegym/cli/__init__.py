"""The command line `provegym`, built with typer: one module per group of commands."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import Annotated

import typer

from provegym import __version__, servers
from provegym.cli import (
    benchmarks,
    comparison,
    corpora,
    evaluation,
    graphs,
    own,
    rollouts,
    specs,
    synthesis,
    training,
    viewing,
    world_writing,
    worlds,
)
from provegym.cli.base import app, fail
from provegym.errors import UserError
from provegym.files import ADVICE, describe
from provegym.terminal import say

__all__ = [
    "app",
    "benchmarks",
    "comparison",
    "corpora",
    "evaluation",
    "graphs",
    "main",
    "own",
    "rollouts",
    "specs",
    "synthesis",
    "training",
    "viewing",
    "world_writing",
    "worlds",
]


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    servers_from: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Also find the servers of your own in this folder of packages; any command takes"
            " it.",
        ),
    ] = None,
) -> None:
    """Train language models to use tools, in worlds where the tools actually work."""
    for folder in servers_from or ():
        servers.look_in_packages(folder)
    if version:
        say(__version__)
    elif ctx.invoked_subcommand is None:
        say(ctx.get_help())


def main() -> None:
    """Run the command line; an error that the user can mend is printed as one line."""
    with interrupted_by_sigterm() as came:
        try:
            code = app(standalone_mode=False)
        except typer.TyperException as problem:
            fail(problem.format_message())
        except UserError as problem:
            fail(str(problem))
        except RecursionError:
            fail("something in the input is nested too deeply; take it out")
        except RuntimeError as problem:  # `Path.resolve` of Python 3.11 and 3.12
            if not str(problem).startswith("Symlink loop"):
                raise
            fail(f"{problem}; choose another place")
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except OSError as problem:
            if problem.errno not in ADVICE:
                raise
            fail(describe(problem))
    raise SystemExit(128 + signal.SIGTERM if came.is_set() else code)


@contextmanager
def interrupted_by_sigterm() -> Iterator[Event]:
    """Treat SIGTERM as Ctrl-C, so that it ends worker processes too; the event says if it came."""
    came = Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.set()
        # A shell that starts a command in the background makes it ignore Ctrl-C.
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    if current_thread() is not main_thread():  # only the main thread can handle signals
        yield came
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)
