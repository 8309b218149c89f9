"""JSON pointers with wildcards: where arguments take free text, and where results hold values."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from provegym.kernel import Tool

Json = dict[str, Any]
Scalar = str | int | float
EACH = "*"
FILE = re.compile(r"(?=.*[A-Za-z])[\w./-]*\w\.[A-Za-z]\w{1,4}")


class Slot(NamedTuple):
    """A place in a tool's arguments that takes free text, as a path of names."""

    tool: str
    path: tuple[str, ...]
    required: bool = True

    @property
    def name(self) -> str:
        """The path as one word, with `*` for any list element: settings/*/device_id."""
        return "/".join(self.path)


def slots(tool: Tool) -> list[Slot]:
    """Every place in a tool's arguments that takes free text: no enum, no date, no time."""
    return list(_slots(tool.name, tool.input_schema, (), True))


def _slots(tool: str, schema: Json, path: tuple[str, ...], required: bool) -> Iterator[Slot]:
    for name, part in schema.get("properties", {}).items():
        needed = required and name in schema.get("required", ())
        yield from _slot(tool, part, (*path, name), needed)


def _slot(tool: str, schema: Json, path: tuple[str, ...], required: bool) -> Iterator[Slot]:
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "array" in kinds:
        yield from _slot(tool, schema["items"], (*path, EACH), required)
    elif "object" in kinds:
        yield from _slots(tool, schema, path, required)
    elif "string" in kinds and not {"enum", "const", "format"} & schema.keys():
        yield Slot(tool, path, required)


def taken(arguments: Any, path: tuple[str, ...]) -> Any:
    """The value at a place, or None. In a list the first element is taken."""
    for name in path:
        if name == EACH:
            arguments = arguments[0] if arguments else None
        else:
            arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def filled(arguments: Any, path: tuple[str, ...], value: Scalar) -> Any:
    """The same arguments with another value at a place. In a list the first element changes."""
    if not path:
        return value
    name, rest = path[0], path[1:]
    if name == EACH:
        items = arguments if isinstance(arguments, list) else []
        return [filled(items[0] if items else {}, rest, value), *items[1:]]
    fields = arguments if isinstance(arguments, Mapping) else {}
    return {**fields, name: filled(fields.get(name), rest, value)}


def spots(value: Any, pointer: str = "") -> Iterator[tuple[str, Scalar | bool]]:
    """Every scalar of a result with its pointer. The elements of a list share one pointer."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from spots(part, f"{pointer}/{name}")
    elif isinstance(value, list):
        for part in value:
            yield from spots(part, f"{pointer}/{EACH}")
    elif value is not None:
        yield pointer, value


def lines(value: Any) -> Iterator[tuple[str, Scalar | bool]]:
    """As `spots`, and every line of a longer text, because many servers answer in plain text.

    Of a line of two or three words, the last word is a value too ("[FILE] notes.txt"), and so is
    what looks like a file ("- minutes.docx (35 KB)"). Headings, which end in a colon, are skipped.
    """
    for pointer, leaf in spots(value):
        yield pointer, leaf
        if isinstance(leaf, str) and "\n" in leaf:
            for line in map(str.strip, leaf.splitlines()):
                if line and not line.endswith(":"):
                    yield f"{pointer}/{EACH}", line
                    words = line.split()
                    last = words[-1:] if len(words) in (2, 3) else []
                    for word in dict.fromkeys((*last, *filter(FILE.fullmatch, words))):
                        yield f"{pointer}/{EACH}", word


def pointed(value: Any, pointer: str) -> list[Any]:
    """All values that a pointer leads to, where * is each element of a list."""
    found = [value]
    for part in pointer.split("/")[1:]:
        if part == EACH:
            found = [each for node in found if isinstance(node, list) for each in node]
        else:
            found = [node[part] for node in found if isinstance(node, dict) and part in node]
    return [each for each in found if each is not None]
