"""Runs the command line in this process, which saves the start of an interpreter."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple
from unittest.mock import patch

from provegym.cli import main


class Done(NamedTuple):
    """How a command ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    """Run a command to its end."""
    out, err = StringIO(), StringIO()
    argv = patch.object(sys, "argv", ["provegym", *map(str, arguments)])
    with argv, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int | None)
    return Done(code or 0, out.getvalue(), err.getvalue())
