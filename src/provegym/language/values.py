"""The values an assistant can know at some point: those the user said and those calls returned."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec

from provegym.kernel import Change, Session, State
from provegym.kernel.state import ENCODE
from provegym.language import dates

Scalar = str | int | float | bool
Words = dict[str, list[tuple[str, str]]]
# A record of a result, and the normal forms of the values that it is about.
InContext = tuple[dict[str, Any], frozenset[str]]

WORLDS = 64
SHORTEST = 3
RESULTS = 1_024
TEXTS = 1_024


def leaves(value: Any) -> Iterator[Scalar]:
    """The scalars of a JSON value."""
    if isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    elif value is not None:
        yield value


def normal(value: Scalar) -> str:
    """The normal form of a scalar: for text, without case, underscores and outer blanks."""
    if isinstance(value, str):
        return fold(value)
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return f"{value:.10g}"
    except OverflowError:  # an integer of JSON that is larger than any float
        return "inf"


@lru_cache(maxsize=RESULTS)
def forms(result: str) -> Mapping[str, Scalar]:
    """The scalars of a result, given as JSON text, by their normal form."""
    found: dict[str, Scalar] = {}
    for leaf in leaves(msgspec.json.decode(result)):
        found.setdefault(normal(leaf), leaf)
    return found


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """The normal form of a text: people say "not received" for not_received."""
    return " ".join(text.casefold().replace("_", " ").split())


def in_context(value: Any, around: frozenset[str] = frozenset()) -> Iterator[InContext]:
    """The records of a value, outer ones first, each with the values that it is about.

    A record is about its own values, those of records nested in it, and those of the records around
    it. The records of a list in it are apart: each may be about something else.
    """
    if isinstance(value, list):
        for part in value:
            yield from in_context(part, around)
    elif isinstance(value, dict):
        own = around | {normal(part) for part in value.values() if isinstance(part, Scalar)}
        yield value, own | set(_nested(value))
        for part in value.values():
            yield from in_context(part, own)


def _nested(record: dict[str, Any]) -> Iterator[str]:
    """The values of a record, of the records directly in it, and of its lists of plain values."""
    for part in record.values():
        if isinstance(part, Scalar):
            yield normal(part)
        elif isinstance(part, dict):
            yield from _nested(part)
        elif isinstance(part, list):
            yield from (normal(each) for each in part if isinstance(each, Scalar))


def is_said(value: Scalar, text: str) -> bool:
    """Whether a text contains a value as a whole word or phrase."""
    wanted = normal(value)
    if not wanted:
        return True
    if isinstance(value, str):
        return _has_phrase(wanted, normal(text))
    return any(normal(number) == wanted for number in numbers(text))


def stem(word: str) -> str:
    """A word without the ending of a plural."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _has_phrase(wanted: str, text: str) -> bool:
    """Whether a text has a phrase that is not part of a longer word, number or name."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        before, after = text[at - 1 : at], text[end : end + 1]
        inside = before.isalnum() or before in ("_", ".", "-")
        goes_on = after.isalnum() or after in ("_", "-")
        if after == "." and text[end + 1 : end + 2].isdigit():
            goes_on = True
        if not ((inside and before) or (goes_on and after)):
            return True
        at = text.find(wanted, at + 1)
    return False


def made_up(arguments: Any, changes: Iterable[Change]) -> Iterator[str]:
    """The ids and codes that a write made up by itself: no argument gives them."""
    given = {normal(leaf) for leaf in leaves(arguments)}
    for change in changes:
        before = set(leaves(change.before))
        for leaf in (change.key, *leaves(change.after)):
            if leaf not in before and normal(leaf) not in given and is_code(leaf):
                yield str(leaf)


def is_code(leaf: Scalar) -> bool:
    """Whether a value looks like an id or a code: a text with digits or in capitals, no blanks."""
    if not isinstance(leaf, str) or len(leaf) < 3 or re.match(r"\d{4}-\d\d-\d\d", leaf):
        return False
    return " " not in leaf and (leaf.isupper() or any(mark.isdigit() for mark in leaf))


@lru_cache(maxsize=TEXTS)
def with_dates(text: str, now: datetime) -> str:
    """The text, followed by the ISO form of each date and time in it, such as "tomorrow"."""
    return "\n".join([text, *(moment for _, moment in dates.find(text, now))])


def numbers(text: str) -> Iterator[int | float]:
    """The numbers in a text, in forms such as 45.50, 1,250 and 45-minute."""
    for number in re.findall(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])", text):
        value = float(number.replace(",", ""))
        if isfinite(value):
            yield int(value) if value.is_integer() else value


class Knowledge:
    """Values known so far, by their normal form."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.text = "\n".join(texts)
        self.values: dict[str, Scalar] = {}

    def hear(self, text: str) -> None:
        """Add a message of the user."""
        self.text = f"{self.text}\n{text}"

    def learn(self, result: str) -> None:
        """Add the JSON result of a call."""
        for form, leaf in forms(result).items():
            self.values.setdefault(form, leaf)

    def has(self, value: Any) -> bool:
        """Whether every scalar of a value was said or returned."""
        return all(
            normal(leaf) in self.values or is_said(leaf, self.text) for leaf in leaves(value)
        )

    def copy(self) -> "Knowledge":
        """An independent copy."""
        twin = Knowledge([self.text])
        twin.values = dict(self.values)
        return twin


def spoken_values(session: Session, text: str) -> list[Scalar]:
    """The values in a text: texts of this world, numbers, dates and quotations."""
    found: dict[str, Scalar] = {}
    folded = normal(text)
    for server in session.servers:
        state = session.state(server)
        seeded = _words_of(state)
        changed = _index(ENCODE([change.after for change in state.diff(server.name)]))
        for word in dict.fromkeys(re.findall(r"\w+", folded)):
            for form, leaf in (*seeded.get(word, ()), *changed.get(word, ())):
                if form not in found and form in folded and is_said(leaf, text):
                    found[form] = leaf
    for value in (
        *numbers(text),
        *(moment for _, moment in dates.find(text, session.now)),
        *re.findall(r"\d{4}-\d\d-\d\d(?:T[\d:]+Z?)?", text),
        *re.findall(r'"([^"]+)"', text),
    ):
        found.setdefault(normal(value), value)
    return list(found.values())


_seeded: dict[str, Words] = {}


def _words_of(state: State) -> Words:
    """An index, by first word, of the texts in the world that a state started from; cached."""
    if state.origin not in _seeded:
        if len(_seeded) == WORLDS:
            del _seeded[next(iter(_seeded))]
        rows = [row for name in state.tables for row in getattr(state, name).seeded()]
        _seeded[state.origin] = _index(ENCODE(rows))
    return _seeded[state.origin]


def _index(records: bytes) -> Words:
    index: Words = defaultdict(list)
    texts = dict.fromkeys(leaf for leaf in leaves(msgspec.json.decode(records)))
    for leaf in texts:
        if isinstance(leaf, str) and len(leaf) >= SHORTEST:
            form = fold(leaf)
            if first := re.search(r"\w+", form):
                index[first[0]].append((form, leaf))
    return index
