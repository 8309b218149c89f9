"""Reads the text of a spec into plain data, and refuses data that is too large, deep or strange.

A spec may come from anybody, so the limits hold before anything else looks at it: its size in
bytes, the depth of tables, the number and length of texts, and the size of numbers.
"""

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from provegym.errors import UserError
from provegym.kernel.errors import shorten

MAX_BYTES = 400_000
MOST_VALUES = 60_000
MOST_TABLES = 3_000
DEEPEST = 14
LONGEST_TEXT, LONGEST_KEY = 400, 80
LARGEST = 1_000_000_000
# A string of TOML, to its end or to the end of its line.
STRING = re.compile(r'"(?:\\.|[^"\\\n])*+(?:"|$|\n)|\'[^\'\n]*+(?:\'|$|\n)', re.MULTILINE)
# A dotted key with many parts. tomllib needs time in the square of their number.
DOTTED = re.compile(r"(?<![\w.-])(?:[\w-]++[ \t]*+\.[ \t]*+){12}")


class SpecError(UserError, ValueError):
    """A spec is wrong; the message is one sentence that says where and why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(shorten(" ".join(sentence.split())))


def read_bytes(file: Path) -> bytes:
    """The bytes of a file; one that is too large is refused before it is read."""
    try:
        if not file.is_file():
            raise SpecError(f"{file} is not a file")
        if (size := file.stat().st_size) > MAX_BYTES:
            raise SpecError(f"{file.name}: a spec has at most {MAX_BYTES} bytes, not {size}")
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as problem:
        raise SpecError(f"{file} cannot be read: {problem.strerror}") from None


def read_text(text: str | bytes, where: str) -> Any:
    """The data in a text of TOML or JSON."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise SpecError(f"{where}: a spec has at most {MAX_BYTES} bytes, not {len(raw)}")
    try:
        if raw.lstrip()[:1] == b"{":
            return msgspec.json.decode(raw)
        toml = raw.decode()
        if DOTTED.search(STRING.sub("s ", toml)) or toml.count("\n[") > MOST_TABLES:
            raise SpecError(f"{where}: it has too many tables, or a key with too many parts")
        return tomllib.loads(toml)
    except (msgspec.MsgspecError, ValueError) as problem:
        if isinstance(problem, SpecError):
            raise
        reason = " ".join(str(problem).split())[:200]
        raise SpecError(f"{where} is neither TOML nor JSON: {reason}") from None
    except RecursionError:
        raise SpecError(f"{where} is nested too deeply") from None


def check_plain(data: Any, where: str) -> None:
    """Every text is one line, every number finite and small, and there is not too much of it."""
    if not isinstance(data, dict):
        raise SpecError(f"{where}: a spec is a table")
    left: list[tuple[Any, str, int]] = [(data, where, 0)]
    seen = 0
    while left:
        value, place, depth = left.pop()
        seen += 1
        if seen > MOST_VALUES or depth > DEEPEST:
            raise SpecError(f"{where}: it has too many values, or they are nested too deeply")
        if isinstance(value, dict):
            for key, part in value.items():
                _check_key(key, place)
                left.append((part, f"{place}.{key}" if depth < 4 else place, depth + 1))
        elif isinstance(value, list | tuple):
            left.extend((part, place, depth + 1) for part in value)
        else:
            _check_scalar(value, place)


def _check_key(key: Any, where: str) -> None:
    if not isinstance(key, str) or len(key) > LONGEST_KEY or not key.isprintable():
        raise SpecError(f"{where}: a name has at most {LONGEST_KEY} characters, on one line")


def _check_scalar(value: Any, where: str) -> None:
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT or not value.isprintable():
            raise SpecError(
                f"{where}: a text has at most {LONGEST_TEXT} characters, on one line,"
                f" without control characters: {value[:40]!r}"
            )
    elif isinstance(value, int | float):
        if abs(value) > LARGEST or not math.isfinite(value):
            raise SpecError(f"{where}: a number is between -{LARGEST:,} and {LARGEST:,}")
    elif value is not None:
        raise SpecError(f"{where}: {value!r:.60} is a {type(value).__name__}; write it as text")
