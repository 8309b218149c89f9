"""Sentence templates: {slots}, [optional parts], (one|other), and tables that choose by a value."""

import re
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

SLOT = re.compile(r"\{(\w+)\}")
ARTICLE = re.compile(r"\ban? \{(\w+)\}")
VOWELS = tuple("aeio")
COUNTED = re.compile(r"\{(\w+)\} (?!is\b|has\b|was\b)(\w+s)\b")
PART = re.compile(r"\[([^\]]*)\]")
CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")

# A template, or a table that chooses one: {argument: {value: entry}}. The key "none" stands for a
# value that is missing or empty, "else" for every other value.
Entry = str | dict[str, dict[str, Any]]


def choose(entry: Entry, values: Mapping[str, Any]) -> str | None:
    """The template of an entry for these values, or None if it has none for them."""
    chosen: Any = entry
    while isinstance(chosen, dict):
        ((name, by_value),) = chosen.items()
        value = values.get(name)
        key = "none" if value in (None, "", []) else str(value).lower()
        chosen = by_value.get(key, by_value.get("else"))
    return chosen if isinstance(chosen, str) else None


def kept(template: str, values: Mapping[str, str]) -> str:
    """The template without brackets, and without each optional part that has an empty slot."""
    return PART.sub(lambda part: part[1] if slots(part[1]) <= values.keys() else "", template)


def fill_slots(template: str, values: Mapping[str, str]) -> str | None:
    """The template with its slots filled, or None if one that is not optional has no value."""
    text = kept(template, values)
    if not slots(text) <= values.keys():
        return None
    text = ARTICLE.sub(lambda found: _with_article(found[1], values[found[1]]), text)
    text = COUNTED.sub(lambda found: _counted(found, values), text)
    return SLOT.sub(lambda slot: values[slot[1]], text)


def _with_article(slot: str, value: str) -> str:
    return f"{'an' if value[:1].lower() in VOWELS else 'a'} {{{slot}}}"


def _counted(found: re.Match[str], values: Mapping[str, str]) -> str:
    """A slot and its noun: "{stars} stars", or "{stars} star" if the value is 1."""
    return found[0] if values[found[1]] != "1" else f"{{{found[1]}}} {singular(found[2])}"


def singular(noun: str) -> str:
    """The singular of a regular plural."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if re.search(r"(ss|x|ch|sh)es$", noun) else noun[:-1]


def slots(text: str) -> set[str]:
    """The names of a template's slots."""
    return set(SLOT.findall(text))


def templates(entry: Entry) -> Iterator[str]:
    """Every template of an entry."""
    if isinstance(entry, str):
        yield entry
        return
    for by_value in entry.values():
        for each in by_value.values():
            yield from templates(each)


def chooses_by(entry: Entry) -> set[str]:
    """The names of the values that an entry chooses by."""
    if isinstance(entry, str):
        return set()
    inner = [chooses_by(each) for by_value in entry.values() for each in by_value.values()]
    return set(entry).union(*inner)


def vary(way: str, chance: Random) -> str:
    """A template with one alternative drawn from each group: "(Move|Shift) {amount}"."""
    return CHOICE.sub(lambda group: chance.choice(group[1].split("|")), way)


def fit(way: str, values: Mapping[str, str]) -> str | None:
    """Fill a template's slots, or None unless its slots are exactly the given values.

    A part in [brackets] is optional: it is dropped if one of its slots has no value.
    """
    chosen = PART.sub(lambda part: _optional(part[1], values), way)
    slots = set(SLOT.findall(chosen))
    if slots != set(values):
        return None
    return SLOT.sub(lambda slot: values[slot[1]], chosen)


def _optional(part: str, values: Iterable[str]) -> str:
    return part if set(SLOT.findall(part)) <= set(values) else ""
