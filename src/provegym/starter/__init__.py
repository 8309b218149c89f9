"""The starter package: writes a small working server as an installable package of its own."""

import re
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from provegym import __version__, servers
from provegym.files import make_folder, write_atomically
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
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BrokenServer(f"{folder} is there already; name an empty folder with --out")
    package = f"src/{name}"
    # An id is "wor" + "item" + "_1204": letters alone, and not a prefix of another server.
    prefix = re.sub(r"[^a-z]", "", name)[:8]
    written = []
    for where, template in FILES.items():
        path = folder / where.format(package=package)
        make_folder(path.parent)
        text = fill(
            f"starter/template/{template}.jinja", name=name, prefix=prefix, version=__version__
        )
        write_atomically(path, text)
        written.append(path)
    return written


def check_name(name: str) -> None:
    """Refuse a name that no server or no Python module can have."""
    if not NAME.fullmatch(name) or len(name) > LONGEST or iskeyword(name):
        raise BrokenServer(
            f"{name!r} cannot be the name of a server: use up to {LONGEST} lower-case letters,"
            " digits and single underscores, beginning with a letter"
        )
    if name in servers.packaged():
        raise BrokenServer(f"there is a server {name} already; choose another name")
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise BrokenServer(f"Python has a module {name} already; choose another name")
