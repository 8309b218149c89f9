"""Whether the values in a reply stand with the names that they belong to.

"Savings has 20 and Checking has 10" states both amounts, but on the wrong accounts. A value is
misplaced if every part of the reply that states it has the label of another value instead of its
own. A label is the name of a record in a list, or the words of a field of one record. The check is
lenient: a part without labels, or with the values of all its labels, is right for every value.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from provegym.language.values import stem

PARTS = re.compile(r";|,\s+(?:and\s+)?|\band\b(?! [A-Z])|\bwhile\b|\bbut\b|(?<=[.!?])\s")
SMALL = 2
MARK = "\u00a7"
TOGETHER = re.compile(rf"{MARK}(?:[^\w\n]|and|or)*{MARK}|\brespectively\b", re.I)
ITEM = re.compile(r"(.*/\d+)/(\w+)")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")

States = Callable[[str, Any], bool]


class Labelled(NamedTuple):
    """A value of an answer, and the pattern of the words that it belongs to."""

    label: re.Pattern[str]
    value: Any


def is_misplaced(text: str, answers: Sequence[str], values: Sequence[Any], states: States) -> bool:
    """Whether a reply puts a value on the name of another record, or on another field."""
    records = _records(answers, values)
    if len(records) == 1:
        (fields,) = records.values()
        return _is_one_apart(text, _by_field(fields), states)
    names = _names(list(records.values()))
    text = _marked(text, names)
    if not names or TOGETHER.search(text):
        return False
    labels = [re.compile(_mark(number)) for number, _ in enumerate(names)]
    for field in {field for fields in records.values() for field in fields}:
        owned = [
            Labelled(label, fields[field])
            for label, name, fields in zip(labels, names, records.values(), strict=True)
            if fields.get(field) not in (None, name)
        ]
        if _is_one_apart(text, owned, states, carries=True):
            return True
    return False


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


def _mark(number: int) -> str:
    """A mark without digits, which a value could be mistaken for."""
    return MARK + "x" * (number + 1) + MARK


def _marked(text: str, names: Sequence[str]) -> str:
    """The text with marks for names, so that a name with "and" is not cut into two parts."""
    for number in sorted(range(len(names)), key=lambda number: -len(names[number])):
        if names[number].casefold() in text.casefold():
            name = rf"(?<!\w){re.escape(names[number])}(?!\w)"
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
        own = "|".join(sorted(words[field] - others)) or "(?!)"
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
