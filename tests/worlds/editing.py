"""Edits a spec that is plain data, by a path such as operations/lend_item/guards/0/of."""

from copy import deepcopy
from functools import cache
from typing import Any

from provegym.kernel import AnyServer
from provegym.worlds import build
from provegym.worlds.spec import convert
from worlds.mutants import library

GONE = object()


@cache
def base() -> dict[str, Any]:
    """The spec of the library, which is not to be changed."""
    return library()


def find(node: Any, name: str) -> Any:
    """A part of some data: by key, by index, or of a list by the name of its element."""
    if isinstance(node, dict):
        return node[name]
    if name.isdigit():
        return node[int(name)]
    return next(each for each in node if name in (each.get("name"), each.get("tool")))


def edited(*edits: tuple[str, Any]) -> dict[str, Any]:
    """The spec of the library with other values at some paths; GONE removes what is there."""
    data = deepcopy(base())
    for path, value in edits:
        *way, last = path.split("/")
        node = data
        for name in way:
            node = find(node, name)
        if isinstance(node, list):
            _replace(node, last, value)
        elif value is GONE:
            del node[last]
        else:
            node[last] = deepcopy(value)
    return data


def _replace(node: list[Any], name: str, value: Any) -> None:
    if name == "+":
        node.append(deepcopy(value))
        return
    at = node.index(find(node, name))
    if value is GONE:
        del node[at]
    else:
        node[at] = deepcopy(value)


def server_of(*edits: tuple[str, Any]) -> AnyServer:
    """The server of the library with some edits."""
    return build(convert(edited(*edits)))
