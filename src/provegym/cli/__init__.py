"""The command line `provegym`, built with typer: one module per group of commands."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from provegym import __version__, servers
from provegym.cli import (
    benchmarks,
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
from provegym.config import BadRecipe
from provegym.evals.environments import BenchmarkError
from provegym.hosts.inline import HostError
from provegym.models.endpoint import EndpointError
from provegym.packages import BrokenServer
from provegym.teacher.teacher import TeacherError
from provegym.trace import BadFile
from provegym.worlds.spec import SpecError

__all__ = [
    "app",
    "benchmarks",
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

# Errors that a user can mend; the message says how.
EXPECTED = (
    *(HostError, BadFile, BadRecipe, TeacherError, BenchmarkError, EndpointError, SpecError),
    BrokenServer,
)


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
        print(__version__)
    elif ctx.invoked_subcommand is None:
        print(ctx.get_help())


def main() -> None:
    """Run the command line; an expected error is printed as one line."""
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as problem:
        fail(problem.format_message())
    except EXPECTED as problem:
        fail(str(problem))
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    raise SystemExit(code)
