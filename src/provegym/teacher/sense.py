"""Offline checks of a rewritten text's sense: negation, reversal, prompt injection, more requests.

They need no model, so they hold even if the model that writes and the model that reads back are
both wrong. Slots and quotations are masked first: their words are not the writer's.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set

from provegym import servers
from provegym.teacher.ask import Ask, wishes
from provegym.teacher.clauses import (
    QUOTED,
    SLOT,
    clauses,
    imperative,
    is_request,
    masked,
    pattern,
    sentences,
)
from provegym.teacher.coverage import lost_wishes, wish_words
from provegym.teacher.vocabulary import (
    courtesies,
    english,
    stem,
    stems,
    words,
)

UNKNOWN = 0.5
FEW = 2
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
    if rest.count(QUOTED) > plain.count(QUOTED):
        yield "it quotes words that are not the plan's", ""
    if any(letter.isalpha() and not _is_latin(letter) for letter in SLOT.sub("", rest)):
        yield "it is written in another script", ""
    unknown = _unknown(rest, plain)
    if len(unknown) >= FEW and len(unknown) > UNKNOWN * len(words(rest)):
        yield "most of its words are not plain English", " ".join(unknown)
    if not ask.is_answer:
        yield from lost_wishes(rest, plain, kept, ask)
    for part in foreign_parts(rest, plain, _own_words(plain, ask)):
        yield "a part is about the request or for the assistant, and asks for nothing planned", part
    for clause in foreign_requests(rest, plain, ask):
        yield "it asks for something that the plan does not have", clause


def added_cues(name: str, rest: str, plain: str) -> list[str]:
    """The matches of a word list in a text that exceed those in the planned text."""
    known = _matches(name, plain)
    found = _matches(name, rest)
    return found[len(known) :] if len(found) > len(known) else []


def _matches(name: str, text: str) -> list[str]:
    if name == "negations":
        text = pattern("harmless").sub(" ", text)
    return [match[0] for match in pattern(name).finditer(text)]


def _is_latin(letter: str) -> bool:
    return "LATIN" in unicodedata.name(letter, "")


def _unknown(rest: str, plain: str) -> list[str]:
    """The words that occur neither in the project's vocabulary nor in the planned text."""
    known = english() | {stem(word) for word in words(plain)}
    return [word for word in words(rest) if stem(word) not in known]


def foreign_parts(rest: str, plain: str, own: Set[str]) -> Iterator[str]:
    """Parts without a word of the request that introduce it, point at it or address the assistant.

    Such a part can turn any request round: "I would hate this: …", "… Only joking." Courtesies are
    no such parts, and a sentence before the request may be small talk.
    """
    parts = sentences(rest)
    last = max((at for at, part in enumerate(parts) if _has_request(part, own)), default=-1)
    for at, sentence in enumerate(parts):
        *introductions, end = re.split(r":(?=\s)", sentence)
        for part in introductions:
            if not SLOT.search(part) and pattern("reports").search(part):
                yield part.strip()
            elif not _is_harmless(part, own) and not pattern("announcements").search(part):
                yield part.strip()
        is_question = sentence.endswith("?") and "?" in plain
        is_after = 0 <= last < at and not is_question
        if (is_after or pattern("points").search(end)) and not _is_harmless(end, own):
            yield end.strip()


def _is_harmless(part: str, own: Set[str]) -> bool:
    return _has_request(part, own) or _is_polite(part)


def _has_request(part: str, own: Set[str]) -> bool:
    return bool(SLOT.search(part) or stems(part) & own)


def _is_polite(part: str) -> bool:
    return stems(part) <= courtesies()


def foreign_requests(rest: str, plain: str, ask: Ask) -> Iterator[str]:
    """Clauses without a slot that ask for something else than the plan.

    Most of their words are not those of the request, their verb is that of another tool, or they
    make the request wider. After a clause that makes the request, half of the words are enough.
    """
    own, others = _own_words(plain, ask), _other_verbs(ask) - stems(plain)
    enough = 1
    for sentence in sentences(rest):
        is_question = sentence.endswith("?") and "?" not in plain
        for clause in clauses(sentence):
            if not is_request(clause) and not is_question:
                continue
            if SLOT.search(clause):
                enough = 0
                continue
            said = stems(clause)
            foreign = said - own - courtesies()
            is_foreign = foreign and len(foreign) >= len(said & own) + enough
            is_other = stem(imperative(clause)) in others and not said & _name_words(ask)
            if is_foreign or is_other or added_cues("widenings", clause, plain):
                yield clause


def _own_words(plain: str, ask: Ask) -> set[str]:
    """The words of the planned text and of the tools that serve it."""
    return {word for wish in wishes(ask) for word in wish_words(wish, ask)} | stems(plain)


def _name_words(ask: Ask) -> set[str]:
    tools = [tool for wish in wishes(ask) for tool in wish.tools]
    return stems(" ".join(tools).replace("_", " "))


def _other_verbs(ask: Ask) -> set[str]:
    """The verbs of the server's write tools that serve no wish of the turn."""
    tools = servers.load(ask.example.server).tools.values()
    planned = {tool for wish in wishes(ask) for tool in wish.tools}
    verbs = {name: stem(name.split("_")[0]) for name in (t.name for t in tools if t.writes)}
    own = {verbs[name] for name in planned if name in verbs}
    return {*verbs.values()} - own

