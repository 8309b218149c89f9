"""Imports packages of the extra `worlds` on first use. If one is missing, the error says what to
install."""

import importlib
from typing import Any

from provegym.worlds.spec import SpecError

INSTALL = "in a clone of ProveGym, run pip install '.[worlds]'"


def need(module: str) -> Any:
    """Import a module of the extra `worlds`, or raise SpecError."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name != module.partition(".")[0]:
            raise
        raise SpecError(f"{module} is missing: {INSTALL}") from None
