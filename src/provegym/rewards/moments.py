"""Dates and clocks in text: "3 May", "05/03/2026", "Friday" and "9 am" state a moment."""

import re
from datetime import date, datetime, time
from functools import lru_cache

MONTHS = "January February March April May June July August September October November December"
NEAR = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
WEEK = 7
RELATIVE = re.compile(rf"\b({'|'.join(NEAR)}|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b", re.I)
WEEKDAY = r"\b(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?\b\.?"
CLOCK = re.compile(r"[01]\d:[0-5]\d|2[0-3]:[0-5]\d")
DAYS = ("Mon", "Tue", "Tues", "Wed", "Thu", "Thur", "Thurs", "Fri", "Sat", "Sun")
ANY_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b(?:\s?[ap]\.?m\b)?|\b\d{1,2}\s?[ap]\.?m\b", re.I)
MONTH = rf"(?:{'|'.join(f'{m[:3]}(?:{m[3:]})?' for m in MONTHS.split())}|Sept)\.?"
DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?!\w)|\b{MONTH} \d{{1,2}}\b"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b(?:19|20)\d\d\b"
    r"|\b\d+[- ](?:minute|hour|day|night|week|month|year)s?\b"
)


def moment_of(text: str) -> date | None:
    """A date or a time in ISO format, or None."""
    if not re.match(r"\d{4}-\d\d-\d\d(?:$|T)", text):
        return None
    try:
        return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    except ValueError:
        return None


def states_moment(text: str, moment: date, now: datetime | None) -> bool:
    """Whether a text has the day of a moment in words, and no other clock than the moment's."""
    if isinstance(moment, datetime) and ANY_CLOCK.search(text) and not states_clock(text, moment):
        return False
    if re.search(spoken(moment), text, re.I):
        return True
    near = [word.casefold() for word in RELATIVE.findall(text)]
    return any(_is_near(word, moment, now) for word in near) and (
        not isinstance(moment, datetime) or states_clock(text, moment)
    )


@lru_cache(maxsize=1_024)
def spoken(moment: date) -> str:
    """The pattern of a day in words or digits, without another year."""
    month = MONTHS.split()[moment.month - 1]
    day = rf"0?{moment.day}(?:st|nd|rd|th|\.)?"
    name = rf"(?:{month[:3]}(?:{month[3:]})?|{month[:4]})\.?"
    year = rf"(?!,? (?!{moment.year})(?:19|20)\d\d\b)"
    numbers_of = rf"0?{moment.day}[/.]0?{moment.month}|0?{moment.month}[/.]0?{moment.day}"
    return (
        rf"\b{day}(?: of)? {name}(?!\w){year}|\b{name} {day}(?!\w){year}"
        rf"|\b{moment:%Y-%m-%d}|\b(?:{numbers_of})[/.]{moment.year}\b"
    )


def _is_near(word: str, moment: date, now: datetime | None) -> bool:
    """Whether a word such as "today" or "Friday" means the day of a moment."""
    if now is None:
        return word in (f"{moment:%A}".casefold(), *NEAR)
    day = moment.date() if isinstance(moment, datetime) else moment
    away = (day - now.date()).days
    if word in NEAR:
        return away == NEAR[word]
    return word == f"{moment:%A}".casefold() and abs(away) <= WEEK


def states_clock(text: str, moment: datetime | time) -> bool:
    """Whether a text has a clock: "15:30" or "3:30 pm"."""
    hour = moment.hour % 12 or 12
    half = "am" if moment.hour < 12 else "pm"
    minutes = rf":{moment:%M}" if moment.minute else r"(?::00)?"
    clock = rf"\b{moment:%H}:{moment:%M}|\b{hour}{minutes} ?{half[0]}\.?m\b"
    return re.search(clock, text, re.I) is not None


def without_dates(text: str) -> str:
    """A text without its dates and clocks."""
    return DATE.sub(" ", ANY_CLOCK.sub(" ", text))


def is_day(name: str) -> bool:
    """Whether a name is a month or a weekday, whole or short."""
    short = {month[:3] for month in MONTHS.split()} | {"Sept", *DAYS}
    return name in short or name in MONTHS.split() or RELATIVE.fullmatch(name) is not None
