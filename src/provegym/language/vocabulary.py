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
