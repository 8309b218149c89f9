"""Reading and writing JSONL files of examples and rollouts."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path as File
from typing import TypeVar

import msgspec

from provegym import servers
from provegym.errors import UserError
from provegym.files import atomic_path
from provegym.trace.records import SCHEMA, Example, Rollout, Stored


class BadFile(UserError):
    """A file cannot be read; the message names file, line and field."""


T = TypeVar("T", Example, Rollout)
NONE: dict[type[Stored], str] = {
    Example: "holds no examples; `provegym synth` makes some",
    Rollout: "holds no rollouts; `provegym rollout` plays some",
}
OTHER: dict[type[Stored], tuple[type[Stored], str]] = {
    Example: (Rollout, "is a rollout, not an example; `provegym score` takes rollouts"),
    Rollout: (Example, "is an example, not a rollout; `provegym rollout` takes examples"),
}


def read(path: File | str, kind: type[T]) -> Iterator[T]:
    """The examples or rollouts of a JSONL file, or of all JSONL files in a folder.

    Worlds that are data are found in the folder `worlds` beside them.

    >>> examples = list(provegym.read("tests/data/maps.jsonl", provegym.Example))
    >>> examples[0].server
    'maps'
    """
    path = File(path)
    servers.look_beside(path)
    if path.is_dir():
        for part in sorted(path.glob("*.jsonl")):
            yield from read(part, kind)
        return
    decoder = msgspec.json.Decoder(kind)
    try:
        lines = path.open("rb")
    except OSError as problem:
        raise BadFile(f"{path}: {problem.strerror}") from None
    with lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _read_line(decoder, line, f"{path}:{number}")


def read_some(path: File, kind: type[T]) -> Iterator[T]:
    """Like `read`, but raises BadFile if there are none."""
    item = None
    for item in read(path, kind):
        yield item
    if item is None:
        raise BadFile(f"{path} {NONE[kind]}")


def _read_line(decoder: "msgspec.json.Decoder[T]", line: bytes, where: str) -> T:
    try:
        return decoder.decode(line)
    except RecursionError:
        raise BadFile(f"{where} is nested too deeply") from None
    except msgspec.DecodeError as problem:
        other, told = OTHER[decoder.type]
        with suppress(msgspec.DecodeError):
            msgspec.json.decode(line, type=other)
            raise BadFile(f"{where} {told}") from None
        hint = f" (this version reads schema {SCHEMA})" if "$.schema" in str(problem) else ""
        raise BadFile(f"{where}: {problem}{hint}") from None


def line(item: Example | Rollout) -> bytes:
    """One item as a line of JSON, which begins with the schema version."""
    return msgspec.json.encode(item) + b"\n"


def write(path: File | str, items: Iterable[Example | Rollout]) -> int:
    """Write a JSONL file atomically; returns the number of items.

    >>> provegym.write("examples.jsonl", [provegym.make("banking").example])  # doctest: +SKIP
    1
    """
    with atomic_path(File(path)) as part, part.open("wb") as out:
        return sum(1 for item in items if out.write(line(item)))
