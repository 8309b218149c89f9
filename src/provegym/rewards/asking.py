"""Whether a reply asks for an argument that is missing. The check reads text without a model."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from provegym.language.values import is_said, normal, stem
from provegym.rewards.layout import MARKER, SENTENCES, is_echo

BEGINNING = 6
MOST_QUESTIONS = 4
ASKS = re.compile(
    r"\?|\b(let me know|tell me|send me"
    r"|(?:please|kindly) (?:provide|specify|give|confirm|choose|share|send|enter|state|name))\b",
    re.I,
)
NEEDS = re.compile(r"\bi(?:'ll| will)? (?:just |only |still |also )*(?:need|require)\b", re.I)
LACKS = re.compile(
    r"(?<!don't )(?<!no )(?<!not )"
    r"\b(need|missing|not sure|unsure|unclear|haven't|have not|don't know|without|require)\b",
    re.I,
)
GENERIC = re.compile(
    r"\b(anything|something|what) else\b|\bis that (ok|all right)\b|\bdid you know\b"
    r"|\b(?:who|how) are you\W*$|\bwhere are you from\b|\bdo you like me\b|\bwhy do you need\b"
    r"|\bwhat (?:(?:day|time) is it|is the time)(?:\W|today|now|by the way)*$"
    r"|\bi(?:'ll| will|'m going to| shall) (?:pick|choose|decide|guess|take(?! care| it)|use)\b",
    re.I,
)
PICKED = re.compile(r"\bi(?:'ve| have)? (?:just |simply )?(?:picked|chose|chosen|guessed)\b", re.I)
OFFER = re.compile(r"\b(?:shall|should) i\b|\b(?:do|would) you (?:want|like) me to\b", re.I)
OPEN = re.compile(r"\b(?:which|what|who|whom|whose|when|where|why|how|or)\b", re.I)
BEGIN = re.compile(r"\b(?:from|source|origin|starts?|begins?|first)\b", re.I)
END = re.compile(
    r"\b(?:(?:go|goes|sent|moved?|transfer(?:red)?) to|into|to which|target|destination|ends?"
    r"|until)\b",
    re.I,
)
# What a colon announces belongs to its sentence: "I need one more detail:" and a list.
ANNOUNCED = re.compile(rf"(?<=:)\s*\n\s*{MARKER}\s+")
SMALL = {"id", "ids", "the", "of", "to", "for", "a", "an", "new", "is", "by", "in", "on", "at"}
# Other words that ask for an argument, by a word in the argument's name.
OTHER_WORDS = {
    "address": "where address street",
    "amount": "much sum",
    "answer": "coming come attend accept",
    "assignee": "who whom",
    "attendee": "who whom person",
    "automation": "rule",
    "booking": "trip flight reservation",
    "channel": "where",
    "code": "digits pin",
    "colleague": "who whom",
    "contact": "who whom",
    "customer": "who whom bill client",
    "destination": "where place",
    "device": "light lamp lock",
    "directory": "where folder",
    "envelope": "budget",
    "event": "appointment meeting",
    "document": "passport",
    "itinerary": "trip journey",
    "flight": "plane",
    "folder": "where",
    "garage": "workshop where",
    "host": "who whom",
    "hotel": "where",
    "invoice": "bill",
    "issue": "ticket bug task",
    "item": "dish thing product",
    "kind": "type sort log",
    "lead": "who whom",
    "level": "bright high warm set",
    "listing": "item",
    "location": "where",
    "meeting": "call",
    "member": "who whom",
    "method": "card pay",
    "mode": "car bike foot walk train how permission right travelling",
    "nights": "long stay",
    "origin": "from where",
    "owner": "who whom",
    "participant": "who whom",
    "path": "file folder where copy",
    "payee": "who whom",
    "place": "where",
    "product": "item",
    "profile": "who whom account",
    "reference": "booking code",
    "release": "version",
    "rep": "who whom colleague",
    "restaurant": "where",
    "room": "where",
    "sale": "deal purchase",
    "source": "from",
    "seat": "where sit",
    "stars": "rate rating",
    "status": "state",
    "stock": "item product share",
    "store": "shop where",
    "symbol": "stock share company",
    "traveller": "who whom passenger",
    "variant": "size colour version item",
    "vehicle": "car",
    "visibility": "block blocked mute muted show shown hide hidden visible",
    "body": "say write text message content",
    "content": "say write text message put",
    "count": "many number",
    "description": "describe say",
    "email": "who whom address mail",
    "limit": "much many maximum",
    "message": "say write text",
    "minutes": "long",
    "name": "call called named title",
    "note": "say write",
    "people": "who whom many",
    "person": "who whom",
    "price": "much cost",
    "quantity": "many much",
    "query": "look search find",
    "reason": "why decided",
    "recipient": "who whom",
    "subject": "title about",
    "teammate": "who whom",
    "text": "say write message put place",
    "title": "call called name named",
    "outcome": "came come",
    "duplicate": "merged merge entry",
    "trash": "bring back",
    "settings": "set",
    "threshold": "value limit level",
    "category": "kind find looking place",
    "segment": "where",
    "journey": "trip",
    "user": "who whom",
}
WHEN = "when date day time start until"
# Words in the names of arguments that are free text: "which one" does not ask for a text.
FREE_TEXT = {
    "body",
    "content",
    "description",
    "label",
    "message",
    "new",
    "note",
    "outcome",
    "place",
    "query",
    "subject",
    "text",
    "time",
    "title",
}


def asks_for(text: str, names: Iterable[str], schema: Any, heard: str) -> bool:
    """Whether a reply asks for an argument, known by these names and its JSON schema.

    The question names it, or follows a sentence that says it is missing. `heard` is what the user
    said: "which one" asks for a thing that the user has named, and never for a number, a date or a
    text. A reply that only repeats it, asks for everything at once or picks a value itself does not
    ask.
    """
    names = tuple(names)
    wanted = _words(names, schema)
    lacks = False
    if is_echo(text, heard) or text.count("?") > MOST_QUESTIONS or PICKED.search(text):
        return False
    for sentence in SENTENCES.split(ANNOUNCED.sub(" ", text)):
        if not (ASKS.search(sentence) or LACKS.search(sentence)):
            continue
        said = _stems(sentence)
        named = _shares(said, wanted) or _offers(sentence, schema)
        if GENERIC.search(sentence) or _is_offer(sentence) or _is_opposite(sentence, names):
            continue
        if named and NEEDS.search(sentence):
            return True
        if ASKS.search(sentence):
            one = re.search(r"\bwhich (one|of)\b", sentence, re.I) and _is_choice(names, schema)
            if named or lacks or (one and _stems(heard) & wanted):
                return True
        lacks = lacks or bool(named)
    return False


def _is_choice(names: Iterable[str], schema: Any) -> bool:
    """Whether an argument is one of several things: no number, no moment and no free text."""
    kinds = [schema, *schema.get("anyOf", ())]
    types = [kind.get("type") or "" for kind in kinds]
    plain = {each for one in types for each in ([one] if isinstance(one, str) else one)}
    if plain & {"number", "integer", "boolean"} or any("format" in kind for kind in kinds):
        return False
    words = {word for name in names for word in re.findall(r"[a-z]+", name.casefold())}
    return bool(words & {"id", "ids"}) or not (words & FREE_TEXT or words == {"name"})


def _is_offer(sentence: str) -> bool:
    """Whether a question can be answered with yes, and so asks for no value: "Shall I pay it?"."""
    return OFFER.search(sentence) is not None and OPEN.search(sentence) is None


def _is_opposite(sentence: str, names: Sequence[str]) -> bool:
    """Whether a question is for the other end of something: for its end instead of its start."""
    words = {word for name in names for word in re.findall(r"[a-z]+", name.casefold())}
    for own, other in ((BEGIN, END), (END, BEGIN)):
        if any(own.fullmatch(word) for word in words):
            return other.search(sentence) is not None and own.search(sentence) is None
    return False


def _shares(said: set[str], wanted: set[str]) -> bool:
    """Whether two sets of words share one, or two words that begin alike: travelling, traveller."""
    if said & wanted:
        return True
    begins = {word[:BEGINNING] for word in wanted if len(word) >= BEGINNING}
    return any(word[:BEGINNING] in begins for word in said if len(word) >= BEGINNING)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[a-z]+", text.casefold())}


def _words(names: Iterable[str], schema: Any) -> set[str]:
    """The stems of the words that ask for an argument."""
    found = {word for name in names for word in re.findall(r"[a-z]+", name.casefold())}
    more = {other for word in found for other in OTHER_WORDS.get(word, "").split()}
    kinds = [schema, *schema.get("anyOf", ())]
    if any(kind.get("format") in ("date", "date-time") for kind in kinds):
        more |= set(WHEN.split())
    if any(kind.get("type") in ("number", "integer") for kind in kinds):
        more |= {"much", "many"}
    return {stem(word) for word in (found | more) - SMALL}


def _offers(asked: str, schema: Any) -> bool:
    """Whether a question names two or more values of an enum."""
    values = [value for value in schema.get("enum", ()) if isinstance(value, str)]
    return sum(is_said(value, normal(asked)) for value in values) > 1
