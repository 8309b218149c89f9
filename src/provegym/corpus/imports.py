"""Import of public abstention data sets, When2Call and xLAM-irrelevance, as examples.

Their licences forbid us to ship them, so the user brings the file. A model sees the schemas of
their tools and cannot call them. It is rewarded for making no call.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from provegym.files import describe
from provegym.lines import read_lines, write_lines
from provegym.trace import BadFile, Example, Json, Provenance, ToolboxSpec, Turn, line
from provegym.trace.bounds import wrong_with
from provegym.trace.files import UNREADABLE

SYSTEM = "You are a helpful assistant. Use the tools given where one of them fits."
CALL = "<TOOLCALL>"
# A file that is one JSON list is read whole; those of the two data sets have 60 MB.
LARGEST = 512 << 20
TYPES = {
    **dict.fromkeys(("str", "string", "text", "char"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "number", "double", "complex", "decimal"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("list", "array", "tuple", "set", "sequence", "iterable"), "array"),
    **dict.fromkeys(("dict", "object", "mapping", "hashtable"), "object"),
}

Row = tuple[str, str, list[Any]]


class _Wrong(Exception):
    """A field is wrong. The message reads "field: what was expected"."""


def when2call(row: Json) -> Row | None:
    """A row of NVIDIA's When2Call, SFT or preference file; None if the answer is a call.

    The fields: `tools`, `messages` and, in the preference file, `chosen_response`.
    """
    messages = [_object(each, "messages") for each in _list(row, "messages")]
    if not messages or messages[0].get("role") != "user":
        raise _Wrong("messages: the first must be the user's")
    if "chosen_response" in row:
        answer = _text(_object(row["chosen_response"], "chosen_response"), "content")
    elif len(messages) > 1:
        answer = _text(messages[-1], "content")
    else:
        raise _Wrong("chosen_response: it is missing, and messages has no answer")
    asked = _text(messages[0], "content")
    return None if CALL in answer else (asked, answer, _list(row, "tools"))


def xlam_irrelevance(row: Json) -> Row | None:
    """A row of xLAM-irrelevance: `query`, and as JSON text `tools` and `answers` (empty)."""
    if _list(row, "answers"):
        raise _Wrong("answers: must be empty, as no tool fits")
    return _text(row, "query"), "", _list(row, "tools")


SOURCES: dict[str, Callable[[Json], Row | None]] = {
    "when2call": when2call,
    "xlam-irrelevance": xlam_irrelevance,
}


def examples(source: str, path: Path) -> Iterator[Example | None]:
    """The examples of an original file, and None for each row that calls a tool."""
    for number, row in rows(path):
        try:
            found = SOURCES[source](_object(row, "row"))
            example = found and _example(f"{source}/{number}", found)
            if example and (wrong := wrong_with(example)):
                raise _Wrong(wrong)
            yield example
        except _Wrong as problem:
            raise BadFile(f"{path}:{number}: {problem}") from None
        except RecursionError:
            raise BadFile(f"{path}:{number} is nested too deeply; take it out") from None


def rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a file, numbered: one per line, or all of them in one JSON list."""
    try:
        with path.open("rb") as file:
            if file.read(1) == b"[":
                yield from enumerate(_all_rows(file, path), 1)
                return
    except OSError as problem:
        raise BadFile(describe(problem, path)) from None
    for number, text in read_lines(path):
        if text.strip():
            yield number, _decoded(text, f"{path}:{number}", Any)


def _all_rows(file: BinaryIO, path: Path) -> list[Any]:
    """The rows of a file that is one JSON list, whose first bracket was read."""
    text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise BadFile(f"{path} is larger than {LARGEST >> 20} MB; write one row per line")
    raw = [bytes(each) for each in _decoded(b"[" + text, str(path), list[msgspec.Raw])]
    return [_decoded(each, f"{path}, row {at}", Any) for at, each in enumerate(raw, 1)]


def _decoded(text: bytes, where: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE as problem:
        told = "nested too deeply" if isinstance(problem, RecursionError) else problem
        raise BadFile(f"{where}: {told}; correct it, or take it out") from None


def _example(key: str, row: Row) -> Example:
    asked, answer, tools = row
    messages = (
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": answer},
    )
    return Example(
        id=key,
        kind="abstention",
        server="",
        server_version=0,
        seed=0,
        digest="",
        system=SYSTEM,
        turns=(Turn(text=asked),),
        toolbox=ToolboxSpec(schemas=tuple(schema(_object(tool, "tools")) for tool in tools)),
        provenance=Provenance(made="imported", transcript=messages if answer else ()),
    )


def schema(tool: Json) -> Json:
    """A tool as name, description and JSON schema.

    The originals name types as Python does, and have either a schema or bare arguments. Required
    arguments are listed; without a list, all that have no default and no mark "optional".
    """
    given = _object(tool.get("parameters") or {}, "tools: parameters")
    bare = "properties" not in given and given.get("type") not in ("dict", "object")
    described = _object(given if bare else given.get("properties") or {}, "tools: parameters")
    listed = tool.get("required", None if bare else given.get("required"))
    properties = {name: argument(part) for name, part in described.items()}
    if not isinstance(listed, list):
        listed = [name for name, part in described.items() if not _is_optional(part)]
    return {
        "name": re.sub(r"[^a-zA-Z0-9_-]", "_", _text(tool, "name"))[:64],
        "description": str(tool.get("description") or ""),
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": [name for name in listed if isinstance(name, str) and name in properties],
        },
    }


def argument(part: Any) -> Json:
    """The JSON schema of an argument. An unknown type is left out."""
    part = _object(part, "tools: parameters")
    kept = {key: part[key] for key in ("description", "default", "enum") if key in part}
    if not isinstance(kept.get("enum", []), list):
        del kept["enum"]
    name = str(part.get("type") or "").casefold().removeprefix("typing.").removeprefix("optional[")
    kind = TYPES.get(re.split(r"[^a-z]", name)[0])
    found = {"type": kind, **kept} if kind else kept
    if kind == "array" and isinstance(part.get("items"), dict):
        found["items"] = argument(part["items"])
    if kind == "object" and isinstance(part.get("properties"), dict):
        found["properties"] = {n: argument(p) for n, p in part["properties"].items()}
    return found


def _is_optional(part: Any) -> bool:
    kind = str(part.get("type") or "").casefold()
    return "default" in part or "optional" in kind


def _object(value: Any, field: str) -> Json:
    if not isinstance(value, dict):
        raise _Wrong(f"{field}: expected an object, found {type(value).__name__}")
    return value


def _list(row: Json, field: str) -> list[Any]:
    """A list, given as a list or as JSON text. Its elements may be JSON text as well."""
    value = row.get(field)
    try:
        if isinstance(value, str):
            value = msgspec.json.decode(value)
        if isinstance(value, list):
            return [msgspec.json.decode(v) if isinstance(v, str) else v for v in value]
    except UNREADABLE as problem:
        raise _Wrong(f"{field}: {problem}") from None
    raise _Wrong(f"{field}: expected a list" + ("" if field in row else ", and it is missing"))


def _text(row: Json, field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{field}: expected text" + ("" if field in row else ", and it is missing"))
    return value


def write_examples(source: str, path: Path, out: Path) -> tuple[int, int]:
    """Write the examples of an original file; return how many rows were kept and left out."""
    left = 0

    def lines() -> Iterator[bytes]:
        nonlocal left
        for example in examples(source, path):
            if example is None:
                left += 1
            else:
                yield line(example)

    return write_lines(out, lines()), left
