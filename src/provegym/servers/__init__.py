"""The worlds: one folder per server, found by being there.

Servers of somebody's own are found too: in installed packages, in folders of packages, in files of
worlds that are data, and those that were added at run time.
"""

import pkgutil
import re
import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from provegym import packages
from provegym.kernel import AnyServer, Server
from provegym.packages import BrokenServer, ServerPackage


@cache
def names() -> tuple[str, ...]:
    """Our own servers, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg))


_added: dict[str, AnyServer] = {}
_asked: dict[str, dict[str, Any]] = {}


def add(server: AnyServer, asks: dict[str, Any] | None = None) -> None:
    """Let `load` find a server that came at run time, such as a foreign one, and `asks` its asks.

    They have the shape of an asks.toml; what is missing has defaults.
    """
    if server.name in names():
        raise ValueError(f"{server.name} is the name of one of ProveGym's servers")
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


# Folders of packages that hold servers (provegym.packages), and the servers found there.
_package_folders: list[Path] = []
_packages: dict[str, ServerPackage] = {}


class Places(NamedTuple):
    """The folders in which `load` looks for servers, for worker processes."""

    worlds: tuple[Path, ...] = ()
    packages: tuple[Path, ...] = ()


def places() -> Places:
    """Where this process looks for servers besides ours and the installed ones."""
    return Places(tuple(_folders), tuple(_package_folders))


def look_at(there: Places) -> None:
    """Look for servers where another process does."""
    for folder in there.worlds:
        look_in(folder)
    for folder in there.packages:
        look_in_packages(folder)


def look_in_packages(folder: Path) -> None:
    """Let `load` also find the servers of a folder of packages; BrokenServer says why it cannot."""
    folder = folder.resolve()
    if folder in _package_folders:
        return
    if not folder.is_dir():
        raise BrokenServer(f"{folder} is not a folder; name one that holds packages of servers")
    found = packages.in_folder(folder)
    if not found:
        raise BrokenServer(
            f"{folder} holds no server: a server is a package with an __init__.py and a tools.py;"
            " `provegym new-server NAME` writes one"
        )
    for name, package in found.items():
        if name in names():
            raise BrokenServer(
                f"{package.where}: {name} is the name of one of ProveGym's servers; rename the"
                " package and the server"
            )
        if name in _packages and _packages[name] != package:
            raise BrokenServer(
                f"two folders hold a server {name}: {_packages[name].where} and {package.where}"
            )
    _packages.update(found)
    _package_folders.append(folder)


def own() -> tuple[str, ...]:
    """The servers in packages of somebody's own, in alphabetical order.

    An installed server with the name of one of ours is left out; `problems` names it.
    """
    return tuple(sorted({*_packages, *packages.installed()} - {*names()}))


def packaged() -> tuple[str, ...]:
    """The servers that are Python packages: ours, then somebody's own."""
    return (*names(), *own())


def package_of(name: str) -> ServerPackage | None:
    """The package of somebody's own that holds a server; a named folder wins over an installed."""
    if name in names():
        return None
    return _packages.get(name) or packages.installed().get(name)


def world_file(name: str) -> Path | None:
    """The file of a world, or None."""
    if not WORLD_NAME.fullmatch(name):
        return None
    files = (folder / f"{name}.json" for folder in _folders)
    return next((file for file in files if file.is_file()), None)


def known() -> tuple[str, ...]:
    """Every name that `load` finds: ours, those of packages, then those that came at run time."""
    return (*packaged(), *_added)


def is_known(name: str) -> bool:
    """Whether `load` finds a server of this name."""
    return name in names() or name in _added or name in own() or world_file(name) is not None


def load(name: str) -> AnyServer:
    """One server by name; BrokenServer if its package cannot be used."""
    found = _added.get(name)
    if found is None and name not in names() and (file := world_file(name)) is not None:
        import_module("provegym.worlds.files").install_file(file)
        found = _added[name]
    return found or _load(name)


@cache
def _load(name: str) -> AnyServer:
    if (package := package_of(name)) is not None:
        return _load_package(package)
    if name not in names():  # it may come from a stranger's file, and is imported below
        raise BrokenServer(f"there is no server {name!r}; `provegym servers` lists them")
    server: AnyServer = import_module(f"{__name__}.{name}").server
    return server


def _load_package(package: ServerPackage) -> AnyServer:
    server = package.load()
    if not isinstance(server, Server):
        kind = type(server).__name__
        raise BrokenServer(f"{package.where}: its {package.attribute!r} is a {kind}, not a Server")
    if server.name != package.name:
        raise BrokenServer(
            f"{package.where} is registered as {package.name}, but its server is called"
            f" {server.name}; give both the same name"
        )
    return server


def load_all() -> list[AnyServer]:
    """Every server of ours, in alphabetical order."""
    return [load(name) for name in names()]


def load_known() -> list[AnyServer]:
    """Every server that can be loaded; those that cannot are left out, and `problems` has them."""
    broken = _broken()
    return [load(name) for name in known() if name not in broken]


def problems() -> list[str]:
    """One sentence for each package of somebody's own whose server cannot be used."""
    taken = sorted({*packages.installed()} & {*names()})
    clashes = [
        f"{packages.installed()[name].where}: {name} is the name of one of ProveGym's servers;"
        " rename the package's server"
        for name in taken
    ]
    return [*clashes, *_broken().values()]


def _broken() -> dict[str, str]:
    """The servers of packages that cannot be loaded, and why."""
    found: dict[str, str] = {}
    for name in own():
        try:
            load(name)
        except BrokenServer as problem:
            found[name] = str(problem)
    return found


def folder_of(name: str) -> Traversable:
    """The folder with the files of a server: ours, or that of somebody's package."""
    package = package_of(name)
    return files(__name__).joinpath(name) if package is None else package.files()


def source_of(name: str) -> str:
    """A hash of the files of a server in somebody's own package; empty for all other servers.

    Its author changes it without raising the version each time.
    """
    package = package_of(name)
    return "" if package is None else packages.fingerprint(package.files())


def plain_name(name: str) -> str:
    """A name as it is compared with others: case and extra blanks do not count."""
    return " ".join(name.split()).casefold()


@cache
def words(name: str) -> dict[str, Any]:
    """The word lists a server draws its worlds from (its words.toml)."""
    return _toml(name, "words.toml")


def asks(name: str) -> dict[str, Any]:
    """How people ask for a server's tools and refer to its records."""
    if name not in _added and name not in names() and name not in own():
        load(name)
    return _asked[name] if name in _added else _asks(name)


@cache
def _asks(name: str) -> dict[str, Any]:
    """A server's asks.toml."""
    return _toml(name, "asks.toml")


def _toml(name: str, file: str) -> dict[str, Any]:
    """A TOML file of a server; BrokenServer if somebody's own package has none that can be read."""
    path = folder_of(name).joinpath(file)
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise BrokenServer(f"{path} cannot be read: {problem}") from None
