"""Coverage: whether a text makes every request of the plan, each in words of its own.

A phrase or a word that two requests share is proof of neither. So each request of several needs
a clause that asks for something beside a phrase or a word that no other request has.
"""

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import NamedTuple

from provegym import servers
from provegym.fuzz.pool import state_rows
from provegym.kernel import Session
from provegym.language.things import noun_of
from provegym.language.values import is_said, leaves
from provegym.teacher.ask import Ask, Wish, wishes
from provegym.teacher.clauses import SLOT, asking_clauses, sentences, slot
from provegym.teacher.vocabulary import (
    content_words,
    courtesies,
    order_verbs,
    spoken_words,
    stem,
    stems,
    words,
)


class Part(NamedTuple):
    """A wish, and the slots and words that no other wish of the turn has."""

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
        if wish.arguments:
            own |= planned
        near = stems(_beside_slots(rest)) & _verbs() if wish.writes and wish.arguments else set()
        if planned & own and not said & own and not near:
            yield "it lacks the words of a request", _purpose(wish, ask)
    if len(wanted) > 1:
        for wish in unmade_wishes(rest, _parts(wanted, kept, ask)):
            yield "it does not make one of the requests", _purpose(wish, ask)


def unmade_wishes(rest: str, parts: Sequence[Part]) -> Iterator[Wish]:
    """The wishes that no clause of a text asks for."""
    found = [(sentence, asking_clauses(sentence)) for sentence in _with_quotations(rest)]
    made = [_made_by(part, parts, found) for part in parts]
    for at, part in enumerate(parts):
        taken = {clause for number, each in enumerate(made) if number != at for clause in each}
        if not made[at] and not _made_in_passing(part, parts, found, taken):
            yield part.wish


def _with_quotations(rest: str) -> list[str]:
    """The sentences of a text; one without words of its own belongs to the sentence before."""
    found: list[str] = []
    for sentence in sentences(rest):
        if found and (not words(sentence) or not words(found[-1])):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found.append(sentence)
    return found


def _made_by(part: Part, parts: Sequence[Part], found: Sequence[tuple[str, list[str]]]) -> set[str]:
    """The clauses that make a wish: they hold its own slots, or ask in its own words.

    If there are none, it is a clause in the same sentence as its slots, without those of others.
    """
    others = {mark for each in parts if each is not part for mark in each.slots}
    made: set[str] = set()
    near: set[str] = set()
    for sentence, asking in found:
        for clause in asking:
            slots = {*SLOT.findall(clause)}
            is_free = not slots & others
            if slots & part.slots or (is_free and _is_best(part, parts, stems(clause))):
                made.add(clause)
            elif is_free and part.slots & {*SLOT.findall(sentence)}:
                near.add(clause)
    return made or near


def _is_best(part: Part, parts: Sequence[Part], said: Set[str]) -> bool:
    """Whether words have some of a wish's own, and no fewer than of any other wish."""
    own = len(part.words & said)
    return own > 0 and all(len(each.words & said) <= own for each in parts)


def _made_in_passing(
    part: Part, parts: Sequence[Part], found: Sequence[tuple[str, list[str]]], taken: Set[str]
) -> bool:
    """Whether a clause that makes no other wish asks for one that has no slot of its own.

    Its words may be shared with other wishes. A courtesy asks for nothing.
    """
    if part.slots:
        return False
    others = {mark for each in parts if each is not part for mark in each.slots}
    free = [
        clause
        for _, asking in found
        for clause in asking
        if clause not in taken and not others & {*SLOT.findall(clause)}
    ]
    return any(SLOT.search(clause) or stems(clause) - courtesies() for clause in free)


def wish_words(wish: Wish, ask: Ask) -> set[str]:
    """The content words of the tools that serve a wish."""
    server = servers.load(ask.example.server)
    return {word for tool in wish.tools for word in content_words(server, tool)}


def _parts(wanted: Sequence[Wish], kept: Sequence[str], ask: Ask) -> list[Part]:
    slots = [_slots(wish, kept, ask) for wish in wanted]
    server = servers.load(ask.example.server)
    spoken = [{w for tool in wish.tools for w in spoken_words(server, tool)} for wish in wanted]
    return [Part(wish, _only(slots, at), _only(spoken, at)) for at, wish in enumerate(wanted)]


def _only(sets: Sequence[set[str]], at: int) -> frozenset[str]:
    """What one of some sets has and no other one."""
    others = {each for number, other in enumerate(sets) if number != at for each in other}
    return frozenset(sets[at] - others)


def _slots(wish: Wish, kept: Sequence[str], ask: Ask) -> set[str]:
    """The slots whose phrases give a value of a wish or name its thing."""
    keys = {str(value) for value in leaves(wish.arguments or {})}
    said = {*wish.derived.values(), *(name for key in keys for name in _names(key, ask))}
    names = ask.example.provenance.names
    named = dict(names[ask.turn]) if ask.turn < len(names) else {}
    return {
        slot(at)
        for at, phrase in enumerate(kept)
        if phrase and (named.get(phrase) in keys or any(_is_about(phrase, each) for each in said))
    }


def _is_about(phrase: str, value: str) -> bool:
    """Whether a phrase is part of a value, or says a value that is a word."""
    return is_said(phrase, value) or (value.isalpha() and is_said(value, phrase))


def _names(key: str, ask: Ask) -> set[str]:
    """The names of the thing with a key, or the texts of its record; a plain value is its own."""
    survey = ask.survey
    thing = survey.things.get(key) or survey.owners.get(key)
    if thing:
        return {*thing.names}
    server = servers.load(ask.example.server)
    if noun_of(server, key) is None:
        return {key}
    world = ask.world or Session([server], ask.example.seed)
    rows = [row for row, _ in state_rows(world.state(server)) if row.key == key]
    return {text for row in rows for text in leaves(row.fields) if isinstance(text, str)}


def _beside_slots(rest: str) -> str:
    """The sentences that hold a slot; the whole text if there is none."""
    parts = [part for part in re.split(r"[.!?\n]+", rest) if SLOT.search(part)]
    return " ".join(parts) or rest


def _purpose(wish: Wish, ask: Ask) -> str:
    return servers.load(ask.example.server).tools[wish.tools[0]].description


@cache
def _verbs() -> frozenset[str]:
    return frozenset(map(stem, order_verbs()))
