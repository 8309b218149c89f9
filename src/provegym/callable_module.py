"""Modules that can be called: `provegym.verify(example)` beside `provegym.verify.contract`.

Python binds a submodule to the name of its package, where the Python API has a function of the same
name. So such a module passes calls on to the function.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module whose call is a call of the function of the same name in `provegym.api`."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function of the Python API."""
        function = getattr(import_module("provegym.api"), self.__name__.rpartition(".")[2])
        return function(*given, **named)


def make_callable(name: str) -> None:
    """Let a module of this package be called."""
    sys.modules[name].__class__ = CallableModule
