"""Alternatives in a reply: "It is 45 or 54." states neither number."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from provegym.language.values import leaves, numbers
from provegym.rewards.layout import WORDS
from provegym.rewards.moments import RELATIVE

LONG = 80
NEAR_DAY = RELATIVE.pattern.replace("(", "(?:", 1)
NUMBER = (
    rf"(?<![\w.,:/-])[\u20ac$\u00a3]?(?:\d+(?:[.,:]\d+)*(?!\d)|(?:{'|'.join(WORDS)})\b|{NEAR_DAY})"
)
UNIT = r"(?:%|\u20ac|(?: [a-z]+){1,2}| ?[a-z]+)?"
EITHER = re.compile(rf"({NUMBER}){UNIT}\W{{0,3}}\s+\(?or\s+(?:[a-z]+ ){{0,2}}\W?({NUMBER})", re.I)
SLASH = re.compile(r"(?<![\w.,:/-])(\d+(?:[.,]\d+)*) ?/ ?(\d+(?:[.,]\d+)*)(?![\w/-]|[.,]\d)")
RANGE = re.compile(rf"\bbetween ({NUMBER}){UNIT} and ({NUMBER})", re.I)
OR = re.compile(r"\bor\b", re.I)
# What a share may be out of, even if no result has it: "4.5/5".
SCALES = {5, 10, 100}


def decided(text: str, values: Sequence[Any], seen: str) -> str:
    """A text without pairs of alternatives and ranges, unless both of a pair were asked for.

    A pair with a slash may also be a share of a number that was seen: "21/40 seats".
    """
    asked = set(_plain(values))
    if OR.search(text):
        text = EITHER.sub(lambda found: _kept(found, asked), text)
        for value in sorted(asked):
            text = _without_choice(text, value, asked)
    text = RANGE.sub(lambda found: _kept(found, asked), text)
    known = set(numbers(seen)) | SCALES if SLASH.search(text) else set()
    return SLASH.sub(
        lambda found: found[0] if known & set(numbers(found[2])) else _kept(found, asked), text
    )


def _plain(values: Sequence[Any]) -> Iterator[str]:
    """The asked values as texts, but for long ones; numbers without their sign."""
    for leaf in leaves(list(values)):
        if isinstance(leaf, str):
            if len(leaf) <= LONG:
                yield leaf.replace("_", " ").casefold()
        elif not isinstance(leaf, bool):
            with suppress(OverflowError):  # too large for a float, and nobody says it
                yield f"{abs(float(leaf))}"


def _kept(found: re.Match[str], asked: set[str]) -> str:
    """A pair of alternatives if both were asked for; otherwise nothing."""
    return found[0] if all(_is_asked(found[at], asked) for at in (1, 2)) else " "


def _is_asked(number: str, asked: set[str]) -> bool:
    """Whether a number is among the asked values."""
    said = {number.casefold(), *(f"{float(each)}" for each in numbers(number))}
    return bool(said & asked)


def _without_choice(text: str, value: str, asked: set[str]) -> str:
    """A text without an asked value that stands beside "or" and something that was not asked."""
    if value not in text.casefold() or OR.search(value):
        return text
    others = sorted(asked - {value})
    own = rf"\W?(?<!\w){re.escape(value)}(?!\w)"
    other = "|".join(rf"(?:the |an? )?\W?{re.escape(each)}\b" for each in others) or "(?!)"
    first = rf"{own}[^\w.!?\n]{{0,3}}\bor\b\s+(?!{other})"
    last = rf"(\w+)[^\w.!?\n]{{0,3}}\bor\s+(?:the |an? )?{own}"
    text = re.sub(first, " ", text, flags=re.I)
    ends = [each.rpartition(" ")[2] for each in others]
    return re.sub(
        last, lambda found: found[0] if found[1].casefold() in ends else " ", text, flags=re.I
    )
