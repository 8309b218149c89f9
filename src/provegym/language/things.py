"""Grounding (§3.2): collects the records of a live world that users can name, with their names.

The world is read with its read-only tools: first those without required arguments, then those that
take a key found by the first. Names are made from templates in the server's asks.toml. A record
is kept if it has a name that no other record of its kind has.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import MAXYEAR, datetime
from functools import cached_property, lru_cache
from string import Formatter
from typing import Any, NamedTuple

from provegym.fuzz.pool import records, snake
from provegym.kernel import AnyServer, Lost, Seed, Session, Tool
from provegym.language.values import normal
from provegym.servers import asks, people
from provegym.trace import Json

PAGES = 4
PAGE = 20
MOST_VALUE = 60
CLOSER_LOOKS = 8
SURVEYS = 64
# A foreign server has no tables that tell kinds of records apart: all are of one kind.
FOREIGN_KEY, FOREIGN_NOUN = "id", "record"
COUNTED = re.compile(r"[a-z]+_\d+")
SNAKE = re.compile(r"[a-z]+(_[a-z]+)+")
CODE = re.compile(r"(?:\S+@\S+\.\w+|(?=.*\d)(?=.*[A-Z])[A-Z0-9]+(-[A-Z0-9]+)*|\d{3}-\d{3,4})")


class Thing(NamedTuple):
    """A record that a user can mention: its kind, its key, its fields and its unique names.

    `ways` holds, for each name, the template that it was made from.
    """

    noun: str
    key: str
    fields: Json
    names: tuple[str, ...]
    ways: Mapping[str, str]

    def marks(self, name: str) -> frozenset[str]:
        """The normal forms of the field values that make up a name.

        Who sees a record with the key and all these values knows what the name means.
        """
        slots = (slot for _, slot, _ in _parsed(self.ways[name]) if slot is not None)
        return frozenset(normal(self.fields[slot]) for slot in slots)

    def known_names(self, shown: Iterable[frozenset[str]]) -> list[str]:
        """The names that are understood from one of these records, each given by its values."""
        held = list(shown)
        return [name for name in self.names if any(map(self.marks(name).issubset, held))]


class Kinds(NamedTuple):
    """The kinds of a server's keys: by prefix for counted ids, by field for keys people chose."""

    prefixes: dict[str, str]
    chosen: dict[str, list[str]]


@lru_cache(maxsize=128)
def kinds(server: AnyServer) -> Kinds:
    """The kinds of things a server has: {"acc": "account"}, {"path": ["node"]}."""
    found = Kinds({}, defaultdict(list))
    if server.foreign:
        found.chosen[FOREIGN_KEY].append(FOREIGN_NOUN)
    for spec in server.state.tables.values():
        if spec.prefix:
            found.prefixes[spec.prefix] = snake(spec)
        elif snake(spec) in asks(server.name).get("refer", {}):
            found.chosen[spec.key].append(snake(spec))
    return found


def noun_of(server: AnyServer, key: object) -> str | None:
    """The kind of thing an id belongs to, or None if it is not an id of this server."""
    if not isinstance(key, str) or not COUNTED.fullmatch(key):
        return None
    return kinds(server).prefixes.get(key.partition("_")[0])


class Survey:
    """The things of a world that users can mention, indexed by key, kind, relation and address."""

    def __init__(self, server: AnyServer, things: dict[str, Thing]) -> None:
        self.server = server
        self.things = things

    @cached_property
    def named(self) -> dict[str, list[str]]:
        """The keys of each kind of thing."""
        found: dict[str, list[str]] = defaultdict(list)
        for thing in self.things.values():
            found[thing.noun].append(thing.key)
        return found

    @cached_property
    def related(self) -> dict[str, list[Thing]]:
        """By key, the things that hold this key and no other of its kind, as a card its account."""
        found: dict[str, list[Thing]] = defaultdict(list)
        for thing in self.things.values():
            keys = {v for v in thing.fields.values() if noun_of(self.server, v) and v != thing.key}
            nouns = Counter(noun_of(self.server, key) for key in keys)
            for key in sorted(keys):
                if key in self.things and nouns[noun_of(self.server, key)] == 1:
                    found[key].append(thing)
        return found

    @cached_property
    def owners(self) -> dict[str, Thing]:
        """Things by an address or code that no other thing has."""
        found: dict[str, list[Thing]] = defaultdict(list)
        for thing in self.things.values():
            for value in thing.fields.values():
                if isinstance(value, str) and value != thing.key and CODE.fullmatch(value):
                    found[value].append(thing)
        return {value: held[0] for value, held in found.items() if len(held) == 1}


class Relation(NamedTuple):
    """A thing described by another: the `owner` holds its key in a field.

    If the field is a list of several keys, `at` is "first" or "last".
    """

    key: str
    owner: str
    field: str
    at: str = ""


def relations(server: AnyServer, things: Container[str], result: Any) -> Iterator[Relation]:
    """The relations in a result: each key that a record of the result holds in a field."""
    chosen = kinds(server).chosen

    def own_key(record: Json) -> str:
        keys = [record[f] for f in ("id", *chosen) if isinstance(record.get(f), str)]
        return keys[0] if keys and (noun_of(server, keys[0]) or keys[0] in things) else ""

    def walk(node: Any, owner: str, field: str, at: str) -> Iterator[Relation]:
        if isinstance(node, dict):
            own = own_key(node)
            for name, part in node.items():
                yield from walk(part, own or owner, name, "" if own else at)
        elif isinstance(node, list):
            for number, part in enumerate(node):
                place = _place(number, len(node)) if not at else None
                yield from walk(part, owner if place is not None else "", field, place or "")
        elif owner and node != owner and (noun_of(server, node) or node in things):
            yield Relation(node, owner, field, at)

    yield from walk(result, "", "", "")


def _place(number: int, count: int) -> str | None:
    """The word for a position in a list: "" if it is the only one, None if it has no word."""
    if count == 1:
        return ""
    return {0: "first", count - 1: "last"}.get(number)


_surveys: dict[str, Survey] = {}


def survey(session: Session, name: str = "") -> Survey:
    """Everything in a server's world that users can mention; by default of the first server.

    Surveys are cached, because planning and the contract need the same worlds.
    """
    server = next(s for s in session.servers if name in ("", s.name))
    digest = session.state(server).digest()
    if digest not in _surveys:
        if len(_surveys) == SURVEYS:
            del _surveys[next(iter(_surveys))]
        _surveys[digest] = Survey(server, _look_around(session, server))
    return _surveys[digest]


def _look_around(session: Session, server: AnyServer) -> dict[str, Thing]:
    seen: dict[str, dict[str, Json]] = {}
    tools = [tool for tool in server.tools.values() if not tool.writes]
    bare = [tool for tool in tools if not tool.input_schema["required"]]
    for tool in bare:
        _note(server, _pages(session, tool, {}), seen)
    for tool in tools:
        for argument, nouns in _takes(server, tool):
            keys = [key for key, known in seen.items() if nouns & known.keys()]
            for key in keys[:CLOSER_LOOKS]:
                _note(server, _pages(session, tool, {argument: key}), seen)
    user = people.acting_user(Seed(session.seed)).name
    return _name_all(server, seen, user)


def _takes(server: AnyServer, tool: Tool) -> Iterator[tuple[str, set[str]]]:
    """The arguments that are enough to call a read and take a key, with the kinds of that key."""
    required = set(tool.input_schema["required"])
    for argument in tool.input_schema["properties"]:
        if not required <= {argument}:
            continue
        if argument.endswith("_id") and required:
            yield argument, {argument.removesuffix("_id")}
        for field, nouns in kinds(server).chosen.items():
            if argument == field or argument.endswith(f"_{field}"):
                yield argument, set(nouns)


def _pages(session: Session, tool: Tool, given: Json) -> Iterator[Any]:
    offset: int | None = 0
    for _ in range(PAGES):
        more = {"limit": PAGE, "offset": offset} if tool.paged else {}
        try:
            outcome = session.call(tool.name, {**given, **more})
        except Lost:
            return
        if not outcome.ok:
            return
        yield outcome.value
        offset = outcome.value.get("next_offset") if tool.paged else None
        if offset is None:
            return


def _note(server: AnyServer, results: Iterable[Any], seen: dict[str, dict[str, Json]]) -> None:
    """Collect the records of known kinds in the results, by key and noun."""
    chosen = kinds(server).chosen
    for result in results:
        for _, record in records(result, ""):
            named = [("id", noun)] if (noun := noun_of(server, record.get("id"))) else []
            named += [(field, noun) for field, nouns in chosen.items() for noun in nouns]
            for field, noun in named:
                key = record.get(field)
                # On a foreign server a number may be the key of many things; it is said literally.
                if isinstance(key, str) and key and not (server.foreign and key.isdigit()):
                    known = seen.setdefault(key, {})
                    known[noun] = {**record, **known.get(noun, {})}


def _name_all(server: AnyServer, seen: dict[str, dict[str, Json]], user: str) -> dict[str, Thing]:
    """Give each thing the names that no other thing of its kind has.

    A name with the acting user's own name or handle is left out: people do not call themselves so.
    """
    ways: dict[str, list[str]] = asks(server.name).get("refer", {})
    said: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    records = [fields for known in seen.values() for fields in known.values()]
    handles = {
        fields["handle"] for fields in records if fields.get("name") == user and "handle" in fields
    }
    for key, known in seen.items():
        for noun, fields in known.items():
            is_own = fields.get("handle") in handles
            for way in ways.get(noun, ()):
                if is_own and "{handle}" in way:
                    continue
                if (text := fill(way, fields)) is not None and user not in text:
                    said[key].append((noun, text, way))
    counts = Counter((noun, text.casefold()) for named in said.values() for noun, text, _ in named)
    things = {}
    for key, named in said.items():
        own = [each for each in named if counts[each[0], each[1].casefold()] == 1]
        if own:
            noun = own[0][0]
            made_from = {text: way for each, text, way in own if each == noun}
            things[key] = Thing(noun, key, seen[key][noun], tuple(made_from), made_from)
    return things


@lru_cache(maxsize=4_096)
def _parsed(way: str) -> tuple[tuple[str, str | None, str], ...]:
    """The parts of a template: a text, the slot after it, and the slot's format."""
    parts = Formatter().parse(way)
    return tuple((before, slot, form or "") for before, slot, form, _ in parts)


def fill(way: str, fields: Json) -> str | None:
    """Fill a template's slots, or None if a field has no value that can be said.

    `{at:date}` becomes a day and `{at:time}` a time of day.
    """
    said = ""
    for before, slot, form in _parsed(way):
        said += before
        if slot is None:
            continue
        text = _said(fields.get(slot), form)
        if text is None:
            return None
        said += text
    return said


def _said(value: object, form: str) -> str | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    if form:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            return None
        if moment.year == MAXYEAR:  # it means never
            return None
        return f"{moment.day} {moment:%B}" if form == "date" else f"{moment:%H:%M}"
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    if "_" in text and SNAKE.fullmatch(text):
        text = text.replace("_", " ")
    return text if 0 < len(text) <= MOST_VALUE else None
