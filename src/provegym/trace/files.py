"""Reading and writing JSONL files of examples and rollouts.

Whatever is read is checked here, once: the line by its checksum, the JSON by its types, the values
by their bounds (`provegym.trace.bounds`), and that nothing occurs twice. The rest of the program
trusts it.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path as File
from typing import TypeVar
from zlib import crc32

import msgspec

from provegym import servers
from provegym.errors import BadFile
from provegym.lines import read_lines, write_lines
from provegym.trace.bounds import wrong_with
from provegym.trace.records import SCHEMA, Example, Rollout, Stored

T = TypeVar("T", Example, Rollout)
NONE: dict[type[Stored], str] = {
    Example: "holds no examples; `provegym synth` makes some",
    Rollout: "holds no rollouts; `provegym rollout` plays some",
}
OTHER: dict[type[Stored], tuple[type[Stored], str]] = {
    Example: (Rollout, "is a rollout, not an example; `provegym score` takes rollouts"),
    Rollout: (Example, "is an example, not a rollout; `provegym rollout` takes examples"),
}
# What msgspec raises on bytes that are not JSON of the right types.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read(path: File | str, kind: type[T]) -> Iterator[T]:
    """The examples or rollouts of a JSONL file, or of all JSONL files in a folder.

    Worlds that are data are found in the folder `worlds` beside them. BadFile says what is wrong
    with a line.

    >>> examples = list(provegym.read("tests/data/maps.jsonl", provegym.Example))
    >>> examples[0].server
    'maps'
    """
    path = File(path)
    servers.look_beside(path)
    decoder = msgspec.json.Decoder(kind)
    seen: dict[object, str] = {}
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        if kind is Rollout:  # the files of a folder may be steps of one run, which repeats itself
            seen.clear()
        for number, line in read_lines(file):
            if not line.isspace():
                where = f"{file}:{number}"
                item = _read_line(decoder, line, where)
                _check_new(item, line, where, seen)
                yield item


def read_some(path: File, kind: type[T]) -> Iterator[T]:
    """Like `read`, but raises BadFile if there are none."""
    item = None
    for item in read(path, kind):
        yield item
    if item is None:
        raise BadFile(f"{path} {NONE[kind]}")


def _read_line(decoder: "msgspec.json.Decoder[T]", line: bytes, where: str) -> T:
    try:
        item = decoder.decode(line)
    except UNREADABLE as problem:
        raise BadFile(f"{where}{_why(problem, line, decoder.type)}") from None
    if wrong := wrong_with(item):
        raise BadFile(f"{where}: {wrong}; correct this line, or take it out")
    return item


def _why(problem: Exception, line: bytes, kind: type[Stored]) -> str:
    """Why a line cannot be read, and what to do."""
    if isinstance(problem, RecursionError):
        return " is nested too deeply; take it out"
    if not line.endswith(b"\n") and "truncated" in str(problem):
        return (
            f" is incomplete ({problem}): the command that wrote it was killed, or is still"
            " writing; run it again, or take this line out"
        )
    other, told = OTHER[kind]
    with suppress(*UNREADABLE):
        msgspec.json.decode(line, type=other)
        return f" {told}"
    hint = f" (this version reads schema {SCHEMA})" if "$.schema" in str(problem) else ""
    return f": {problem}{hint}; correct this line, or take it out"


def _check_new(item: Example | Rollout, line: bytes, where: str, seen: dict[object, str]) -> None:
    """Raise BadFile if an id of an example, or a whole rollout, was there before.

    Rollouts of one example may be many: samples, several players, and the steps of a run.
    """
    if isinstance(item, Example):
        key: object = item.id
        told = f"has the id {item.id}"
    else:
        key = item.example.id, len(line), crc32(line)
        told = "is the same rollout"
    first = seen.setdefault(key, where)
    if first is not where:
        raise BadFile(
            f"{where} {told} again that {first} has: two processes wrote here, or a file was"
            " copied; take one of them out"
        )


def line(item: Example | Rollout) -> bytes:
    """One item as a line of JSON, which begins with the schema version."""
    return msgspec.json.encode(item) + b"\n"


def write(path: File | str, items: Iterable[Example | Rollout]) -> int:
    """Write a JSONL file atomically, with checksums; returns the number of items.

    >>> provegym.write("examples.jsonl", [provegym.make("banking").example])  # doctest: +SKIP
    1
    """
    return write_lines(File(path), map(line, items))
