"""Texts of a spec that are made of words: how long they can be, and how many there are."""

import re
from collections.abc import Mapping

from provegym.worlds.spec import SpecError

SLOT = re.compile(r"\{(\w+)(?::\w+)?\}")
PERSON, PEOPLE = 40, 60
LONGEST, DEEPEST, MOST = 400, 8, 10**9

Lists = Mapping[str, tuple[str, ...]]


def slots(text: str) -> list[str]:
    """The names in braces."""
    return SLOT.findall(text)


def require_balanced(text: str, where: str) -> None:
    """Raise SpecError unless every brace belongs to a slot, and [brackets] come in pairs."""
    rest = SLOT.sub("", text)
    if "{" in rest or "}" in rest:
        raise SpecError(f"{where}: a brace is open or holds no name in {text!r}")
    if "[" in rest or "]" in rest:
        depth = 0
        for each in rest:
            depth += (each == "[") - (each == "]")
            if not 0 <= depth <= 1:
                break
        if depth:
            raise SpecError(f"{where}: brackets do not come in pairs in {text!r}")


def longest(text: str, lists: Lists, where: str) -> int:
    """How many characters a text has at most when its slots are filled."""
    return _longest(text, lists, where, 0, {})


def _longest(text: str, lists: Lists, where: str, depth: int, known: dict[str, int]) -> int:
    total = len(SLOT.sub("", text))
    if depth > DEEPEST:
        raise SpecError(f"{where}: word lists lead in a circle or too far")
    for slot in slots(text):
        if slot not in known:
            words = lists.get(slot, ())
            known[slot] = PERSON
            if words:
                known[slot] = -1
                sizes = [_longest(word, lists, where, depth + 1, known) for word in words]
                known[slot] = max(sizes)
        if known[slot] < 0:
            raise SpecError(f"{where}: the word list {slot!r} names itself")
        total += known[slot]
    if total > LONGEST:
        raise SpecError(f"{where}: its words make texts of more than {LONGEST} characters")
    return total


def combinations(text: str, lists: Lists, is_code: bool) -> int:
    """How many different texts a text with slots stands for, at most."""
    total = _combinations(text, lists, {"person": PEOPLE, "me": 1})
    if is_code:
        total *= 10 ** min(text.count("#"), 9) * 23 ** min(text.count("@"), 6)
    return min(total, MOST)


def _combinations(text: str, lists: Lists, known: dict[str, int]) -> int:
    total = 1
    for slot in slots(text):
        if slot not in known:
            words = lists.get(slot, ())
            known[slot] = sum(_combinations(word, lists, known) for word in words) or 1
        total = min(total * known[slot], MOST)
    return total
