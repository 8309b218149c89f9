"""Invented items: whether an enumeration in a reply has an item that nothing has shown.

"You have Savings, Checking and Zebra Bank" is false if no result and no user spoke of Zebra Bank.
Only enumerations are read: bullets, rows of a table, and the parts of a sentence between commas
that begin with a capital. Sentences around a list may say anything.
"""

import re
from collections.abc import Sequence
from typing import Any

from provegym.language.identity import direct
from provegym.language.values import leaves
from provegym.rewards.layout import BULLET, SENTENCES, lists
from provegym.rewards.moments import is_day, moment_of
from provegym.trace import point

SHORT = 2
# A list of so many items, of which none is known, is invented as a whole.
WHOLE = 3
PLACE = re.compile(r"(.*)/\d+(?:/[^/]+)?")
MARKUP = re.compile(r"[*`~]|\[[ x]\]")
# An item is called by what stands before a colon or dash: "Status: open" is a field, no item.
FRONT = re.compile(r":\s|\s[-\u2013\u2014|]\s")
CLAUSE = re.compile(r"[;:]\s+")
PART = re.compile(r",\s+(?:(?:and|or)\s+)?|\s(?:and|or|plus|as well as)\s+")
LEAD = re.compile(r"^\W*(?:(?:the|your|a|an|also|one|\d+)\s+)*", re.I)
HEAD = re.compile(r"[A-Z][\w'\u2019&-]*(?: (?:[A-Z&][\w'\u2019&-]*|of|the))*")
# A name of two or more words within a line: "20.35 was spent at Game Vault yesterday".
WITHIN = re.compile(r"(?<=[a-z] )[A-Z][a-z][\w'\u2019-]*(?: [A-Z][\w'\u2019-]*)+")
# Words that begin a line or a clause and no name: "Total: 5", "All others are closed", "I've ...".
PLAIN = re.compile(
    r"(?:all|also|and|average|both|but|everything|for|grand|he|here|i|if|in|it|let|more|my|no|none"
    r"|notes?|on|others?|our|overall|please|plus|reminder|rest|she|so|sub-?total|sum|summary|that"
    r"|the|there|these|they|this|those|tips?|total|we|with|you|your)\b",
    re.I,
)


def names_of(result: Any, answers: Sequence[str]) -> list[set[str]]:
    """The texts by which each item of the lists in an answer may be called.

    A text that two items have names neither of them.
    """
    places = dict.fromkeys(found[1] for each in answers if (found := PLACE.fullmatch(each)))
    items: list[set[str]] = []
    for place in places:
        _, listed = point(result, place)
        for item in listed if isinstance(listed, list) else ():
            texts = {leaf.casefold() for leaf in leaves(item) if isinstance(leaf, str)}
            items.append({text for text in texts if len(text) > SHORT})
    return [own - set().union(*items[:at], *items[at + 1 :]) for at, own in enumerate(items)]


def labels_of(result: Any, answers: Sequence[str]) -> dict[str, list[str]]:
    """By pointer, the names and days of each item that were not asked for and no other item has.

    Names come before days. Days are no labels where days were asked for.
    """
    asked = {leaf for each in answers for leaf in leaves(point(result, each)[1])}
    days = any(isinstance(leaf, str) and moment_of(leaf) for leaf in asked)

    def is_label(leaf: Any) -> bool:
        if not isinstance(leaf, str) or leaf in asked or len(leaf) <= SHORT:
            return False
        return not days if moment_of(leaf) else not leaf.islower()

    labels: dict[str, list[str]] = {}
    for place in dict.fromkeys(found[1] for each in answers if (found := PLACE.fullmatch(each))):
        _, listed = point(result, place)
        items = listed if isinstance(listed, list) else []
        texts = [{str(leaf) for leaf in direct(item) if is_label(leaf)} for item in items]
        for at, own in enumerate(texts):
            others: set[str] = set().union(*texts[:at], *texts[at + 1 :])
            labels[f"{place}/{at}"] = sorted(own - others, key=_by_length)
    return labels


def _by_length(label: str) -> tuple[bool, int, str]:
    """The order of labels: names before days, long ones before short ones."""
    return moment_of(label) is not None, -len(label), label


def invents_item(text: str, names: Sequence[set[str]], seen: str) -> bool:
    """Whether a reply adds an item that nothing has shown to a list of known items."""
    plain = MARKUP.sub("", text)
    known = seen.casefold()

    def is_known(line: str) -> bool:
        return any(name in line.casefold() for own in names for name in own)

    lines = [line for line in plain.splitlines() if not BULLET.match(line) and "|" not in line]
    sentences = [sentence for line in lines for sentence in SENTENCES.split(line)]
    groups = [*lists(plain), *(CLAUSE.split(each) for each in sentences if each.count(";") > 1)]
    if any(_has_stranger(group, names, known) for group in groups):
        return True
    return any(_adds(sentence, known) for sentence in sentences if is_known(sentence))


def _has_stranger(items: Sequence[str], names: Sequence[set[str]], known: str) -> bool:
    """Whether a list has an item with an unknown name.

    An item is known if it has a name that no other item of the list has. An unknown name has two
    words, or stands apart from the rest of the line, or goes on as a known item does ("Savings has
    10", "Zebra has 20").
    """
    every = [{name for own in names for name in own if name in item.casefold()} for item in items]
    fronts = [FRONT.split(item)[0].casefold() for item in items]
    told = [
        item
        for item, own, front in zip(items, every, fronts, strict=True)
        if any(name in front for name in own)
    ]
    if names and (_is_invented(items, every, known) or any(_has_within(i, known) for i in items)):
        return True
    for at, item in enumerate(items if told else ()):
        others = set().union(*every[:at], *every[at + 1 :])
        head = _head(item)
        if every[at] - others or not _is_strange(head, known):
            continue
        rest = LEAD.sub("", item)[len(head) :]
        goes_on = rest.split()[:1]
        if " " in head or not rest.startswith(" ") or any(goes_on[0] in t.split() for t in told):
            return True
    return False


def _is_invented(items: Sequence[str], every: Sequence[set[str]], known: str) -> bool:
    """Whether a list names no known item, and most items begin with an unknown name of two words.

    One word may be that of a field: "Location: north".
    """
    if len(items) < WHOLE or any(every):
        return False
    strange = [head for item in items if _is_strange(head := _head(item), known) and " " in head]
    return 2 * len(strange) > len(items)


def _has_within(item: str, known: str) -> bool:
    """Whether a line has a name of two or more words, none of which was shown."""
    for name in WITHIN.findall(item):
        words = [word for word in name.split() if len(word) > SHORT]
        if len(words) > 1 and all(_is_strange(word, known) for word in words):
            return True
    return False


def _adds(sentence: str, known: str) -> bool:
    """Whether a part of a sentence begins with an unknown name.

    A clause begins with a capital anyway: its first part counts only if it is a name and no more.
    """
    for at, clause in enumerate(CLAUSE.split(sentence)):
        first, *others = (LEAD.sub("", part).rstrip(".!? ") for part in PART.split(clause))
        heads = [_head(part) for part in others]
        if at and others and _head(first) == first:
            heads.append(first)
        if any(_is_strange(head, known) for head in heads):
            return True
    return False


def _head(item: str) -> str:
    """The words with capitals that an item begins with."""
    found = HEAD.match(LEAD.sub("", item))
    return found[0] if found else ""


def _is_strange(head: str, known: str) -> bool:
    """Whether a name has a word that nothing has shown."""
    words = [re.sub(r"['\u2019]s?$", "", word) for word in head.split()]
    if PLAIN.match(head):
        return False
    telling = [word for word in words if len(word) > SHORT and word[0].isupper()]
    return any(word.casefold() not in known and not is_day(word) for word in telling)
