"""How fields are drawn, by their names: people for `author`, streets for `address`, and so on.

The entries are in lexicon.toml. A field of an unknown name is drawn by its kind alone.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import msgspec

SLOT = re.compile(r"\{(\w+)\}")
PLAIN_TEXT = ("{adjective_capital} and {adjective}", "Made for {occasion}")
MOST_MADE = 30


class Manner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a field is drawn: texts from `words`, or numbers, amounts and days from low to high.

    `now` fields take the time of creation, `later` ones are empty at first. `skip`: left out.
    """

    names: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    code: bool = False
    person: bool = False
    unique: bool = False
    money: bool = False
    number: bool = False
    now: bool = False
    later: bool = False
    skip: bool = False


@cache
def tables() -> dict[str, Any]:
    """The lexicon as it stands in its file."""
    return tomllib.loads(files(__package__).joinpath("lexicon.toml").read_text("utf-8"))


@cache
def _entries(table: str) -> tuple[Manner, ...]:
    return tuple(msgspec.convert(entry, Manner) for entry in tables()[table])


@cache
def lists() -> dict[str, tuple[str, ...]]:
    """The word lists."""
    return {name: tuple(words) for name, words in tables()["lists"].items()}


def _matches(noun: str, nouns: tuple[str, ...]) -> bool:
    return noun in nouns or noun.rpartition("_")[2] in nouns


def of_name(noun: str) -> Manner:
    """How names of records of a noun are drawn."""
    entries = _entries("names")
    whole = next((entry for entry in entries if noun in entry.nouns), None)
    last = noun.rpartition("_")[2]
    return whole or next((entry for entry in entries if last in entry.nouns), entries[-1])


@cache
def _by_name() -> dict[str, list[tuple[int, Manner]]]:
    """The entries of each name, with their places in the lexicon."""
    found: dict[str, list[tuple[int, Manner]]] = {}
    for place, entry in enumerate(_entries("fields")):
        for name in entry.names:
            found.setdefault(name, []).append((place, entry))
    return found


def of_field(name: str, noun: str) -> Manner | None:
    """How a field is drawn, or None if its name is not known; the longest known name counts."""
    best: Manner | None = None
    highest = (0, 0)
    ends = {name[at + 1 :] for at, mark in enumerate(name) if mark == "_"}
    ends.difference_update(tables()["whole"])
    for known in sorted({name, name.removeprefix(f"{noun}_"), *ends}):
        for place, entry in _by_name().get(known, ()):
            if entry.nouns and not _matches(noun, entry.nouns):
                continue
            # Of equally long names the first entry counts.
            rank = (len(known) + (1 if entry.nouns else 0), -place)
            if rank > highest:
                best, highest = entry, rank
    return best


def is_person(noun: str) -> bool:
    """Whether a noun means people."""
    return of_name(noun).person


def is_named(noun: str) -> bool:
    """Whether the lexicon has names for records of a noun."""
    return of_name(noun) is not _entries("names")[-1]


def is_fixed(noun: str) -> bool:
    """Whether names of a noun come from a fixed list, as those of genres do."""
    return not any("{" in text for text in of_name(noun).words)


def used_lists(words: tuple[str, ...]) -> set[str]:
    """The word lists that texts name, also through other lists."""
    found: set[str] = set()
    todo = list(words)
    while todo:
        for name in SLOT.findall(todo.pop()):
            if name in lists() and name not in found:
                found.add(name)
                todo += lists()[name]
    return found


def variety(words: tuple[str, ...]) -> int:
    """How many different texts words can make, at most a thousand; people are plenty."""
    total = 0
    for text in words:
        count = 1
        for name in SLOT.findall(text):
            count *= 40 if name == "person" else len(lists()[name])
        total += min(count, 1_000) * (10 if "#" in text else 1)
    return min(total, 1_000)


def examples(words: tuple[str, ...], key: str, *, code: bool = False) -> tuple[str, ...]:
    """Texts that users can make up: the last third of fixed words, or a sample of what they make.

    `key` seeds the sample, so that equal sources give equal specs.
    """
    if not any("{" in text or "#" in text for text in words):
        return words[-max(2, len(words) // 3) :]
    chance = Random(f"examples:{key}")
    found: dict[str, None] = {}
    for _ in range(MOST_MADE * 3):
        found.setdefault(_expanded(chance.choice(words), chance, code))
        if len(found) == MOST_MADE:
            break
    return tuple(found)


def drawn_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words a seed draws from: fixed lists keep their last third for users to make up."""
    if any("{" in text or "#" in text for text in words):
        return words
    return words[: -max(2, len(words) // 3)]


def _expanded(text: str, chance: Random, code: bool) -> str:
    def word(slot: re.Match[str]) -> str:
        if slot[1] == "person":
            return f"{chance.choice(lists()['new_given'])} {chance.choice(lists()['surname'])}"
        return _expanded(chance.choice(lists()[slot[1]]), chance, code=False)

    text = SLOT.sub(word, text)
    if code:
        text = re.sub("#", lambda _: str(chance.randrange(10)), text)
        text = re.sub("@", lambda _: chance.choice("ABCDEFGHJKLMNPRSTUVWXYZ"), text)
    return text


def status_words(kind: str) -> tuple[str, ...]:
    """A list of [statuses]: columns, final, cancelled or first."""
    return tuple(tables()["statuses"][kind])


def folded(value: str) -> str:
    """A status as the lexicon writes it: "In Progress" becomes "in_progress"."""
    return re.sub(r"[\s-]+", "_", value.strip()).lower()


def verbs() -> dict[str, list[str]]:
    """Verbs of paths, with the values of a status they lead to."""
    found: dict[str, list[str]] = tables()["verbs"]
    return found


def steps(low: float, high: float, step: float) -> tuple[int | float, ...]:
    """Up to a dozen values between two bounds."""
    count = max(1, int((high - low) / step))
    picks = sorted({round(at * count / 11) for at in range(12)})
    values = [round(low + pick * step, 2) for pick in picks]
    values = [value for value in values if value <= max(low, high)]
    return tuple(int(value) if value == int(value) else value for value in values)
