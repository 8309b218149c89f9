"""Coverage: whether a text makes every request of the plan, each in words of its own.

A phrase or a word that two requests share is proof of neither. So each request of several needs
a clause that asks for something beside a phrase or a word that no other request has.
"""

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import NamedTuple

from provegym import servers
from provegym.language.values import is_said, leaves
from provegym.teacher.ask import Ask, Wish, wishes
from provegym.teacher.clauses import SLOT, clauses, is_request, is_statement, sentences, slot
from provegym.teacher.vocabulary import content_words, order_verbs, spoken_words, stem, stems


class Part(NamedTuple):
    """A wish with its slots, and the slots and words that no other wish of the turn has."""

    wish: Wish
    slots: frozenset[str]
    words: frozenset[str]


def lost_wishes(rest: str, plain: str, kept: Sequence[str], ask: Ask) -> Iterator[tuple[str, str]]:
    """Wishes that a masked text has no words for, where the planned text has some."""
    said, planned, wanted = stems(rest), stems(plain), wishes(ask)
    if not wanted and planned and not said & planned:
        yield "it says something else than the planned text", ""
    for wish in wanted:
        own = wish_words(wish, ask)
        if not wish.arguments:
            # No value stands for this wish, so it needs a word that the other wishes do not have.
            others = [other for other in wanted if other.tools != wish.tools]
            own -= {word for other in others for word in wish_words(other, ask)}
        else:
            own |= planned
        near = stems(_beside_slots(rest)) & _verbs() if wish.writes and wish.arguments else set()
        if planned & own and not said & own and not near:
            yield "it lacks the words of a request", _purpose(wish, ask)
    if len(wanted) > 1:
        for wish in unmade_wishes(rest, planned, _parts(wanted, kept, ask)):
            yield "it does not make one of the requests", _purpose(wish, ask)


def unmade_wishes(rest: str, planned: Set[str], parts: Sequence[Part]) -> Iterator[Wish]:
    """The wishes that no clause of a text asks for."""
    for part in parts:
        others = {mark for each in parts if each is not part for mark in each.slots}
        found = sentences(rest)
        in_words = any(_asks_in_words(sentence, part, others) for sentence in found)
        if part.slots:
            beside = any(_asks_beside_slots(sentence, part, others) for sentence in found)
            if not beside and not in_words:
                yield part.wish
        elif part.words & planned and not in_words:
            yield part.wish


def wish_words(wish: Wish, ask: Ask) -> set[str]:
    """The content words of the tools that serve a wish."""
    server = servers.load(ask.example.server)
    return {word for tool in wish.tools for word in content_words(server, tool)}


def _parts(wanted: Sequence[Wish], kept: Sequence[str], ask: Ask) -> list[Part]:
    slots = [_slots(wish, kept, ask) for wish in wanted]
    server = servers.load(ask.example.server)
    words = [{w for tool in wish.tools for w in spoken_words(server, tool)} for wish in wanted]
    return [Part(wish, _only(slots, at), _only(words, at)) for at, wish in enumerate(wanted)]


def _only(sets: Sequence[set[str]], at: int) -> frozenset[str]:
    """What one of some sets has and no other one."""
    others = {each for number, other in enumerate(sets) if number != at for each in other}
    return frozenset(sets[at] - others)


def _slots(wish: Wish, kept: Sequence[str], ask: Ask) -> set[str]:
    """The slots whose phrases give a value of a wish or name its thing."""
    survey = ask.survey
    said = {*wish.derived.values()}
    for value in leaves(wish.arguments or {}):
        key = str(value)
        thing = survey.things.get(key) or survey.owners.get(key)
        said |= {*thing.names} if thing else {key}
    phrases = [(slot(at), phrase) for at, phrase in enumerate(kept) if phrase]
    return {mark for mark, phrase in phrases if any(is_said(phrase, each) for each in said)}


def _asks_beside_slots(sentence: str, part: Part, others: Set[str]) -> bool:
    """Whether a sentence has a request's own slots, and a clause that asks for it."""
    if not part.slots & {*SLOT.findall(sentence)}:
        return False
    held = [{*SLOT.findall(clause)} for clause in _asking(sentence)]
    return any(slots & part.slots or not slots & others for slots in held)


def _asks_in_words(sentence: str, part: Part, others: Set[str]) -> bool:
    """Whether a clause of a sentence asks for something in a request's own words."""
    free = [c for c in _asking(sentence) if not others & {*SLOT.findall(c)}]
    return any(stems(clause) & part.words for clause in free)


def _asking(sentence: str) -> list[str]:
    """The clauses of a sentence that ask for something; all, if it is a phrase without a verb."""
    found = clauses(sentence)
    if any(map(is_statement, found)):
        return [clause for clause in found if is_request(clause)]
    return found


def _beside_slots(rest: str) -> str:
    """The sentences that hold a slot; the whole text if there is none."""
    parts = [part for part in re.split(r"[.!?\n]+", rest) if SLOT.search(part)]
    return " ".join(parts) or rest


def _purpose(wish: Wish, ask: Ask) -> str:
    return servers.load(ask.example.server).tools[wish.tools[0]].description


@cache
def _verbs() -> frozenset[str]:
    return frozenset(map(stem, order_verbs()))
