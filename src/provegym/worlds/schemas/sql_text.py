"""Splits an SQL script into statements, and finds plain triggers in it, with regular expressions.

Only CREATE TABLE and ALTER TABLE are parsed as SQL, elsewhere. Work is linear in the text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from provegym.worlds.spec import SpecError

MAX_BYTES = 3_000_000
MAX_TABLES = 250
MAX_STATEMENT = 60_000
MAX_INDEX = 2_000
MAX_DEPTH = 24
# So many characters of CREATE TABLE and ALTER TABLE are parsed; it takes about a second. Each try
# to parse a statement costs as much time as so many characters.
MAX_PARSED = 400_000
PARSE_COST = 40
BRACKET = re.compile(r"\b[eE]'(?:[^'\\]|\\.)*'|'[^']*'|\"[^\"]*\"|`[^`]*`|[()]")
PART = re.compile(rf"{BRACKET.pattern}|,")
DROP = re.compile(
    r"DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?([^;]*?)(?:\s+(?:CASCADE|RESTRICT))?\s*$", re.I
)
# The data of a dump by Postgres.
COPIED = re.compile(r"^COPY\b[^;\n]*\bFROM\s+stdin;$", re.IGNORECASE | re.MULTILINE)
COPIED_END = re.compile(r"^\\\.$", re.MULTILINE)
# mysqldump hides a trigger in comments that MySQL runs.
HIDDEN = re.compile(
    r"/\*!\d{5} CREATE\*/ (?:/\*!\d{5} DEFINER=[^*]{1,200}\*/ )?/\*!\d{5} TRIGGER(.*?)\*/",
    re.DOTALL,
)
PIECE = re.compile(
    r"--|^[ \t]*\#|/\*|'|\"|`|\[[^\]\n]{1,80}\]|\$\w*\$|^DELIMITER\b"
    r"|;[;\s]*|//|\bBEGIN\b|\bEND\b|\bCREATE\b|^[ \t]*GO(?:[ \t]+\d{1,5})?[ \t\r;]*$",
    re.IGNORECASE | re.MULTILINE,
)
# What ends a comment or a quoted text; other pieces have no inside.
ENDS = {"--": "\n", "#": "\n", "/*": "*/", "'": "'", '"': '"', "`": "`", "DELIMITER": "\n"}
ESCAPED = re.compile(r"(?:[^'\\]|\\.|'')*'", re.DOTALL)
COMMENTS = ("--", "#", "/*", "DELIMITER")
TRIGGER = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+|DEFINER\s*=\s*\S+\s+|TEMP\s+|CONSTRAINT\s+)*TRIGGER\b", re.I
)
TABLE = re.compile(r"CREATE\s+TABLE\b", re.I)
WANTED = re.compile(
    r"(CREATE\s+(OR\s+REPLACE\s+)?(GLOBAL\s+|LOCAL\s+|TEMP\w*\s+|UNLOGGED\s+)*"
    r"(TABLE|TYPE|DOMAIN|UNIQUE\s+(?:(?:NON)?CLUSTERED\s+)?INDEX|FUNCTION|TRIGGER|DEFINER|CONSTRAINT)"
    r"|ALTER\s+TABLE|DROP\s+TABLE)\b",
    re.I,
)
ENUM = re.compile(r"CREATE\s+TYPE\s+([\w.\"]+)\s+AS\s+ENUM\s*\((.*)\)", re.I | re.DOTALL)
DOMAIN = re.compile(r"CREATE\s+DOMAIN\s+([\w.\"]+)\s+AS\s+(\w+)", re.I)
INDEX = re.compile(
    r"CREATE\s+UNIQUE\s+(?:(?:NON)?CLUSTERED\s+)?INDEX\b.*?\bON\s+(?:ONLY\s+)?([\w.\"`\[\]]+)([^(]*\(.*)",
    re.I | re.DOTALL,
)
INHERITS = re.compile(r"\s*INHERITS\s*\(([^()]*)\)", re.I)
HEAD = re.compile(
    r"CREATE\s+[^;]{0,80}?TRIGGER\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.\"`\[\]]+)\s+(BEFORE|AFTER)?\s*(INSERT|DELETE|UPDATE)"
    r"(.*?)\bON\s+([\w.\"`\[\]]+)(.*)",
    re.I | re.DOTALL,
)
FUNCTION = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\s+([\w.\"]+)", re.I)
DOLLARS = re.compile(r"\$\w*\$")
RUNS = re.compile(r"EXECUTE\s+(?:FUNCTION|PROCEDURE)\s+([\w.\"]+)", re.I)
UPDATE = re.compile(
    r"UPDATE\s+(?P<table>[\w.\"`\[\]]+)\s+SET\s+(?P<column>[\w\"`\[\]]+)\s*=\s*"
    r"(?:(?:COALESCE|IFNULL)\s*\(\s*)?(?P<held>[\w.\"`\[\]]+)(?:\s*,\s*0\s*\))?\s*(?P<sign>[+-])\s*"
    r"(?P<amount>(?:NEW|OLD)\.[\w\"`\[\]]+|\d+)\s+WHERE\s+(?P<key>[\w.\"`\[\]]+)\s*=\s*"
    r"(?:NEW|OLD)\.(?P<by>[\w\"`\[\]]+)",
    re.I,
)
EMPTY = re.compile(r"\s*(RETURN\s+(NEW|OLD|NULL)|BEGIN|END|FOR\s+EACH\s+ROW|DECLARE)?\s*", re.I)


class PlainTrigger(NamedTuple):
    """A trigger that changes a number of another table, with names as the script has them."""

    table: str
    event: str
    target: str
    column: str
    sign: str
    amount: str
    by: str


def unquoted(name: str) -> str:
    """A name without quotes and without its schema."""
    return re.sub(r"[\"`\[\]]", "", name).rpartition(".")[2]


def statements(text: str) -> Iterator[str]:
    """The statements of a script that describe a schema; data and comments are skipped."""
    if len(text) > MAX_BYTES:
        raise SpecError(f"an SQL script has at most {MAX_BYTES} characters, not {len(text)}")
    escapes = guess_dialect(text) == "mysql"
    text = _without_data(text.removeprefix("\ufeff"), escapes=escapes)
    at, start, depth = 0, 0, 0
    parts: list[str] = []
    in_trigger = in_table = False
    while piece := PIECE.search(text, at):
        word = ";" if piece[0][0] == ";" else piece[0].strip().upper()
        if (escapes and word == "$$") or word.startswith("GO"):
            # MySQL has no dollar quotes: a script chose $$ as its delimiter. A line GO is the
            # one of SQL Server.
            word = ";"
            depth = 0
        is_escaped = escapes or (word == "'" and _is_escape(text, piece.start() - 1))
        at = _end_of(text, word, piece.end(), escapes=is_escaped)
        if word in COMMENTS:
            parts.append(text[start : piece.start()])
            start = at
        elif word == "CREATE" and not in_trigger:
            in_trigger = bool(TRIGGER.match(text, piece.start()))
            if in_table and WANTED.match(text, piece.start()):
                # SQL Server needs no semicolon between two statements.
                yield from _wanted("".join([*parts, text[start : piece.start()]]))
                start, depth, parts = piece.start(), 0, []
            in_table = bool(TABLE.match(text, piece.start()))
        elif word == "BEGIN" and in_trigger:
            depth += 1
        elif word == "END" and in_trigger:
            after = text[at : at + 12].lstrip().upper()
            depth -= 0 if after.startswith(("IF", "CASE", "LOOP", "WHILE")) else 1
        elif (word == ";" and depth <= 0) or word == "//":
            yield from _wanted("".join([*parts, text[start : piece.start()]]))
            start, depth, parts = at, 0, []
            in_trigger = in_table = False
    yield from _wanted("".join([*parts, text[start:]]))


def _without_data(text: str, *, escapes: bool) -> str:
    """A script without the data of COPY, and with the triggers that mysqldump hides."""
    if escapes:
        return HIDDEN.sub(r"CREATE TRIGGER\1", text)
    parts: list[str] = []
    at = 0
    while found := COPIED.search(text, at):
        parts.append(text[at : found.start()])
        end = COPIED_END.search(text, found.end())
        at = end.end() if end else len(text)
    return "".join([*parts, text[at:]])


def _is_escape(text: str, at: int) -> bool:
    """Whether the letter before a quote is the E of Postgres, so that a backslash escapes."""
    before = text[max(at - 1, 0) : at]
    return text[max(at, 0) : at + 1] in ("e", "E") and not (before.isalnum() or before == "_")


def _end_of(text: str, word: str, at: int, *, escapes: bool) -> int:
    """Where a comment or a quoted text ends; the end of all if it is never closed."""
    if word == "'" and escapes:
        closed = ESCAPED.match(text, at)
        return closed.end() if closed else len(text)
    end = word if word.startswith("$") else ENDS.get(word, "")
    if not end:
        return at
    # A tag of a dollar quote is compared as it is written, so its case is looked up again.
    found = text.find(text[at - len(end) : at] if end == word and word != "'" else end, at)
    return len(text) if found < 0 else found + len(end)


def _wanted(statement: str) -> Iterator[str]:
    statement = statement.strip()
    if not WANTED.match(statement):
        return
    if len(statement) > MAX_STATEMENT:
        raise SpecError(f"a statement has at most {MAX_STATEMENT} characters, not {len(statement)}")
    if depth_of(statement) > MAX_DEPTH:
        raise SpecError(f"a statement has brackets within brackets, more than {MAX_DEPTH} deep")
    yield statement


def depth_of(text: str) -> int:
    """How deep brackets are nested."""
    depth = deepest = 0
    for mark in re.findall(r"[()]", text):
        depth += 1 if mark == "(" else -1
        deepest = max(deepest, depth)
    return deepest


def without_options(statement: str) -> str:
    """A CREATE TABLE up to the end of its columns: WITHOUT ROWID, ENGINE= and so on are cut."""
    depth = 0
    for mark in BRACKET.finditer(statement):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if mark[0] == ")" and depth == 0:
            return statement[: mark.end()]
    return statement


def split_columns(inside: str) -> list[str]:
    """What stands between commas, but not in brackets within."""
    if "(" not in inside:
        return [each.strip() for each in inside.split(",") if each.strip()]
    found, start, depth = [], 0, 0
    for mark in PART.finditer(inside):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if mark[0] == "," and depth == 0:
            found.append(inside[start : mark.start()])
            start = mark.end()
    return [each.strip() for each in (*found, inside[start:]) if each.strip()]


def guess_dialect(text: str) -> str:
    """The dialect of a script, from words that only one of them has."""
    head = text[:200_000]
    if re.search(r"ENGINE\s*=|AUTO_INCREMENT|`\w+`|\bUNSIGNED\b|^DELIMITER", head, re.I | re.M):
        return "mysql"
    if re.search(r"\[\w+\]|AUTOINCREMENT|WITHOUT\s+ROWID|PRAGMA\s", head, re.I):
        return "sqlite"
    if re.search(
        r"\bSERIAL\b|::|character varying|\bAS ENUM\b|\bplpgsql\b|\bTIMESTAMPTZ\b|\bJSONB\b",
        head,
        re.I,
    ):
        return "postgres"
    return "sqlite"


def triggers(found: list[str], notes: list[str]) -> list[PlainTrigger]:
    """The plain triggers among statements; of the others a note says that they were left out."""
    bodies = dict(known for each in found if (known := _body(each)) is not None)
    plain: list[PlainTrigger] = []
    for each in found:
        head = HEAD.match(each) if TRIGGER.match(each) else None
        if head is None:
            continue
        name, event, more, table, body = (
            unquoted(head[1]),
            head[3].upper(),
            head[4],
            head[5],
            head[6],
        )
        if runs := RUNS.search(body):
            body = bodies.get(unquoted(runs[1]).lower(), "?")
        updates = _updates(body)
        if updates is None or event == "UPDATE" or re.search(r"\bOR\b", more, re.I):
            notes.append(f"left out: the trigger {name}, since it is not a plain sum or count")
            continue
        plain += [
            PlainTrigger(
                unquoted(table),
                "create" if event == "INSERT" else "remove",
                unquoted(match["table"]),
                unquoted(match["column"]),
                match["sign"],
                unquoted(match["amount"]),
                unquoted(match["by"]),
            )
            for match in updates
        ]
    return plain


def _body(statement: str) -> tuple[str, str] | None:
    """The name and the body of a function of Postgres."""
    head, quote = FUNCTION.match(statement), DOLLARS.search(statement)
    if head is None or quote is None:
        return None
    return unquoted(head[1]).lower(), statement[quote.end() :].partition(quote[0])[0]


def _updates(body: str) -> list[re.Match[str]] | None:
    """The updates of a trigger's body, or None if it does anything else."""
    found = []
    body = re.sub(r"\bFOR\s+EACH\s+ROW\b|^\s*(AS\s+)?BEGIN\b|\bEND\b\s*$", ";", body, flags=re.I)
    for statement in body.split(";"):
        match = UPDATE.search(statement)
        if match is not None and statement[: match.start()].strip().upper() in ("", "BEGIN"):
            if statement[match.end() :].strip():
                return None
            found.append(match)
        elif not EMPTY.fullmatch(statement):
            return None
    return found or None
