"""A small world made by hand, and changes that make it a bad one."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provegym.worlds.spec import WorldSpec, convert

Json = dict[str, Any]
FILE = Path(__file__).with_name("boats.toml")


def boats(
    name: str = "boat_hire", change: Callable[[Json], object] = lambda data: None
) -> WorldSpec:
    """The spec of the boat hire under some name, after a change of its data."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    data["name"] = name
    change(data)
    return convert(data)


def tool(data: Json, name: str) -> Json:
    """An operation of a spec."""
    return next(each for each in data["operations"] if each["tool"] == name)


def without(data: Json, *tools: str) -> None:
    """Remove operations, and the past that calls them."""
    for table in ("operations", "past"):
        data[table] = [each for each in data[table] if each["tool"] not in tools]
