"""Whether the values in a reply stand with the names that they belong to.

"Savings has 20 and Checking has 10" states both amounts, but on the wrong accounts. A value is
misplaced if every part of the reply that states it has the label of another value instead of its
own. A label is the name of a record in a list, or the words of a field of one record. The check is
lenient: a part without labels, or with the values of all its labels, is right for every value.

Bullets and rows are read more strictly: where most items of a list tell a field of their own
record, all of them must.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from provegym.language.values import stem
from provegym.rewards.layout import lists
from provegym.rewards.moments import moment_of, spoken

PARTS = re.compile(r";|,\s+(?:and\s+)?|\band\b(?! [A-Z])|\bwhile\b|\bbut\b|(?<=[.!?])\s")
SMALL = 2
FEWEST = 3
MARK = "\u00a7"
TOGETHER = re.compile(rf"{MARK}(?:[^\w\n]|and|or)*{MARK}|\brespectively\b", re.I)
ITEM = re.compile(r"(.*/\d+)/(\w+)")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")

States = Callable[[str, Any], bool]


class Labelled(NamedTuple):
    """A value of an answer, and the pattern of the words that it belongs to."""

    label: re.Pattern[str]
    value: Any


def is_misplaced(
    text: str,
    answers: Sequence[str],
    values: Sequence[Any],
    states: States,
    names: Mapping[str, Sequence[str]],
) -> bool:
    """Whether a reply puts a value on the name of another record, or on another field.

    `names` are further names of the records, which were not asked for.
    """
    records = _records(answers, values)
    if len(records) == 1:
        (fields,) = records.values()
        return _is_one_apart(text, _by_field(fields), states)
    called = _names(list(records.values())) or _further_names(text, records, names)
    text = _marked(text, called)
    if not called or TOGETHER.search(text):
        return False
    labels = [re.compile(_mark(number)) for number, _ in enumerate(called)]
    told = [_by_record(items, len(called)) for items in lists(text)]
    for field in {field for fields in records.values() for field in fields}:
        owned = {
            number: Labelled(label, fields[field])
            for number, (label, name, fields) in enumerate(
                zip(labels, called, records.values(), strict=True)
            )
            if fields.get(field) not in (None, name)
        }
        if _is_one_apart(text, list(owned.values()), states, carries=True):
            return True
        if any(_is_one_off(items, owned, states) for items in told):
            return True
    return False


def _by_record(items: Sequence[str], count: int) -> dict[int, str]:
    """The item of a list that tells of each record, where it is one, and tells of no other."""
    told: dict[int, list[str]] = {}
    for item in items:
        about = [number for number in range(count) if _mark(number) in item]
        if len(about) == 1:
            told.setdefault(about[0], []).append(item)
    return {number: found[0] for number, found in told.items() if len(found) == 1}


def _is_one_off(items: Mapping[int, str], owned: Mapping[int, Labelled], states: States) -> bool:
    """Whether most items of a list tell the value of their own record, but not all of them."""
    own = [number for number in items if number in owned]
    if len(own) < FEWEST:
        return False
    right = sum(states(items[number], owned[number].value) for number in own)
    return len(own) > right > len(own) / 2


def _records(answers: Sequence[str], values: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """The values of an answer by record and field."""
    found: dict[str, dict[str, Any]] = {}
    for pointer, value in zip(answers, values, strict=True):
        item = ITEM.fullmatch(pointer)
        place, field = item.groups() if item else ("", pointer.rpartition("/")[2])
        if pointer != "/total":
            found.setdefault(place, {})[field] = value
    return found


def _names(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of records: the first text field that differs in all; empty if there is none."""
    for field in records[0] if records else ():
        found = [fields.get(field) for fields in records]
        texts = [value for value in found if isinstance(value, str) and not MOMENT.match(value)]
        if len(set(texts)) == len(records):
            return texts
    return []


def _further_names(
    text: str, records: Mapping[str, Any], names: Mapping[str, Sequence[str]]
) -> list[str]:
    """For each record the first of its further names that the reply has, or any of them."""
    if not all(names.get(place) for place in records):
        return []
    return [
        next((name for name in names[place] if _has(text, name)), names[place][0])
        for place in records
    ]


def _has(text: str, name: str) -> bool:
    """Whether a text has a name, or a day in words."""
    moment = moment_of(name)
    if moment is None:
        return name.casefold() in text.casefold()
    return re.search(spoken(moment), text, re.I) is not None


def _mark(number: int) -> str:
    """A mark without digits, which a value could be mistaken for."""
    return MARK + "x" * (number + 1) + MARK


def _marked(text: str, names: Sequence[str]) -> str:
    """The text with marks for names, so that a name with "and" is not cut into two parts."""
    for number in sorted(range(len(names)), key=lambda number: -len(names[number])):
        moment = moment_of(names[number])
        name = spoken(moment) if moment else rf"(?<!\w){re.escape(names[number])}(?!\w)"
        if moment or names[number].casefold() in text.casefold():
            text = re.sub(name, _mark(number), text, flags=re.I)
    return text


def _by_field(fields: Mapping[str, Any]) -> list[Labelled]:
    """The numbers and dates of a record, each with the words that only its own field has."""
    some = {
        field: value
        for field, value in fields.items()
        if (isinstance(value, int | float) and not isinstance(value, bool))
        or (isinstance(value, str) and MOMENT.match(value))
    }
    words = {f: {stem(word) for word in f.split("_") if len(word) > SMALL} for f in some}
    labelled = []
    for field, value in some.items():
        others = {word for other in some if other != field for word in words[other]}
        own = "|".join(map(re.escape, sorted(words[field] - others))) or "(?!)"
        labelled.append(Labelled(re.compile(rf"\b(?:{own})|^\W*(?i:{own})", re.M), value))
    return labelled


def _is_one_apart(
    text: str, owned: Sequence[Labelled], states: States, *, carries: bool = False
) -> bool:
    """Whether a value is stated only in parts that have another label instead of its own.

    With `carries`, a part without any has the label of the part before it.
    """
    owned = [each for each in owned if each.label.search(text)]
    if len(owned) < 2:
        return False
    parts = [part for line in text.splitlines() for part in (*PARTS.split(line), "")]
    stated = [{at for at, each in enumerate(owned) if states(part, each.value)} for part in parts]
    labels = [{at for at, each in enumerate(owned) if each.label.search(part)} for part in parts]
    if carries and _first(labels) <= _first(stated):
        labels = _carried(parts, labels)
    fits: dict[int, bool] = {}
    for here, about in zip(stated, labels, strict=True):
        for at in here:
            fits[at] = fits.get(at, False) or at in about or about <= here
    return not all(fits.values())


def _first(found: Sequence[set[int]]) -> int:
    """The place of the first set that is not empty."""
    return next((at for at, each in enumerate(found) if each), len(found))


def _carried(parts: Sequence[str], labels: Sequence[set[int]]) -> list[set[int]]:
    """The labels of each part. A part without any goes on about the part before it.

    An empty line ends that: it makes two empty parts.
    """
    about: set[int] = set()
    carried: list[set[int]] = []
    for at, (part, own) in enumerate(zip(parts, labels, strict=True)):
        is_break = not part.strip() and not parts[at - 1].strip()
        about = set() if is_break else own or about
        carried.append(about)
    return carried
