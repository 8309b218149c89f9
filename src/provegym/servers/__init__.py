"""The worlds: one folder per server, found by being there."""

import pkgutil
import re
import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
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


# Folders with world files: servers that are data (provegym.worlds), by name.
_folders: list[Path] = []
WORLD_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
BESIDE = "worlds"


def look_in(folder: Path) -> None:
    """Let `load` also find the worlds of a folder of world files."""
    if folder.is_dir() and folder not in _folders:
        _folders.append(folder)


def look_beside(data: Path) -> None:
    """Let `load` find the worlds of a corpus: they are in its folder `worlds`."""
    look_in((data if data.is_dir() else data.parent) / BESIDE)


def folders() -> tuple[Path, ...]:
    """The folders of world files, for worker processes."""
    return tuple(_folders)


def world_file(name: str) -> Path | None:
    """The file of a world, or None."""
    if not WORLD_NAME.fullmatch(name):
        return None
    files = (folder / f"{name}.json" for folder in _folders)
    return next((file for file in files if file.is_file()), None)


def known() -> tuple[str, ...]:
    """Every name that `load` finds: the servers there are, then those that came at run time."""
    return (*names(), *_added)


def is_known(name: str) -> bool:
    """Whether `load` finds a server of this name."""
    return name in known() or world_file(name) is not None


def load(name: str) -> AnyServer:
    """One server by name."""
    found = _added.get(name)
    if found is None and name not in names() and (file := world_file(name)) is not None:
        import_module("provegym.worlds.files").install_file(file)
        found = _added[name]
    return found or _load(name)


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
    if name not in _added and name not in names():
        load(name)
    return _asked[name] if name in _added else _asks(name)


@cache
def _asks(name: str) -> dict[str, Any]:
    """A server's asks.toml."""
    return tomllib.loads(files(__name__).joinpath(name, "asks.toml").read_text("utf-8"))
