"""Values in plain English for replies: numbers, dates, enum values, lists, and names for ids."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from provegym.kernel import AnyServer
from provegym.language.dates import NEAR, YEARLESS, placed
from provegym.language.templates import fill_slots
from provegym.language.things import fill, kinds, noun_of
from provegym.language.vocabulary import own
from provegym.servers import asks, is_known, load
from provegym.trace import Json

NAMES = ("name", "title", "subject", "label", "merchant", "company", "description", "street")
ID = re.compile(r"[a-z]+(?:_[a-z]+)*_\d+")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")
# "from 6 March at 09:00 until 6 March at 10:00": the second day is left out.
SAME_DAY = re.compile(r"(\b([\w ]{5,12}) at \d\d:\d\d until )\2 at ")
YOURS = {"my": "your", "our": "your", "me": "you", "us": "you", "we": "you", "I": "you"}
YOURS |= {"I've": "you've", "we've": "you've", "I'm": "you're", "mine": "yours", "ours": "yours"}
LONGEST = 80
NEVER = "9999-"
SIZE_OF = "size_of_"
GROUPED = 10_000
FEW, SOME = 10, 3


def listed(parts: Sequence[str]) -> str:
    """Join phrases as an English list: "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def to_you(phrase: str) -> str:
    """A user's phrase as the assistant says it: "my debit card" becomes "your debit card"."""
    return re.sub(r'"[^"]*"|[\w\']+', lambda word: YOURS.get(word[0], word[0]), phrase)


def sentence(text: str) -> str:
    """The text with a capital at the start and a full stop at the end."""
    text = text[:1].upper() + text[1:].removesuffix(".")
    return text if re.search(r'[?!]$|[.?!]"$', text) else f"{text}."


def spoken_number(value: float | Decimal) -> str:
    """A number: whole floats without a point, decimals as they are, large ones with commas."""
    if isinstance(value, float):
        value = Decimal(f"{value:.2f}") if round(value, 2) == value else Decimal(str(value))
        value = value.to_integral_value() if value == value.to_integral_value() else value
    is_grouped = abs(value) >= GROUPED or (isinstance(value, Decimal) and abs(value) >= 1000)
    return f"{value:,}" if is_grouped else str(value)


def spoken_day(day: date, today: date) -> str:
    """A day as `dates.find` reads it: "tomorrow", "6 March", or "6 March 2027" if far away."""
    away = (day - today).days
    for word, days in NEAR.items():
        if days == away and abs(days) < 2:
            return word
    return f"{day.day} {day:%B}" + (f" {day.year}" if abs(away) > YEARLESS else "")


def spoken_time(text: str, now: datetime) -> str:
    """An ISO date or date-time in words."""
    if DAY.fullmatch(text):
        return spoken_day(date.fromisoformat(text), now.date())
    moment = datetime.fromisoformat(text)
    clock = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    return f"{spoken_day(moment.date(), now.date())} at {clock}"


@cache
def enum_values(server: AnyServer) -> frozenset[str]:
    """The enum values of a server's tools. Only these are said without their underscores."""
    schemas = [(tool.input_schema, tool.output_schema) for tool in server.tools.values()]
    return frozenset(_enums(schemas))


def _enums(schema: Any) -> Iterator[str]:
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from _enums(part)
    elif isinstance(schema, dict):
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        yield from _enums(list(schema.values()))


@dataclass(frozen=True)
class Speech:
    """How values are said in one turn: the server's words, the time, and the names of ids."""

    server: str
    now: datetime
    names: Mapping[str, str]

    def say(self, value: Any, field: str = "") -> str | None:
        """A value in words, or None if there is nothing to say: no value, or an unknown id."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int | float | Decimal):
            return spoken_number(value)
        if isinstance(value, str):
            return self._text(value, field)
        if isinstance(value, list) and any(isinstance(part, list) for part in value):
            value = [{str(at): part for at, part in enumerate(row)} for row in value]
        if isinstance(value, list):
            return self._list(value, field)
        return self._record(value, field) if isinstance(value, dict) else None

    def _text(self, text: str, field: str) -> str | None:
        if text in self.names:
            return self.names[text]
        if text.startswith(NEVER):
            return None
        if isinstance(words := self._part(field), dict):
            return str(words.get(text, text))
        if DAY.fullmatch(text) or TIME.fullmatch(text):
            return spoken_time(text, self.now)
        if ID.fullmatch(text) or any(self._is_id(part) for part in text.split()):
            return None
        if is_known(self.server) and text in enum_values(load(self.server)):
            return text.replace("_", " ")
        return text or None

    def _part(self, field: str) -> str | dict[str, str] | None:
        """The entry of [parts] for a field: a template, or words by value."""
        found: str | dict[str, str] | None = own("parts", field, self.server)
        return found

    def _is_id(self, text: str) -> bool:
        return is_known(self.server) and noun_of(load(self.server), text) is not None

    def _list(self, values: list[Any], field: str) -> str | None:
        """A list of few parts or letters whole, another one by its number and its first three."""
        told = [self.say(value, field) for value in values]
        said = [*dict.fromkeys(each for each in told if each is not None)]
        if len(said) <= FEW or len(", ".join(said)) <= LONGEST:
            return listed(said) if said else None
        return listed([*said[:SOME], f"{len(said) - SOME} others"])

    def _record(self, record: Json, field: str) -> str | None:
        """A part of a record by its template in [parts], or else its name or its fields."""
        template = self._part(field)
        if isinstance(template, str):
            told = fill_slots(template, self.values(record))
            return told.strip() if told else None
        plain = {n: v for n, v in record.items() if isinstance(v, str | int | float | Decimal)}
        said = [f"{n.replace('_', ' ')} {self.say(v)}" for n, v in plain.items() if self.say(v)]
        return name_of(record, self.server) or listed(said) or None

    def values(self, *records: Json) -> dict[str, str]:
        """What can be said of records, by field. Later records win; inner ones are opened.

        `count_of_x` is the length of a list, `size_of_x` a number without its sign.
        """
        said: dict[str, str] = {}
        for record in records:
            inner = [value for value in record.values() if isinstance(value, dict)]
            for fields in (*inner, record):
                for name, value in fields.items():
                    if (text := self.say(value, name)) is not None:
                        said[name] = text
                    if isinstance(value, list):
                        said[f"count_of_{name}"] = str(len(value))
                    elif isinstance(value, int | float | Decimal):
                        said[f"{SIZE_OF}{name}"] = spoken_number(value if value >= 0 else -value)
        return said

    def place_dates(self, text: str, record: Json) -> str:
        """The text with "on" and "at" as a record's dates need them: "on 6 March", "tomorrow"."""
        for value in record.values():
            if isinstance(value, str) and (TIME.fullmatch(value) or DAY.fullmatch(value)):
                text = placed(text, spoken_time(value, self.now))
        return SAME_DAY.sub(r"\1", text)


def name_of(record: Any, server: str) -> str:
    """How people call a record: by the first template of [refer] that fits, or by its name."""
    if not isinstance(record, dict):
        return ""
    if is_known(server):
        record = {n: float(v) if isinstance(v, Decimal) else v for n, v in record.items()}
        ways: dict[str, list[str]] = asks(server).get("refer", {})
        for way in ways.get(_noun(record, load(server)), ()):
            if (said := fill(way, record)) is not None:
                return to_you(said)
    named = [record[field] for field in NAMES if isinstance(record.get(field), str)]
    return named[0] if named and len(named[0]) <= LONGEST else ""


def _noun(record: Json, server: AnyServer) -> str:
    if noun := noun_of(server, record.get("id")):
        return noun
    chosen = [nouns for field, nouns in kinds(server).chosen.items() if field in record]
    return chosen[0][0] if chosen and not server.foreign else ""


def names_in(results: Sequence[Any], server: str) -> dict[str, str]:
    """The names that results give for the ids in them."""
    found: dict[str, str] = {}
    for record in records_in(list(results)):
        if isinstance(record.get("id"), str) and (name := name_of(record, server)):
            found[record["id"]] = name
        keys = [key for key in record if key.endswith("_id") and isinstance(record[key], str)]
        for key in keys:
            if isinstance(named := record.get(f"{key.removesuffix('_id')}_name"), str):
                found.setdefault(record[key], named)
        if "id" not in record and keys and isinstance(record.get("name"), str):
            found.setdefault(record[keys[0]], record["name"])
    return found


def records_in(value: Any) -> Iterator[Json]:
    """Every record within a JSON value, the outer ones first."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from records_in(part)
