"""What a question asks for: the fields of a result that answer it, and JSON pointers to them.

In asks.toml, a way to ask for a read ends with the fields that it asks for:

    "What's the IBAN of {account_id}? => account/iban"
    "How many payees do I have? => count"
    "When is my next meeting? => first starts"

A path goes into a field that holds a record or a list of records. For a list, the fields are those
of each item; after `first`, of the first item only. `count` is the number of items.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from provegym.language.spoken import ID, NAMES, NEVER
from provegym.language.values import is_said, leaves, normal
from provegym.trace import Json

ARROW = " => "
FIRST = "first "
COUNT = "count"
MOST_ANSWERS = 4
MOST_ITEMS = 8
MOST_PARTS = 40
PAGING = ("total", "offset", "next_offset", "id", "key", "inode")


class AskedFields(NamedTuple):
    """The fields that a question asks for; with `first`, of the first item of a list alone."""

    fields: tuple[str, ...] = ()
    first: bool = False


GENERAL = AskedFields()


class Way(NamedTuple):
    """A way to ask for a tool: the template of its words, and what it asks for."""

    words: str
    asked: AskedFields


def read_way(way: str) -> Way:
    """A way to ask, as asks.toml writes it. Without an arrow, the question is a general one."""
    text, _, fields = way.partition(ARROW)
    first = fields.startswith(FIRST)
    names = fields.removeprefix(FIRST).split(",") if fields else []
    return Way(text, AskedFields(tuple(name.strip() for name in names), first))


@dataclass(frozen=True)
class AlreadySaid:
    """What was said before the answer: the words of the question, and the call's arguments."""

    question: str
    given: frozenset[str]

    def is_news(self, value: object) -> bool:
        """Whether a reply can be checked for a value: it is one to tell, and not yet said."""
        if isinstance(value, list):
            plain = all(isinstance(p, str | int | float) and not ID.search(str(p)) for p in value)
            return plain and 0 < len(value) <= MOST_PARTS
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            return False
        if normal(value) in self.given or ID.search(str(value)) or str(value).startswith(NEVER):
            return False
        return not is_said(value, self.question)


def answer_pointers(
    result: Json, arguments: Json, question: str, asked: AskedFields = GENERAL
) -> tuple[str, ...]:
    """JSON pointers to the answer in a result: to values that were not said before.

    None if the result has no such value for what is asked. A general question is answered by the
    first fields of a record, and by one field of each item of a list. The total belongs to the
    answer if a list is too long to be told.
    """
    heard = AlreadySaid(question, frozenset(normal(leaf) for leaf in leaves(arguments)))
    items = result.get("items")
    if not isinstance(items, list):
        fields = asked.fields or _general(result, heard)[:MOST_ANSWERS]
        return tuple(place for field in fields for place in _pointers(result, field, heard))
    if not items or not all(isinstance(item, dict) for item in items):
        return ()
    if asked.fields == (COUNT,):
        return ("/total",)
    fields = asked.fields or _general(items[0], heard)[:1]
    shown = tuple(
        f"/items/{at}/{name}"
        for at, item in enumerate(items[: 1 if asked.first else MOST_ITEMS])
        for name in fields
        if heard.is_news(item.get(name))
    )
    if not asked.first and len(items) > 1 and all(p.startswith("/items/0/") for p in shown):
        return ()  # The other items have nothing new, so this would be a question about the first.
    is_long = result["total"] > MOST_ITEMS and not asked.first
    return ("/total", *shown) if shown and is_long else shown


def _general(record: Json, heard: AlreadySaid) -> tuple[str, ...]:
    """The fields of a record that tell something new; those with a name come first."""
    told = [
        name
        for name, value in record.items()
        if name not in PAGING and not name.endswith(("_id", "_ids")) and heard.is_news(value)
    ]
    return tuple(dict.fromkeys((*(name for name in NAMES if name in told), *told)))


def _pointers(record: Any, path: str, heard: AlreadySaid, place: str = "") -> Iterator[str]:
    """Pointers to the values at a path of field names. A list of records is entered."""
    if isinstance(record, list):
        for at, part in enumerate(record[:MOST_ITEMS]):
            yield from _pointers(part, path, heard, f"{place}/{at}")
        return
    name, _, rest = path.partition("/")
    value = record.get(name) if isinstance(record, dict) else None
    if rest:
        yield from _pointers(value, rest, heard, f"{place}/{name}")
    elif heard.is_news(value):
        yield f"{place}/{name}"
