"""The words of replies: replies.toml, and each server's [did], [told], [slots] and [fields]."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from provegym.language.templates import Entry
from provegym.servers import asks, is_known


@cache
def phrases() -> dict[str, Any]:
    """The phrases of replies.toml, by purpose."""
    return tomllib.loads(files(__package__).joinpath("replies.toml").read_text("utf-8"))


def own(table: str, key: str, server: str) -> Any:
    """An entry of a server's asks.toml, or None."""
    return asks(server).get(table, {}).get(key) if is_known(server) else None


def told_of(tool: str, server: str) -> dict[str, Any]:
    """How a read is reported: `each` is the noun for one item, `says` are the clauses for it.

    A list of up to `most` items is told whole, after one of `heads`. `none` tells an empty one.
    With `single`, a list of one item is told as this item.
    """
    return own("told", tool, server) or {}


def did_by(tool: str, server: str) -> Entry | None:
    """The template for what a write did, or None on a server without one."""
    found: Entry | None = own("did", tool, server)
    return found


def slot_name(slot: str, server: str) -> str:
    """The plain words for an argument: "payee" for payee_id."""
    named = own("slots", slot, server) or phrases()["slots"].get(slot)
    return named or re.sub(r"_ids?$", "", slot).replace("_", " ")


def field_name(field: str, server: str) -> str:
    """The plain words for a field of a result."""
    named = own("fields", field, server) or phrases()["fields"].get(field)
    return named or field.replace("_", " ")


def plural(noun: str) -> str:
    """The plural of a noun, of its first word if it goes on: "pieces of work"."""
    if irregular := phrases()["plurals"].get(noun):
        return str(irregular)
    first, of, rest = noun.partition(" of ")
    if re.search(r"[^aeiou]y$", first):
        first = f"{first[:-1]}ies"
    else:
        first = f"{first}es" if re.search(r"(s|x|ch|sh)$", first) else f"{first}s"
    return f"{first}{of}{rest}"


def past(verb: str) -> str:
    """The past participle of a verb."""
    irregular = phrases()["past"].get(verb)
    if irregular:
        return str(irregular)
    if verb.endswith("e"):
        return f"{verb}d"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ied"
    return f"{verb}ed"
