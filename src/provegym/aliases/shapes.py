"""Shapes of results: bare JSON, in an envelope, nested, or a text table; and the way back.

A text table has a line for each single value, and below it a block for each list of records. No
value is lost: a text that could be read as something else is written as a JSON string.
"""

import re
from decimal import Decimal
from typing import Any

import msgspec

from provegym.kernel.state import ENCODE
from provegym.trace import Json

# Numbers such as 6000.00 keep their digits.
EXACT = msgspec.json.Decoder(float_hook=Decimal).decode
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# A bare text that could be read as another value, or as more than one cell.
UNCLEAR = re.compile(rf'[{{["\s]|.*(?:[|\n]|\s\Z)|(?:|true|false|null|{NUMBER.pattern})\Z', re.S)
BAR, COLON = " | ", ": "
NESTING = ("response", "result")


def wrap(value: Json, shape: str) -> str:
    """A result as the model sees it."""
    if shape == "table":
        return table(value)
    if shape == "envelope":
        return ENCODE({"status": "ok", "data": value}).decode()
    if shape == "nested":
        outer, inner = NESTING
        return ENCODE({outer: {"ok": True, inner: value}}).decode()
    return ENCODE(value).decode()


def unwrap(text: str, shape: str) -> Json:
    """The result within a text that `wrap` made."""
    if shape == "table":
        return parse_table(text)
    value: Json = EXACT(text)
    if shape == "envelope":
        value = value["data"]
    elif shape == "nested":
        outer, inner = NESTING
        value = value[outer][inner]
    return value


def wrap_error(kind: str, message: str, shape: str) -> str:
    """An error as the model sees it; it is JSON in every shape."""
    status = {"status": "error"} if shape == "envelope" else {}
    return ENCODE({**status, "error": kind, "message": message}).decode()


def structured(text: str) -> Json | None:
    """The object in the text of a result, or None if it is a table."""
    try:
        told = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return told if isinstance(told, dict) else None


def is_error(text: str) -> bool:
    """Whether the text of a result is an error, in any shape."""
    told = structured(text)
    return told is not None and told.keys() - {"status"} == {"error", "message"}


def table(value: Json) -> str:
    """A result as lines of text and tables."""
    single = {name: part for name, part in value.items() if not _is_tabular(part)}
    blocks = ["\n".join(f"{name}{COLON}{_cell(part)}" for name, part in single.items())]
    for name, rows in value.items():
        if name not in single:
            columns = list(dict.fromkeys(column for row in rows for column in row))
            lines = [BAR.join(_cell(row[c]) if c in row else "" for c in columns) for row in rows]
            blocks.append("\n".join([f"[{name}]", BAR.join(columns), *lines]))
    return "\n\n".join(block for block in blocks if block)


def parse_table(text: str) -> Json:
    """The result that a text table shows."""
    value: Json = {}
    for block in text.split("\n\n") if text else ():
        first, *rest = block.split("\n")
        if first.startswith("["):
            columns = rest[0].split(BAR)
            value[first[1:-1]] = [_row(columns, line) for line in rest[1:]]
            continue
        for line in (first, *rest):
            name, _, cell = line.partition(COLON)
            value[name] = _value(cell)
    return value


def _row(columns: list[str], line: str) -> Json:
    cells = zip(columns, line.split(BAR), strict=True)
    return {name: _value(cell) for name, cell in cells if cell}


def _is_tabular(value: Any) -> bool:
    """Whether a value is a list of records that no line of a table confuses."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) and v for v in value)


def _cell(value: Any) -> str:
    if isinstance(value, str) and not UNCLEAR.match(value):
        return value
    if type(value) is int:
        return str(value)
    return ENCODE(value).decode().replace("|", "\\u007c")


def _value(cell: str) -> Any:
    if cell in ("true", "false", "null") or cell[0] in '{["' or NUMBER.fullmatch(cell):
        return EXACT(cell)
    return cell
