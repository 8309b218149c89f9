"""The starter package: writes a small working server as an installable package of its own."""

import re
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from provegym import __version__, servers
from provegym.files import LOCK, locked, make_folder, write_atomically
from provegym.packages import BrokenServer
from provegym.templates import fill

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
LONGEST = 24
# The files of the project, by where they go: {package} is the folder of the Python package.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "{package}/__init__.py": "__init__.py",
    "{package}/state.py": "state.py",
    "{package}/seed.py": "seed.py",
    "{package}/tools.py": "tools.py",
    "{package}/words.toml": "words.toml",
    "{package}/asks.toml": "asks.toml",
    "{package}/demo.toml": "demo.toml",
    "tests/conftest.py": "conftest.py",
    "tests/test_story.py": "test_story.py",
    "tests/test_contract.py": "test_contract.py",
}


def write_project(name: str, folder: Path) -> list[Path]:
    """Write the project of a new server into an empty folder, and return its files."""
    check_name(name)
    if folder.exists() and not folder.is_dir():
        raise _taken(folder)
    package = f"src/{name}"
    # An id is "wor" + "item" + "_1204": letters alone, and not a prefix of another server.
    prefix = re.sub(r"[^a-z]", "", name)[:8]
    known = {"name": name, "prefix": prefix, "version": __version__}
    texts = {
        folder / where.format(package=package): fill(f"starter/template/{template}.jinja", **known)
        for where, template in FILES.items()
    }
    with locked(folder):
        _check_free(folder, texts)
        for path, text in texts.items():
            make_folder(path.parent)
            write_atomically(path, text)
    return list(texts)


def _check_free(folder: Path, texts: dict[Path, str]) -> None:
    """Refuse a folder with anything but a part of this project, which a killed process has left."""
    ours = {path.relative_to(folder).parts[0] for path in texts} | {LOCK}
    if any(path.name not in ours and path.suffix != ".part" for path in folder.iterdir()):
        raise _taken(folder)
    held = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
    whole = [path for path in held if path.suffix != ".part"]
    if len(whole) == len(texts) or any(
        path not in texts or path.read_bytes() != texts[path].encode() for path in whole
    ):
        raise _taken(folder)


def _taken(folder: Path) -> BrokenServer:
    return BrokenServer(f"{folder} is there already; name an empty folder with --out")


def check_name(name: str) -> None:
    """Refuse a name that no server or no Python module can have."""
    if iskeyword(name):
        raise BrokenServer(f"{name} is a word of the Python language; choose another name")
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise BrokenServer(
            f"{name!r} cannot be the name of a server: use up to {LONGEST} lower-case letters,"
            " digits and single underscores, beginning with a letter"
        )
    if name in servers.packaged():
        raise BrokenServer(f"there is a server {name} already; choose another name")
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise BrokenServer(f"Python has a module {name} already; choose another name")
