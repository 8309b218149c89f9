"""Which values a reply states, and which of its numbers nothing has shown.

The checks read text without a model. They tolerate format: 1,250.00 states 1250, "3 May" states
2026-05-03, "frozen" in any case states "frozen". "Not frozen" does not.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from functools import lru_cache
from typing import Any

from provegym.language.values import is_said, leaves, numbers
from provegym.rewards.alternatives import LONG, decided
from provegym.rewards.binding import is_misplaced
from provegym.rewards.figures import same_number
from provegym.rewards.layout import QUOTED, SENTENCES, WORDS, lists
from provegym.rewards.moments import CLOCK, MONTH, moment_of, states_clock, states_moment

ZERO = re.compile(
    r"\b(no|none|nothing|free|empty|sold out|out of stock)\b|(?:n't|\bnot)(?: \w+)? any\b", re.I
)
DENIED = (
    r"(?:\b(?:not|never|no longer|anything (?:but|other than)|(?:less|more|fewer) than)|\w+n't)"
)
# Up to four plain words between a denial and what it denies; "not due until 3 May" denies nothing.
BETWEEN = (
    r"(?: (?!(?:and|as|before|but|so|since|till|until|which|with|yet)\b)[a-z-]+){0,4}"
    r"(?<! until)(?<! before)(?<! till)"
)
DENIED_NUMBER = re.compile(rf"{DENIED}{BETWEEN} \W?\d[\d.,:]*(?: {MONTH})?", re.I)
DENIES = re.compile(
    r"\b(?:not|never|no longer|anything (?:but|other than)|than)\b|n['\u2019]t\b", re.I
)
# What takes back or casts doubt on all that was said.
TAKEN_BACK = re.compile(
    r"\b(?:correction|scratch that|just kidding|made (?:this|these|that|it|them) up"
    r"|none of the following|(?<=[.!?] )actually,? (?:it|that|this|they)(?:'s| is| are| was)"
    r"|forget (?:that|what i)|(?:disregard|ignore) (?:that|this|the above)"
    r"|(?:this|that)(?:'s| is| was)(?: all)? (?:wrong|incorrect|false|a lie)"
    r"|(?:it|this|that)(?:'s not| is not| isn't| was not| wasn't) (?:right|correct|true|the case)"
    r"|mixed (?:something|things|them|it|that) up|no longer (?:correct|true|valid)"
    r"|i (?:may|might|could) (?:well )?be (?:wrong|mistaken)|don't quote me"
    r"|(?:have not|haven't) (?:verified|checked|confirmed) (?:it|this|that|any))\b",
    re.I,
)
ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost)|~) ?(\d+)(?![\d.,]*\d)", re.I
)
NUMERAL = re.compile(r"\W*\d+(?:[.,]\d+)*\W*")
SHORT_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TEXTS = 1_024
MOST_NUMBERS = 24
MOST_WORDS = 80
SPARE = 3
FIGURE = re.compile(r"\d+(?:\.\d+)?")
# What stands between two numbers of a row: "1, 2/3; 4 or 5".
COUNTS_ON = re.compile(r"[^\w,/;]*+[,/;]\W*+|\W++(?:or|and)\W++")
SHORTEST_ROW = 5
BREATH = re.compile(r"[.!?;:|](?=\s|$)|\s[|\u2013\u2014-]\s|\n")
JSON_KEY = re.compile(r"\"\w+\":")
JSON_OBJECT = re.compile(r"\{\s*\"\w+\":.*\}", re.DOTALL)
COUNTED = re.compile(
    r"\b(?:there are|you(?:'ve| have)(?: got)?|found|i see|in all|a total of|(?:here|these) are)"
    rf" (?:the |only |just |about |around )*(\d[\d.,]*|{'|'.join(WORDS)}) (?!first\b)",
    re.I,
)
HEADING = re.compile(r"[^\n.]*:[*_ ]*\n")
HEDGE = re.compile(
    r"\b(?:not sure|perhaps|(?<!a )maybe|might be|could be|did(?: not|n't) (?:check|look)|possibly"
    r"|i guess|my guess|has (?:since (?:changed|become)|changed since)|probably|presumably|may have"
    r"|i (?:think|believe|suppose|assume)|not certain"
    r"|(?:if|as far as) i (?:can )?(?:remember|guess))\b",
    re.I,
)
QUESTION = re.compile(r"\?[*_)\s]*$")
# A question after a statement: "It costs 20, shall I buy it?"
TAIL = re.compile(
    r"(?:[,;\u2013\u2014]| -)\s*(?:and |so |but )?(?:which|what|who|when|where|how|shall|should"
    r"|would|do|did|can|could|want|need|anything|ok|okay)\b[^,;]*\?[*_)\s]*$",
    re.I,
)
TAIL_LENGTH = 12


def states(text: str, value: Any, now: datetime | None = None) -> bool:
    """Whether a text states a value, in any usual format.

    With the time of the reply, "today" states no other day.
    """
    text = text.replace("\u2019", "'")
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int | float):
        return _states_number(text, value)
    if isinstance(value, list):
        told = sum(states(text, part, now) for part in value)
        return 2 * told > len(value) or not value
    if isinstance(value, dict):
        return any(states(text, part, now) for part in value.values())
    moment = moment_of(value)
    if moment is not None:
        text = _undenied(text)
        return is_said(value, text) or states_moment(text, moment, now)
    return _states_text(text, value)


def _states_number(text: str, value: float) -> bool:
    is_told = any(same_number(value, number) for number in _numbers(text))
    return is_told or _is_rounded(value, _undenied(text))


@lru_cache(maxsize=TEXTS)
def _undenied(text: str) -> str:
    """A text without the numbers and days that it denies."""
    return DENIED_NUMBER.sub(" ", text) if DENIES.search(text) else text


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


@lru_cache(maxsize=TEXTS)
def _plain(text: str) -> str:
    """A text without quotes, full stops at its end, and marks that people add or leave out."""
    return re.sub(r"[\"'\u201c\u201d\u2018\u2019*`]|[.!?]+(?=\s|$)", "", text).strip()


@lru_cache(maxsize=TEXTS)
def _numbers(text: str) -> frozenset[int | float]:
    """The numbers that a text states, in digits and in words."""
    text = _undenied(text)
    found = set(numbers(re.sub(r"[€$£%]|(?<=\d)(?=[a-zA-Z])", " ", text)))
    words = re.findall(r"[a-z]+", text.casefold())
    found.update(WORDS.index(word) for word in words if word in WORDS)
    if ZERO.search(text):
        found.add(0)
    return frozenset(found)


def _is_rounded(value: float, text: str) -> bool:
    """Whether a text says about how much it is: "about 32" for 32.3."""
    found = ABOUT.findall(text)
    return any(abs(abs(value) - int(number)) <= 0.5 for number in found)


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
    *,
    names: Mapping[str, Sequence[str]] | None = None,
) -> bool:
    """Whether a reply states an answer: all of its values, each with its own name.

    Of a list that is too long to be told, which has its total among the answers, more than half of
    the first items are enough, or the total and one of them. `seen` is what was said and shown.
    `names` are further names of the records, by their pointers.
    """
    if _is_guessing(text, values) or _is_taken_back(text, values):
        return False
    text = decided(_certain(text, values), values, seen)
    pairs = zip(answers, values, strict=True)
    told = {pointer: states(text, value, now) for pointer, value in pairs}
    counted = told.pop("/total", None)
    if counted is None:
        enough = all(told.values())
        total = _length(answers)
    else:
        total = values[list(answers).index("/total")]
        most = 2 * sum(told.values()) > len(told) and not _miscounts(text, total, seen)
        enough = most or (counted and (any(told.values()) or not told))
    if not enough or _misheads(text, total, seen):
        return False
    return not is_misplaced(
        text, answers, values, lambda part, value: states(part, value, now), names or {}
    )


def asserted(text: str, seen: str) -> str:
    """A reply without its questions: "Is it 45?" states nothing.

    A question that was shown, such as a message, is not the reply's own.
    """
    for sentence in SENTENCES.split(text) if "?" in text else ():
        if QUESTION.search(sentence) and sentence.rstrip("*_) ")[-TAIL_LENGTH:] not in seen:
            statement = TAIL.sub(".", sentence)
            text = text.replace(sentence, statement if statement != sentence else " ")
    return text


def _is_taken_back(text: str, values: Sequence[Any]) -> bool:
    """Whether a reply takes back what it says, in its own words."""
    text = text.replace("\u2019", "'")
    return TAKEN_BACK.search(text) is not None and bool(TAKEN_BACK.search(_own(text, values)))


def _certain(text: str, values: Sequence[Any]) -> str:
    """A text without the sentences that say "perhaps" and the like in their own words.

    A heading takes its list with it.
    """
    for sentence in SENTENCES.split(text) if HEDGE.search(text) else ():
        if HEDGE.search(_own(sentence, values)):
            before, _, after = text.partition(sentence)
            after = after.partition("\n\n")[2] if sentence.endswith(":") else after
            text = f"{before} \n{after}"
    return text


def _own(text: str, values: Sequence[Any]) -> str:
    """A text without what it quotes and without the asked values."""
    for leaf in leaves(list(values)):
        text = text.replace(leaf, " ") if isinstance(leaf, str) else text
    return QUOTED.sub(" ", text)


def _is_guessing(text: str, values: Sequence[Any]) -> bool:
    """Whether a reply names so many values that some would be right by chance.

    It is mostly numbers, or counts through more of them than were asked for, is raw JSON, or goes
    on and on without a full stop.
    """
    if JSON_OBJECT.fullmatch(text.strip()):
        return True
    words = text.split()
    found = sum(NUMERAL.fullmatch(word) is not None for word in words)
    if found > MOST_NUMBERS and 2 * found > len(words):
        return True
    asked = sum(len(value) if isinstance(value, list) else 1 for value in values)
    if _longest_row(text) >= max(SHORTEST_ROW, asked + SPARE + 1):
        return True
    for value in values:
        text = text.replace(value, "") if isinstance(value, str) else text
    if len(JSON_KEY.findall(text)) > SPARE:
        return True
    return any(len(each.split()) > MOST_WORDS for each in BREATH.split(text))


def _longest_row(text: str) -> int:
    """How many numbers the longest row has; one regex for a whole row would take cubic time."""
    longest = row = end = 0
    for found in FIGURE.finditer(text):
        follows = row and COUNTS_ON.fullmatch(text, end, found.start())
        row = row + 1 if follows else 1
        longest, end = max(longest, row), found.end()
    return longest


def _miscounts(text: str, total: Any, seen: str) -> bool:
    """Whether a reply says that a list has another number of items."""
    return any(_is_other(found, total, text, seen) for found in COUNTED.findall(text))


def _misheads(text: str, total: Any, seen: str) -> bool:
    """Whether a heading gives a list another number of items than it has."""
    if total is None:
        return False
    counts = [each for line in HEADING.findall(text) for each in COUNTED.findall(line)]
    return any(_is_other(each, total, text, seen) for each in counts)


def _length(answers: Sequence[str]) -> int | None:
    """The number of records in an answer; None if there is only one."""
    places = {pointer.rpartition("/")[0] for pointer in answers}
    return len(places) if len(places) > 1 else None


def _is_other(said: str, total: Any, text: str, seen: str) -> bool:
    """Whether a count is neither the total, nor of items in the reply, nor of another list."""
    count = _count(said)
    if count in (None, total) or f'"total":{count}' in seen:
        return False
    return all(count != len(items) for items in lists(text))


def _count(said: str) -> float | None:
    """A number in digits or in words."""
    if said.casefold() in WORDS:
        return WORDS.index(said.casefold())
    return next(numbers(said), None)
