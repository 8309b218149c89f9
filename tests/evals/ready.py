"""The benchmarks' environments for the tests that need one."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provegym.evals.environments import BFCL, TAU2, BenchmarkError


def small() -> None:
    """BFCL's environment; it is built if need be, which takes some twenty seconds, once."""
    try:
        BFCL.set_up(lambda _: None)
    except BenchmarkError as problem:
        pytest.skip(str(problem))


def large() -> None:
    """τ²'s environment, if somebody has built it: it is 750 MB."""
    if not TAU2.is_ready():
        pytest.skip("tau2 is not set up here: provegym eval tau2 --setup (750 MB)")


def command(*arguments: object) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "provegym", *map(str, arguments)]


def run(*arguments: object, cache: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run the command line, perhaps as a user whose cache is elsewhere."""
    environment: dict[str, Any] = {**os.environ}
    if cache:
        environment["XDG_CACHE_HOME"] = str(cache)
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
