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
from provegym.teacher.vocabulary import courtesies, english, stem, stems, words

UNKNOWN = 0.5
FEW = 2
CUES = {
    "negations": "it negates something, where the plan does not",
    "reversals": "it turns the request round, or only talks about it",
    "additions": "it asks for more than the plan, or for it more often",
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
    for part in foreign_parts(rest, _own_words(plain, ask)):
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


def foreign_parts(rest: str, own: Set[str]) -> Iterator[str]:
    """Parts without a word of the request that introduce it, point at it or address the assistant.

    Such a part can turn any request round: "I would hate this: …", "… Only joking." Courtesies are
    no such parts, and a sentence before the request may be small talk.
    """
    parts = sentences(rest)
    last = max((at for at, part in enumerate(parts) if _is_own(part, own)), default=len(parts))
    for at, sentence in enumerate(parts):
        *introductions, end = re.split(r":(?=\s)", sentence)
        yield from (part.strip() for part in introductions if _is_distant(part, own))
        points = pattern("points").search(end) and not _is_harmless(end, own)
        if points or (at > last and _is_remark(end)):
            yield end.strip()


def _is_distant(introduction: str, own: Set[str]) -> bool:
    """Whether an introduction makes the request somebody's words, or has nothing to do with it."""
    if pattern("reports").search(introduction) and not SLOT.search(introduction):
        return True
    announces = pattern("announcements").search(introduction)
    return not announces and not _is_harmless(introduction, own)


def _is_remark(part: str) -> bool:
    """Whether a part is neither a courtesy nor asks for anything, as "only joking"."""
    asks = part.endswith("?") or any(map(is_request, clauses(part)))
    return not asks and not _is_polite(part)


def _is_own(part: str, own: Set[str]) -> bool:
    """Whether a part has a slot, or more words of the request than others."""
    said = stems(part) - courtesies()
    return bool(SLOT.search(part)) or 2 * len(said & own) > len(said)


def _is_harmless(part: str, own: Set[str]) -> bool:
    return _has_request(part, own) or _is_polite(part)


def _has_request(part: str, own: Set[str]) -> bool:
    return bool(SLOT.search(part) or stems(part) & own)


def _is_polite(part: str) -> bool:
    return stems(part) <= courtesies()


def foreign_requests(rest: str, plain: str, ask: Ask) -> Iterator[str]:
    """Clauses without a slot that ask for something else than the plan.

    Most of their words are not those of the request, their verb is that of another tool, or they
    make the request wider: "the same for all my friends".
    """
    own, others = _own_words(plain, ask), _other_verbs(ask) - stems(plain)
    is_made = False
    for clause in _asking_clauses(rest, plain):
        said = stems(clause)
        is_other = stem(imperative(clause)) in others and not said & _name_words(ask)
        is_wider = bool(added_cues("widenings", clause, plain))
        if SLOT.search(clause):
            is_made = True
        elif is_other or is_wider or _is_foreign(said, own, is_made):
            yield clause
        elif said & own:
            is_made = True


def _asking_clauses(rest: str, plain: str) -> Iterator[str]:
    """The clauses that ask for something. If the plan is a question, a question is not more."""
    for sentence in sentences(rest):
        is_question = sentence.endswith("?") and "?" not in plain
        for clause in clauses(sentence):
            if is_question or is_request(clause):
                yield clause


def _is_foreign(said: Set[str], own: Set[str], is_made: bool) -> bool:
    """Whether words ask for something else. If the request is already made, half is too much."""
    foreign, known = len(said - own - courtesies()), len(said & own)
    return foreign > known or (is_made and foreign == known > 0)


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
