"""Servers in somebody's own Python package: installed with an entry point, or found in a folder.

An installed package declares its server in the entry point group `provegym.servers`, as a module or
as `module:attribute`. In a folder, a server is a package with an `__init__.py` beside a `tools.py`
or an `asks.toml`; its name is that of the package. The project folder that `provegym new-server`
writes, with the package under `src`, is found as well.
"""

import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from provegym.errors import UserError

GROUP = "provegym.servers"
ATTRIBUTE = "server"
MARKS = ("tools.py", "asks.toml")
SOURCES = ("*.py", "words.toml", "asks.toml")


class BrokenServer(UserError):
    """A package that should hold a server cannot be used; the message names it and says why."""


class ServerPackage(NamedTuple):
    """Where a server is: the module, the name of the server in it, and the package's folder.

    `folder` is None for an installed package, which Python finds by itself.
    """

    name: str
    module: str
    attribute: str
    folder: Path | None

    @property
    def where(self) -> str:
        """The package in words, for errors."""
        return f"the installed module {self.module}" if self.folder is None else str(self.folder)

    def load(self) -> object:
        """Import the package and return its server."""
        module = self.imported()
        try:
            server: object = module.__dict__[self.attribute]
        except KeyError:
            raise BrokenServer(
                f"{self.where} has no {self.attribute!r}; its __init__.py must import it, as"
                " `from .state import server`"
            ) from None
        return server

    def imported(self) -> ModuleType:
        """The imported module; BrokenServer says what went wrong."""
        try:
            if self.folder is None:
                return import_module(self.module)
            return _import_from(self.module, self.folder)
        except BrokenServer:
            raise
        except Exception as problem:
            raise BrokenServer(
                f"{self.where} cannot be imported: {type(problem).__name__}: {_first(problem)}"
            ) from problem

    def files(self) -> Path:
        """The folder of the package's files."""
        if self.folder is not None:
            return self.folder
        module = sys.modules.get(self.module) or self.imported()
        return Path(str(module.__file__)).parent


@cache
def installed() -> dict[str, ServerPackage]:
    """The servers of installed packages, by name."""
    return {point.name: _declared(point) for point in entry_points(group=GROUP)}


def _declared(point: EntryPoint) -> ServerPackage:
    return ServerPackage(point.name, point.module, point.attr or ATTRIBUTE, None)


def in_folder(folder: Path) -> dict[str, ServerPackage]:
    """The servers of a folder of packages, by name; the folder can also be one such package."""
    found = sorted({path.resolve() for path in _packages(folder)})
    return {path.name: ServerPackage(path.name, path.name, ATTRIBUTE, path) for path in found}


def _packages(folder: Path) -> Iterator[Path]:
    if is_package(folder):
        yield folder
        return
    for pattern in ("*", "src/*", "*/src/*"):
        yield from (path for path in folder.glob(pattern) if is_package(path))


def is_package(path: Path) -> bool:
    """Whether a folder is a Python package that holds a server, by its files."""
    marked = any((path / mark).is_file() for mark in MARKS)
    return marked and (path / "__init__.py").is_file() and path.name.isidentifier()


def _import_from(name: str, folder: Path) -> ModuleType:
    """Import a package from its folder, under its own name."""
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ is not None and Path(known.__file__).resolve().parent == folder:
            return known
        raise BrokenServer(f"{folder}: another Python module is called {name!r}; rename the folder")
    spec = spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise BrokenServer(f"{folder} is not a Python package")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        for each in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[each]
        raise
    return module


def fingerprint(folder: Path) -> str:
    """A hash of the files that decide what a server does and says."""
    found = sorted({path for pattern in SOURCES for path in folder.glob(pattern)})
    hashed = blake2b(digest_size=12)
    for path in found:
        hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()


def _first(problem: Exception) -> str:
    """The first line of an error, at most 200 characters."""
    return str(problem).strip().partition("\n")[0][:200]
