"""How replies are written: sentences, quotations, bullets, rows of tables, numbers in words."""

import re
from collections.abc import Iterator

WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
SENTENCES = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'\u201d]))\s+|(?<!\s)\s*\n\s*")
QUOTED = re.compile(r"[\"\u201c][^\"\u201c\u201d\n]*?([.!?]?)[\"\u201d]")
MARKER = r"(?:[-*\u2022]|\d+[.)])"
BULLET = re.compile(rf"(\s*){MARKER}\s+")
RULE = re.compile(r"[\s|:-]+")


def is_echo(text: str, heard: str) -> bool:
    """Whether a text only repeats what was heard."""
    return _letters(text) in _letters(heard)


def _letters(text: str) -> str:
    """The words of a text in small letters, each between blanks."""
    words = re.findall(r"\w+", text.casefold())
    return f" {' '.join(words)} "


def lists(text: str) -> Iterator[list[str]]:
    """The items of each list of a text: its bullets of equal indent, or the rows of a table."""
    bullets: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in (*text.splitlines(), "."):
        if found := BULLET.match(line):
            bullets.setdefault(found[1], []).append(line[found.end() :])
        elif "|" in line:
            rows = [] if RULE.fullmatch(line) else [*rows, _row(line)]
        elif line.strip() and not line.startswith(" "):
            yield from (items for items in (*bullets.values(), rows) if items)
            bullets, rows = {}, []


def _row(line: str) -> str:
    """A row of a table as text, without cells that only count the rows."""
    first, *cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return " | ".join(cells if first.isdigit() else (first, *cells))
