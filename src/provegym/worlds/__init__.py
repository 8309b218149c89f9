"""Worlds that are data: a spec in TOML or JSON becomes a server like any other.

`spec.py` says what a spec holds and `check.py` what makes one wrong. `build.py` turns it into a
server.
"""

from provegym.worlds.build import build
from provegym.worlds.spec import SpecError, WorldSpec, parse, read

__all__ = ["SpecError", "WorldSpec", "build", "parse", "read"]
