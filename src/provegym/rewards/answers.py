"""Which values a reply states, and which of its numbers nothing has shown.

The checks read text without a model. They tolerate format: 1,250.00 states 1250, "3 May" states
2026-05-03, "frozen" in any case states "frozen". "Not frozen" does not.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, time
from typing import Any

from provegym.language.values import is_said, numbers
from provegym.rewards.alternatives import LONG, decided
from provegym.rewards.binding import is_misplaced
from provegym.rewards.layout import QUOTED, SENTENCES, WORDS, lists
from provegym.rewards.moments import CLOCK, moment_of, states_clock, states_moment, without_dates

ZERO = re.compile(
    r"\b(no|none|nothing|free|empty|sold out|out of stock)\b|(?:n't|\bnot)(?: \w+)? any\b", re.I
)
DENIED = (
    r"(?:\b(?:not|never|no longer|anything (?:but|other than)|(?:less|more|fewer) than)|\w+n't)"
)
DENIED_NUMBER = re.compile(rf"{DENIED} \W?\d[\d.,]*", re.I)
DENIES = re.compile(
    r"\b(?:not|never|no longer|anything (?:but|other than)|than)\b|n['\u2019]t\b", re.I
)
TAKEN_BACK = re.compile(
    r"\b(?:correction|that was wrong|scratch that|just kidding|made (?:this|these|that|it|them) up"
    r"|none of the following)\b",
    re.I,
)
ABOUT = r"(?:\b(?:about|around|roughly|approximately|nearly|almost)|~) ?"
NUMERAL = re.compile(r"\W*\d+(?:[.,]\d+)*\W*")
SHORT_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LARGE = 100
MOST_NUMBERS = 24
SPARE = 3
RUN = re.compile(r"(?:\d+(?:\.\d+)?\W*(?:,|/|;|\bor\b|\band\b)\W*){4,}\d+(?:\.\d+)?")
JSON_KEY = re.compile(r"\"\w+\":")
COUNTED = re.compile(
    r"\b(?:there are|you have|found|in all|a total of|here are(?: the)?) (?:only |just )?"
    r"(\d[\d.,]*) (?!first)",
    re.I,
)
HEDGE = re.compile(
    r"\b(?:not sure|perhaps|(?<!a )maybe|might be|could be|did(?: not|n't) (?:check|look)|possibly"
    r"|i guess|my guess|has since (?:changed|become))\b"
)
SCALE = re.compile(r"\bout of \d+\b")


def states(text: str, value: Any, now: datetime | None = None) -> bool:
    """Whether a text states a value, in any usual format.

    With the time of the reply, "today" states no other day.
    """
    text = text.replace("\u2019", "'")
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int | float):
        text = DENIED_NUMBER.sub(" ", text)
        return any(_same_number(value, n) for n in _numbers(text)) or _is_rounded(value, text)
    if isinstance(value, list):
        told = sum(states(text, part, now) for part in value)
        return 2 * told > len(value) or not value
    if isinstance(value, dict):
        return any(states(text, part, now) for part in value.values())
    moment = moment_of(value)
    if moment is not None:
        return is_said(value, text) or states_moment(text, moment, now)
    return _states_text(text, value)


def _states_text(text: str, value: str) -> bool:
    if CLOCK.fullmatch(value):
        return is_said(value, text) or states_clock(text, time.fromisoformat(value))
    if value in SHORT_DAYS:
        return re.search(rf"\b{value}([a-z]*day)?\b", text, re.I) is not None
    if DENIES.search(text):
        between = r"(?: \w+){0,3}" if value.islower() else ""
        denial = rf"{DENIED}{between} \W?{re.escape(value.replace('_', ' '))}\b"
        text = re.sub(denial, " ", text, flags=re.I)
    if value.startswith("/") and "." in (name := value.rpartition("/")[2]):
        value = name  # people call a file by its name
    if "_" in value:
        text = text.replace("-", " ")
    return is_said(_plain(value), _plain(text)) or (len(value) > LONG and _retells(text, value))


def _plain(text: str) -> str:
    """A text without quotes, full stops at its end, and marks that people add or leave out."""
    return re.sub(r"[\"'\u201c\u201d\u2018\u2019*`]|[.!?]+(?=\s|$)", "", text).strip()


def _numbers(text: str) -> Iterator[int | float]:
    yield from numbers(re.sub(r"[€$£%]|(?<=\d)(?=[a-zA-Z])", " ", text))
    for word in re.findall(r"[a-z]+", text.casefold()):
        if word in WORDS:
            yield WORDS.index(word)
    if ZERO.search(text):
        yield 0


def _is_rounded(value: float, text: str) -> bool:
    """Whether a text says about how much it is: "about 32" for 32.3."""
    found = re.findall(rf"{ABOUT}(\d+)(?![\d.,]*\d)", text, re.I)
    return any(abs(abs(value) - int(number)) <= 0.5 for number in found)


def _same_number(value: float, said: float) -> bool:
    """Whether a number is the value, or the value rounded to the decimals that are written."""
    if said in (value, abs(value)):
        return True
    if said == int(said):
        return abs(value) >= LARGE and abs(abs(value) - said) <= 0.5
    decimals = len(f"{said}".partition(".")[2])
    return round(value, decimals) == said


def _retells(text: str, value: str) -> bool:
    """Whether a text has more than half of the longer words of a long text."""
    words = set(re.findall(r"\w{5,}", value.casefold()))
    return 2 * len(words & set(re.findall(r"\w{5,}", text.casefold()))) > len(words)


def states_enough(
    text: str,
    answers: Sequence[str],
    values: Sequence[Any],
    now: datetime | None = None,
    seen: str = "",
) -> bool:
    """Whether a reply states an answer: all of its values, each with its own name.

    Of a list that is too long to be told, which has its total among the answers, more than half of
    the first items are enough, or the total and one of them. `seen` is what was said and shown.
    """
    if _is_guessing(text, values) or TAKEN_BACK.search(QUOTED.sub(" ", text)):
        return False
    text = decided(_certain(text), values, seen)
    pairs = zip(answers, values, strict=True)
    told = {pointer: states(text, value, now) for pointer, value in pairs}
    counted = told.pop("/total", None)
    if counted is None:
        enough = all(told.values())
    elif not told:
        enough = counted
    else:
        most = 2 * sum(told.values()) > len(told)
        total = values[list(answers).index("/total")]
        enough = (most and not _miscounts(text, total)) or (counted and any(told.values()))
    return enough and not is_misplaced(
        text, answers, values, lambda part, value: states(part, value, now)
    )


def _certain(text: str) -> str:
    """A text without the sentences that say "perhaps" and the like, but for what they quote."""
    for sentence in SENTENCES.split(text) if HEDGE.search(text) else ():
        if HEDGE.search(QUOTED.sub(" ", sentence)):
            text = text.replace(sentence, " ")
    return text


def _is_guessing(text: str, values: Sequence[Any]) -> bool:
    """Whether a reply names so many values that some would be right by chance.

    It is mostly numbers, or counts through more of them than were asked for, or is raw JSON.
    """
    words = text.split()
    found = sum(NUMERAL.fullmatch(word) is not None for word in words)
    if found > MOST_NUMBERS and 2 * found > len(words):
        return True
    asked = sum(len(value) if isinstance(value, list) else 1 for value in values)
    runs = [len(re.findall(r"\d+(?:\.\d+)?", run[0])) for run in RUN.finditer(text)]
    if any(run > asked + SPARE for run in runs):
        return True
    for value in values:
        text = text.replace(value, "") if isinstance(value, str) else text
    return len(JSON_KEY.findall(text)) > SPARE


def _miscounts(text: str, total: Any) -> bool:
    """Whether a reply says that a list has another number of items."""
    shown = [len(items) for items in lists(text)]
    for found in COUNTED.findall(text):
        count = next(numbers(found), None)
        if count is not None and count not in (total, *shown):
            return True
    return False


def unseen_numbers(text: str, known: Collection[float]) -> list[int | float]:
    """The numbers in a text, without dates and clocks, that are not known, not even rounded."""
    found = list(numbers(without_dates(SCALE.sub(" ", text))))
    return [n for n in found if not any(_same_number(k, n) or _rounds_to(k, n) for k in known)]


def _rounds_to(value: float, whole: float) -> bool:
    return whole == int(whole) and abs(abs(value) - whole) <= 0.5
