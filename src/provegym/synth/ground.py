"""Grounding: what there is to talk about in a live world, and how people refer to it (§3.2).

The world is read through its read-only tools. A thing is kept if people have a way to refer to it,
written in the server's asks.toml, that no other thing of its kind in this world shares.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from string import Formatter
from typing import Any, NamedTuple

from provegym.fuzz.pool import snake
from provegym.kernel import AnyServer, Session
from provegym.servers import asks
from provegym.synth.observe import records
from provegym.trace import Json

PAGES = 4
PAGE = 20
MOST_VALUE = 60


class Thing(NamedTuple):
    """Something in a world that a user can speak of: its key, its fields and its unique names."""

    noun: str
    key: str
    fields: Json
    names: tuple[str, ...]


@cache
def nouns(server: AnyServer) -> dict[str, str]:
    """What the ids of a server stand for, by prefix: {"acc": "account"}."""
    return {spec.prefix: snake(spec) for spec in server.state.tables.values() if spec.prefix}


def noun_of(server: AnyServer, key: object) -> str | None:
    """What kind of thing a key stands for, if it looks like one of the server's ids."""
    if not isinstance(key, str) or not re.fullmatch(r"[a-z]+_\d+", key):
        return None
    return nouns(server).get(key.partition("_")[0])


def survey(session: Session) -> dict[str, Thing]:
    """Everything the first server's reads show that people can refer to, by key."""
    server = session.servers[0]
    seen: dict[str, Json] = {}
    for result in _read_all(session):
        for _, record in records(result, ""):
            key = record.get("id")
            if noun_of(server, key):
                seen[str(key)] = {**record, **seen.get(str(key), {})}
    return _name_all(server, seen)


def _read_all(session: Session) -> Iterator[Any]:
    for tool in session.servers[0].tools.values():
        if tool.writes or tool.input_schema["required"]:
            continue
        offset: int | None = 0
        for _ in range(PAGES):
            given = {"limit": PAGE, "offset": offset} if tool.paged else {}
            outcome = session.call(tool.name, given)
            if not outcome.ok:
                break
            yield outcome.value
            offset = outcome.value.get("next_offset") if tool.paged else None
            if offset is None:
                break


def _name_all(server: AnyServer, seen: dict[str, Json]) -> dict[str, Thing]:
    """Give each thing the references that are its own alone."""
    ways: dict[str, list[str]] = asks(server.name).get("refer", {})
    said: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, fields in seen.items():
        noun = str(noun_of(server, key))
        for way in ways.get(noun, ()):
            if (text := fill(way, fields)) is not None:
                said[key].append((noun, text))
    counts = Counter((noun, text.casefold()) for named in said.values() for noun, text in named)
    things = {}
    for key, named in said.items():
        own = tuple(text for noun, text in named if counts[noun, text.casefold()] == 1)
        if own:
            things[key] = Thing(named[0][0], key, seen[key], own)
    return things


def fill(way: str, fields: Json) -> str | None:
    """A way of speaking with its slots filled, or None if some field is not there to say."""
    values = {}
    for _, slot, _, _ in Formatter().parse(way):
        if slot is None:
            continue
        value = fields.get(slot)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return None
        values[slot] = f"{value:.2f}" if isinstance(value, float) else str(value)
        if not values[slot] or len(values[slot]) > MOST_VALUE:
            return None
    return way.format(**values)
