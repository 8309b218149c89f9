"""The worlds: one folder per server, found by being there."""

import pkgutil
import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from provegym.kernel import AnyServer


@cache
def names() -> tuple[str, ...]:
    """The servers there are, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg))


_added: dict[str, AnyServer] = {}
_asked: dict[str, dict[str, Any]] = {}


def add(server: AnyServer, asks: dict[str, Any] | None = None) -> None:
    """Let `load` find a server that came at run time, such as a foreign one, and `asks` its asks.

    They have the shape of an asks.toml; what is missing has defaults.
    """
    if server.name in names():
        raise ValueError(f"{server.name} is the name of a server of ours")
    _added[server.name], _asked[server.name] = server, asks or {}


def forget(name: str) -> None:
    """Take back what `add` did; a name that was not added is left alone."""
    _added.pop(name, None)
    _asked.pop(name, None)


def known() -> tuple[str, ...]:
    """Every name that `load` finds: the servers there are, then those that came at run time."""
    return (*names(), *_added)


def is_known(name: str) -> bool:
    """Whether `load` finds a server of this name."""
    return name in known()


def load(name: str) -> AnyServer:
    """One server by name."""
    return _added.get(name) or _load(name)


@cache
def _load(name: str) -> AnyServer:
    server: AnyServer = import_module(f"{__name__}.{name}").server
    return server


def load_all() -> list[AnyServer]:
    """Every server, in alphabetical order."""
    return [load(name) for name in names()]


def plain_name(name: str) -> str:
    """A name as it is compared with others: case and extra blanks do not count."""
    return " ".join(name.split()).casefold()


@cache
def words(name: str) -> dict[str, Any]:
    """The word lists a server draws its worlds from (its words.toml)."""
    return tomllib.loads(files(__name__).joinpath(name, "words.toml").read_text("utf-8"))


def asks(name: str) -> dict[str, Any]:
    """How people ask for a server's tools and refer to its records."""
    return _asked[name] if name in _added else _asks(name)


@cache
def _asks(name: str) -> dict[str, Any]:
    """A server's asks.toml."""
    return tomllib.loads(files(__name__).joinpath(name, "asks.toml").read_text("utf-8"))
