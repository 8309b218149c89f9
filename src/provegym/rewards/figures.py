"""Invented figures: numbers and days in a reply that nothing has shown.

A figure is known if the user said it, a call took or returned it, or it follows from such figures:
rounded, in another unit, as the sum of a column, or by one step of arithmetic.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from functools import lru_cache
from itertools import combinations
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from provegym.language.values import leaves, numbers
from provegym.rewards.layout import MARKER, WORDS
from provegym.rewards.moments import ANY_CLOCK, DATE, MONTH, MONTHS, WEEKDAY, without_dates
from provegym.trace import Call

LARGE = 100
# Small counts are told of many things: "the first five", "two of them".
MOST_SMALL = 12
MOST_DAYS = 31
UNITS = (1, 60, 100, 1000)
RESULTS = 1_024
SCALE = re.compile(r"\bout of \d+\b")
SHARE = re.compile(r"\d+(?:[.,]\d+)?\s?(?:%|percent\b|per cent\b)", re.I)
# JSON may have integers that are larger than any float; nobody reckons with them.
HUGE = re.compile(r"[0-9]{300,}")
NUMBERING = re.compile(rf"^\s*{MARKER}\s|[#\u2116]\d+|\d+[-/ ]\d[\d/ -]*\d", re.M)
# "8 to 12 September" begins with a day, and "8931 2229 4085" is a code.
GROUPS = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)? ?(?:to|until|and|[-\u2013]) ?"
    rf"(?=\d{{1,2}}(?:st|nd|rd|th)? {MONTH})"
    r"|(?:\b\d{3,4} ){2,}\d{1,4}\b",
    re.I,
)
LASTING = re.compile(r"(?:minute|night)s?$")
ISO = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d")
BEFORE = re.compile(rf"({WEEKDAY}),? (?:the )?$", re.I)
LONGEST_BEFORE = 16
DAY = re.compile(
    rf"(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? (?P<month>{MONTH})(?!\w)"
    rf"|\b(?P<month_first>{MONTH}) (?P<day_last>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]))"
    r"(?:,? (?P<year>(?:19|20)\d\d))?",
    re.I,
)


class Known(NamedTuple):
    """The figures that were shown, and those of them that a reply may reckon with."""

    numbers: frozenset[float]
    terms: frozenset[float]
    days: frozenset[date]

    def with_terms(self, values: Sequence[Any]) -> "Known":
        """The same, with the numbers among these values to reckon with."""
        some = (leaf for leaf in leaves(list(values)) if not isinstance(leaf, str | bool))
        asked = {abs(leaf) for leaf in some if _is_float(leaf)}
        return Known(self.numbers | asked, self.terms | asked, self.days)


def same_number(value: float, said: float) -> bool:
    """Whether a number is the value, or the value rounded to the decimals that are written."""
    if said in (value, abs(value)):
        return True
    if not _is_float(said) or not _is_float(value):
        return False
    if said == int(said):
        return abs(value) >= LARGE and abs(abs(value) - said) <= 0.5
    decimals = len(f"{said}".partition(".")[2])
    return round(value, decimals) == said


def _is_float(value: float) -> bool:
    """Whether a number is finite, and not too large for a float, as JSON may have it."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def unseen_numbers(text: str, known: Collection[float]) -> list[int | float]:
    """The numbers in a text, without dates and clocks, that are not known, not even rounded."""
    plain = DATE.sub(_lasting, ANY_CLOCK.sub(" ", SCALE.sub(" ", GROUPS.sub("", text))))
    return [n for n in numbers(plain) if not any(_is_about(k, n) for k in known)]


def _lasting(found: re.Match[str]) -> str:
    """A number of minutes or nights, which is no date."""
    return found[0].replace("-", " ") if LASTING.search(found[0]) else " "


def _is_about(value: float, said: float) -> bool:
    whole = said == int(said)
    return same_number(value, said) or (whole and abs(abs(value) - said) <= 0.5)


def invents_figure(text: str, known: Known) -> bool:
    """Whether a reply has a number or a day that is not known and does not follow."""
    plain = without_dates(NUMBERING.sub(" ", SHARE.sub(" ", SCALE.sub(" ", text))))
    told = {abs(n) for n in numbers(plain) if n != int(n) or abs(n) > MOST_SMALL}
    if any(not _follows(number, known) for number in told - known.numbers):
        return True
    return any(unseen_days(text, known))


def _follows(number: float, known: Known) -> bool:
    """Whether a number follows from known ones by rounding, a unit, or one step of arithmetic."""
    if any(_is_about(value / unit, number) for value in known.numbers for unit in UNITS):
        return True
    pairs = combinations(known.terms, 2)
    return any(_is_about(result, number) for a, b in pairs for result in (a + b, abs(a - b), a * b))


def unseen_days(text: str, known: Known) -> Iterator[str]:
    """The days in a text that are not known, or stand beside a wrong weekday or year.

    A known number of days after a known day is known too: four nights from 8 to 12 September.
    """
    for found in DAY.finditer(text):
        if any(_is_day(found, day) for day in known.days):
            continue
        spans = [timedelta(days=n) for n in known.terms if n == int(n) and n <= MOST_DAYS]
        if not any(_is_day(found, day + span) for day in known.days for span in spans):
            yield found[0]


def _is_day(found: re.Match[str], day: date) -> bool:
    """Whether a day in a text is this one, also by the weekday and the year beside it."""
    month, number, year = _parts(found)
    if (month, number) != (day.month, day.day) or year not in (0, day.year):
        return False
    before = found.string[max(0, found.start() - LONGEST_BEFORE) : found.start()]
    weekday = BEFORE.search(before)
    return weekday is None or weekday[1][:3].casefold() == f"{day:%a}".casefold()


def _parts(found: re.Match[str]) -> tuple[int, int, int]:
    """The month, the day and the year of a day in a text; without a year, 0."""
    name = (found["month"] or found["month_first"])[:3].capitalize()
    month = [each[:3] for each in MONTHS.split()].index(name) + 1
    return month, int(found["day"] or found["day_last"]), int(found["year"] or 0)


def figures(said: Iterable[str], calls: Iterable[Call], now: datetime | None) -> Known:
    """What is known after these words of the user and these calls."""
    shown: set[float] = set()
    terms: set[float] = set()
    days: set[date] = set()
    for text in said:
        spoken = _spoken(text, now.year if now else 0)
        terms.update(spoken.numbers)
        days.update(spoken.days)
    for call in calls:
        given = msgspec.json.encode(call.arguments).decode()
        for result in (given, call.result):
            found = _figures_of(result)
            shown.update(found.numbers)
            days.update(found.days)
        terms.update(_figures_of(given).numbers)
    if now is not None:
        days.update(now.date() + timedelta(days=away) for away in (-1, 0, 1))
    return Known(frozenset(shown | terms), frozenset(terms), frozenset(days))


@lru_cache(maxsize=RESULTS)
def _spoken(text: str, year: int) -> Known:
    """The numbers and days that a user says; days without a year are of those around this one."""
    words = re.findall(r"[a-z]+", text.casefold())
    found = {*map(abs, numbers(text)), *(WORDS.index(word) for word in words if word in WORDS)}
    days = set(_iso_days(text))
    for each in DAY.finditer(text):
        month, day, own = _parts(each)
        for said in (own,) if own else (year - 1, year, year + 1):
            days.update(_iso_days(f"{said:04}-{month:02}-{day:02}"))
    return Known(frozenset(found), frozenset(), frozenset(days))


def _iso_days(text: str) -> Iterator[date]:
    for found in ISO.finditer(text):
        with suppress(ValueError):
            day = date.fromisoformat(found[0])
            if MINYEAR < day.year < MAXYEAR:  # so that days before and after it exist
                yield day


@lru_cache(maxsize=RESULTS)
def _figures_of(result: str) -> Known:
    """The numbers and days in a result, with the sums of the columns of its lists."""
    result = HUGE.sub("0", result)
    try:
        value = msgspec.json.decode(result)
    except msgspec.DecodeError:
        value = result
    found: set[float] = set()
    texts = []
    for leaf in leaves(value):
        if isinstance(leaf, str):
            texts.append(leaf)
        else:
            found.add(abs(leaf))
    found.update(map(abs, numbers("\n".join(texts))))
    found.update(_sums(value))
    return Known(frozenset(found), frozenset(), frozenset(_iso_days(result)))


def _sums(value: Any) -> Iterator[float]:
    """The sums of the columns of each list of records, and how many records there are."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _sums(part)
    elif isinstance(value, list):
        yield len(value)
        columns: dict[str, float] = {}
        for record in value:
            yield from _sums(record)
            for name, part in record.items() if isinstance(record, dict) else ():
                if isinstance(part, int | float):
                    columns[name] = columns.get(name, 0) + part
        yield from (abs(round(total, 2)) for total in columns.values())
