"""Offline checks of a rewritten text's sense: negation, reversal, prompt injection, lost requests.

They need no model, so they hold even if the model that writes and the model that reads back are
both wrong. Slots and quotations are masked first: their words are not the writer's.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from functools import cache

from provegym import servers
from provegym.teacher.ask import Ask, Wish, wishes
from provegym.teacher.vocabulary import (
    content_words,
    courtesies,
    english,
    lists,
    order_verbs,
    stem,
    stems,
    straight,
    words,
)

MASK = "\ue000"
UNKNOWN = 0.5
FEW = 2
ASKED = r"\b(?:could|can|would|will|want|need|like) you (?:to |please |kindly )*(\w+)"
REPORTS = re.compile(r"\b(?:said|says|say|wrote|told|heard|quot\w+)$")
POINTS = re.compile(r"\b(?:you|your|yours|this|everything|above|whole thing|assistant)\b")
CUES = {
    "negations": "it negates something, where the plan does not",
    "reversals": "it turns the request round, or only talks about it",
    "meta": "it gives instructions to the assistant's model",
}


def complaints(text: str, kept: Sequence[str], ask: Ask) -> Iterator[tuple[str, str]]:
    """The problems of a text's sense: what is wrong, and the part of the text that shows it."""
    rest, plain = masked(text, kept), masked(ask.plain, kept)
    for name, kind in CUES.items():
        for cue in added_cues(name, rest, plain):
            yield kind, cue
    if any(letter.isalpha() and not _is_latin(letter) for letter in rest if letter != MASK):
        yield "it is written in another script", ""
    unknown = _unknown(rest, plain)
    if len(unknown) >= FEW and len(unknown) > UNKNOWN * len(words(rest)):
        yield "most of its words are not plain English", " ".join(unknown)
    if not ask.is_answer:
        yield from _lost_wishes(rest, plain, ask)
    own = {word for wish in wishes(ask) for word in _content(wish, ask)} | stems(plain)
    for part in foreign_parts(rest, own):
        yield "a part is about the request or for the assistant, and asks for nothing planned", part
    for clause in foreign_orders(rest, own):
        yield "it asks for something that the plan does not have", clause


def masked(text: str, kept: Sequence[str]) -> str:
    """A text in small letters with one character for each kept phrase and each quotation."""
    text = straight(unicodedata.normalize("NFKC", text))
    for phrase in sorted(filter(None, kept), key=len, reverse=True):
        whole = rf"(?<!\w){re.escape(phrase)}(?!\w)"
        text = re.sub(whole, MASK, text, flags=re.IGNORECASE)
    return re.sub(r'"[^"]*"|“[^”]*”', MASK, text).casefold()


def added_cues(name: str, rest: str, plain: str) -> list[str]:
    """The matches of a word list in a text that exceed those in the planned text."""
    known = _matches(name, plain)
    found = _matches(name, rest)
    return found[len(known) :] if len(found) > len(known) else []


def _matches(name: str, text: str) -> list[str]:
    if name == "negations":
        text = _pattern("harmless").sub(" ", text)
    return [match[0] for match in _pattern(name).finditer(text)]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("|".join(lists()[name]))


def _is_latin(letter: str) -> bool:
    return "LATIN" in unicodedata.name(letter, "")


def _unknown(rest: str, plain: str) -> list[str]:
    """The words that occur neither in the project's vocabulary nor in the planned text."""
    known = english() | {stem(word) for word in words(plain)}
    return [word for word in words(rest) if stem(word) not in known]


def _lost_wishes(rest: str, plain: str, ask: Ask) -> Iterator[tuple[str, str]]:
    """Wishes that a text has no words for, where the planned text has some."""
    said, planned, wanted = stems(rest), stems(plain), wishes(ask)
    if not wanted and planned and not said & planned:
        yield "it says something else than the planned text", ""
    for wish in wanted:
        own = _content(wish, ask)
        if not wish.arguments:
            # No value stands for this wish, so it needs a word that the other wishes do not have.
            others = [other for other in wanted if other.tools != wish.tools]
            own -= {word for other in others for word in _content(other, ask)}
        else:
            own |= planned
        near = stems(_beside_slots(rest)) & _verbs() if wish.writes and wish.arguments else set()
        if planned & own and not said & own and not near:
            yield "it lacks the words of a request", _purpose(wish, ask)


def _beside_slots(rest: str) -> str:
    """The sentences that hold a slot; the whole text if there is none."""
    parts = [part for part in re.split(r"[.!?\n]+", rest) if MASK in part]
    return " ".join(parts) or rest


def _content(wish: Wish, ask: Ask) -> set[str]:
    server = servers.load(ask.example.server)
    return {word for tool in wish.tools for word in content_words(server, tool)}


def _purpose(wish: Wish, ask: Ask) -> str:
    return servers.load(ask.example.server).tools[wish.tools[0]].description


@cache
def _verbs() -> frozenset[str]:
    return frozenset(map(stem, order_verbs()))


def foreign_parts(rest: str, own: Set[str]) -> Iterator[str]:
    """Parts without a word of the request that introduce it, point at it or address the assistant.

    Such a part can turn any request round: "I would hate this: …". Courtesies are no such parts.
    """
    for sentence in re.split(r"[.!?\n]+", rest):
        *introductions, last = re.split(r":(?=\s)", sentence)
        for part in introductions:
            if not _has_request(part, own) and (REPORTS.search(part) or not _is_polite(part)):
                yield part.strip()
        if POINTS.search(last) and not _has_request(last, own) and not _is_polite(last):
            yield last.strip()


def _has_request(part: str, own: Set[str]) -> bool:
    return MASK in part or bool(stems(part) & own)


def _is_polite(part: str) -> bool:
    return stems(part) <= courtesies()


def foreign_orders(rest: str, own: Set[str]) -> Iterator[str]:
    """Clauses that order something and share no word with the request."""
    for clause in re.split(r"[.!?;:\n]+|,? (?:and|then|also),? ", rest):
        if _ordered(clause) and not _has_request(clause, own):
            yield clause.strip()


def _ordered(clause: str) -> str:
    """The verb of a clause that is an imperative or asks "could you …"; empty if it is neither."""
    asked = re.search(ASKED, clause)
    if asked and asked[1] in order_verbs():
        return asked[1]
    for word in words(clause):
        if word not in lists()["connectives"]:
            return word if word in order_verbs() else ""
    return ""
