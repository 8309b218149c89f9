"""Text on a terminal: control characters are escaped, because text from a file may hold any.

An escape sequence (ESC, or one of the C1 codes) could clear the screen, rename the window or hide
lines; marks that turn the direction of text could show a name in another order.
"""

import re
import sys
from typing import TextIO

# C0 but tab and newline, DEL, C1, line separators, marks of direction, invisible marks and tags,
# and halves of characters, which no terminal can show.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""A text with its control characters escaped, such as \x1b; tabs and newlines stay."""
    return CONTROL.sub(_escaped, text) if CONTROL.search(text) else text


def readable(name: str) -> str:
    r"""The name of a file as text; bytes that are no UTF-8 become \udcff and the like."""
    return name.encode(errors="backslashreplace").decode()


def _escaped(found: "re.Match[str]") -> str:
    number = ord(found[0])
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def printable_json(text: str) -> str:
    """JSON text with its control characters as JSON escapes, which mean the same."""
    return CONTROL.sub(lambda found: "".join(map(_json_escape, _halves(found[0]))), text)


def _halves(mark: str) -> list[int]:
    """The UTF-16 code units of a character."""
    raw = mark.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]


def _json_escape(number: int) -> str:
    return f"\\u{number:04x}"


def say(
    text: str = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False
) -> None:
    """Print a text; its control characters are escaped."""
    print(printable(text), file=file or sys.stdout, end=end, flush=flush)
