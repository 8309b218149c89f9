"""Relative dates in English: writes a date as a phrase, and parses phrases back to ISO dates.

All times are UTC, as in the worlds. The meaning of a phrase depends on the current day:

- a weekday alone is the next one after today; today's own weekday has no meaning;
- "next Friday" is the Friday of the following calendar week, "last Friday" that of the week before;
  both are written only if no Friday on that side is nearer;
- a date without a year, or without a month, is the nearest date that matches.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from random import Random

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September"]
MONTHS += ["October", "November", "December"]
HOURS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
HOURS += ["twelve"]
COUNTS = {"a": 1, **{word: count for count, word in enumerate(HOURS, 1)}}
NEAR = {
    "today": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "the day after tomorrow": 2,
    "the day before yesterday": -2,
}
RELATIVE = 0.7
YEARLESS = 120
MONTHLESS = 10

_WEEKDAY, _MONTH, _COUNT = "|".join(WEEKDAYS), "|".join(MONTHS), "|".join(COUNTS)
_SPAN = rf"(?:{_COUNT}|\d{{1,2}}) (?:days?|weeks?)"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,? (?:19|20)\d\d)?"
_ISO = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?"
_DAY = (
    rf"{'|'.join(NEAR)}|(?:next |last )?(?:{_WEEKDAY})|a week from (?:today|tomorrow|{_WEEKDAY})"
    rf"|{_SPAN} (?:ago|from now|from today)|in {_SPAN}"
    rf"|(?:the )?{_NTH}(?: of)? (?:{_MONTH}){_YEAR}|(?:{_MONTH}) {_NTH}{_YEAR}"
    r"|the \d{1,2}(?:st|nd|rd|th)"
)
_TIME = (
    r"noon|\d{1,2}(?::\d\d)? ?[ap]m|\d{1,2}:\d\d"
    rf"|(?:(?:half|quarter) past |quarter to )?(?:{'|'.join(HOURS)})"
    r" in the (?:morning|afternoon|evening)"
)
_PHRASE = re.compile(
    rf"(?<![\w.-])(?:{_ISO}|(?P<day>{_DAY})(?:,? at (?P<time>{_TIME}))?"
    rf"|(?P<time_first>{_TIME})(?: on)? (?P<day_last>{_DAY}))(?![\w-])",
    re.IGNORECASE,
)
_TAKES_ON = re.compile(rf"(?:{_WEEKDAY}|{_MONTH}|\d|the \d)")


def say(value: str, now: datetime, chance: Random) -> str:
    """A random phrase for an ISO date or date-time.

    A time with seconds, or in another time zone, stays as it is: people do not say such times.
    """
    if "T" not in value:
        return _pick_day(date.fromisoformat(value), now.date(), chance)
    if not re.fullmatch(r"[\d-]+T\d\d:\d\d:00Z", value):
        return value
    moment = datetime.fromisoformat(value)
    day = _pick_day(moment.date(), now.date(), chance)
    time = chance.choice(list(_times(moment.hour, moment.minute)))
    if " in the " in time or chance.random() < RELATIVE:
        return f"{day} at {time}"
    return f"{time} on {day}" if _TAKES_ON.match(day) else f"{time} {day}"


def read(phrase: str, now: datetime) -> str | None:
    """The ISO value of a whole phrase, or None if it is not a date."""
    found = _PHRASE.fullmatch(phrase.strip().removeprefix("on "))
    return _value(found, now.date()) if found else None


def find(text: str, now: datetime) -> list[tuple[str, str]]:
    """Every date or date-time in a text: its phrase and its ISO value."""
    values = ((found[0], _value(found, now.date())) for found in _PHRASE.finditer(text))
    return [(phrase, value) for phrase, value in values if value is not None]


def placed(text: str, phrase: str) -> str:
    """Correct "on" and "at" before a date: "on Tuesday", "at 3 pm", but plain "tomorrow"."""
    if f"on {phrase}" not in text and f"at {phrase}" not in text:
        return text
    if re.fullmatch(_ISO, phrase) or not (_PHRASE.match(phrase) or re.match(_TIME, phrase)):
        return text
    takes = "on " if _TAKES_ON.match(phrase) else ""
    if re.match(_TIME, phrase):
        takes = "at "
    return re.sub(rf"\b(?:on|at) (?={re.escape(phrase)}(?!\w))", takes, text)


def _pick_day(day: date, today: date, chance: Random) -> str:
    relative = list(_relative(day, today))
    if relative and chance.random() < RELATIVE:
        return chance.choice(relative)
    return chance.choice(list(_absolute(day, today)))


def _relative(day: date, today: date) -> Iterator[str]:
    """Phrases for a day that are relative to today."""
    ahead = (day - today).days
    for word, days in NEAR.items():
        if days == ahead:
            yield word
    name = WEEKDAYS[day.weekday()]
    if 2 <= ahead <= 6:
        yield name
    if 2 <= ahead <= 7 and day == _next(day.weekday(), today):
        yield f"next {name}"
    if -7 <= ahead <= -2 and day == _last(day.weekday(), today):
        yield f"last {name}"
    if 9 <= ahead <= 13:
        yield f"a week from {name}"
    count, unit = (abs(ahead) // 7, "week") if ahead % 7 == 0 else (abs(ahead), "day")
    if ahead and abs(ahead) > 1 and count <= (8 if unit == "week" else 10):
        said = f"a {unit}" if count == 1 else f"{HOURS[count - 1]} {unit}s"
        yield f"{said} from now" if ahead > 0 else f"{said} ago"


def _absolute(day: date, today: date) -> Iterator[str]:
    """Phrases for a day that name its date."""
    away, month = abs((day - today).days), MONTHS[day.month - 1]
    if away > YEARLESS:
        yield from (f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}")
        return
    nth = f"{day.day}{_suffix(day.day)}"
    yield from (
        f"{day.day} {month}",
        f"{month} {day.day}",
        f"{month} {nth}",
        f"the {nth} of {month}",
    )
    if 2 <= away <= MONTHLESS:
        yield f"the {nth}"


def _times(hour: int, minute: int) -> Iterator[str]:
    """Phrases for a time of day; times from 00:00 to 00:59 are written in digits only."""
    yield f"{hour:02}:{minute:02}"
    if hour == 12 and minute == 0:
        yield "noon"
    elif hour:
        half, digits = "am" if hour < 12 else "pm", f"{(hour - 1) % 12 + 1}"
        digits += f":{minute:02}" if minute else ""
        yield from (f"{digits} {half}", f"{digits}{half}")
        if minute % 15 == 0:
            part = "morning" if hour < 12 else "afternoon" if hour < 18 else "evening"
            start = ("", "quarter past ", "half past ", "quarter to ")[minute // 15]
            named = HOURS[(hour - 1 + (minute == 45)) % 12]
            yield f"{start}{named} in the {part}"


@cache
def _clock() -> dict[str, str]:
    """Every phrase for a time of day, with its ISO time."""
    table = {}
    for at in range(24 * 60):
        hour, minute = divmod(at, 60)
        for said in (*_times(hour, minute), f"{hour}:{minute:02}"):
            table[said] = f"{hour:02}:{minute:02}:00Z"
    return table


def _value(found: re.Match[str], today: date) -> str | None:
    if re.fullmatch(_ISO, found[0]):
        return found[0]
    day = _read_day((found["day"] or found["day_last"]).lower(), today)
    time = found["time"] or found["time_first"]
    if day is None:
        return None
    if time is None:
        return day.isoformat()
    clock = _clock().get(time.lower())
    return clock and f"{day.isoformat()}T{clock}"


def _read_day(said: str, today: date) -> date | None:
    if said in NEAR:
        return today + timedelta(days=NEAR[said])
    match said.replace(",", "").replace(" of ", " ").removeprefix("the ").split():
        case [name] if name.title() in WEEKDAYS:
            return _coming(name, today)
        case ["next", name]:
            return _next(_weekday(name), today)
        case ["last", name]:
            return _last(_weekday(name), today)
        case ["a", "week", "from", start] if start != "now":
            base = today if start == "today" else _read_day(start, today)
            return base and base + timedelta(days=7)
        case ["in", count, unit]:
            return today + _length(count, unit)
        case [count, unit, "ago"]:
            return today - _length(count, unit)
        case [count, unit, "from", _]:
            return today + _length(count, unit)
        case [nth]:
            return _nearest(_number(nth), None, today)
        case [first, second]:
            return _in_month(first, second, today)
        case [first, second, year]:
            return _in_month(first, second, today, int(year))
    return None


def _weekday(name: str) -> int:
    return WEEKDAYS.index(name.title())


def _coming(name: str, today: date) -> date | None:
    ahead = (_weekday(name) - today.weekday()) % 7
    return today + timedelta(days=ahead) if ahead else None


def _next(weekday: int, today: date) -> date:
    return today + timedelta(days=7 - today.weekday() + weekday)


def _last(weekday: int, today: date) -> date:
    return today - timedelta(days=7 + today.weekday() - weekday)


def _length(count: str, unit: str) -> timedelta:
    number = COUNTS[count] if count in COUNTS else int(count)
    return timedelta(days=number * (7 if unit.startswith("week") else 1))


def _number(nth: str) -> int:
    return int(nth.rstrip("stndrh"))


def _in_month(first: str, second: str, today: date, year: int | None = None) -> date | None:
    month, nth = (first, second) if first.title() in MONTHS else (second, first)
    number = MONTHS.index(month.title()) + 1
    if year is None:
        return _nearest(_number(nth), number, today)
    return _date(year, number, _number(nth))


def _nearest(day: int, month: int | None, today: date) -> date | None:
    """The nearest date with this day (and month); None if two are equally near."""
    if month is None:
        around = [today.year * 12 + today.month - 1 + shift for shift in (-1, 0, 1)]
        days = [_date(at // 12, at % 12 + 1, day) for at in around]
    else:
        days = [_date(today.year + shift, month, day) for shift in (-1, 0, 1)]
    away = sorted((abs((found - today).days), found) for found in days if found)
    if not away or (len(away) > 1 and away[0][0] == away[1][0]):
        return None
    return away[0][1]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _suffix(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
