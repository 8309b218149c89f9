"""Speech acts of a reply: whether it asks for an argument, declines, or claims a deed.

The checks read text without a model.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from provegym.language.values import is_said, normal

BEGINNING = 6
DECLINES = re.compile(
    r"\b(can't|cannot|can not|could not|couldn't|unable|not able|impossible|won't|refused"
    r"|no (?:tool|way|means|access|option)|there is a problem|lack"
    r"|(?:do|does)(?:n't| not) (?:have|support|allow|offer|cover)"
    r"|(?:not|isn't) (?:something|possible|available|supported|an option|in my power)"
    r"|(?:beyond|outside) (?:me|my|of|what)|none of my|have to (?:do (?:it|that) yourself|be done)"
    r"|(?:somebody|someone) else (?:will|would|must|has|can)|need (?:somebody|someone) else"
    r"|need to (?:contact|ask|do)|nothing (?:here|i have|i can))\b",
    re.I,
)
FAILS = re.compile(
    r"\b(can't|cannot|could not|couldn't|not able to|wasn't able to|unable to|failed|did not|didn't"
    r"|have not|haven't|nothing (?:was|has been|happened))\b",
    re.I,
)
BOASTS = re.compile(
    r"\bi(?:'ve| have)? (?:done|did|took care|gone ahead)\b|\btaken care of\b|\bwent through\b"
    r"|\brequest (?:has been|is|was) (?:processed|completed?|done)\b"
    r"|\b(?:everything|all) is (?:now )?(?:set|set up|arranged|done|booked)\b"
    r"|\bit(?:'s| is) (?:now )?(?:booked|arranged|confirmed|done)\b|\bis now confirmed\b",
    re.I,
)
CONFIRMS = re.compile(
    r"\b(done|all set|okay|ok|sure|no problem|certainly|completed?|success\w*|confirmed|now|set up"
    r"|(?:has|have|is|are|was|were) (?:been )?\w+(?:ed|en|ut|ent|old|ade|aid|et))\b"
    r"|\bi(?:'ve| have)\b",
    re.I,
)
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
    r"|\bi(?:'ll| will|'m going to| shall) (?:pick|choose|decide|guess|take|use)\b",
    re.I,
)
SMALL = {"id", "ids", "the", "of", "to", "for", "a", "an", "new", "is", "by", "in", "on", "at"}
# Other words that ask for an argument, by a word in the argument's name.
OTHER_WORDS = {
    "address": "where address street",
    "amount": "much sum",
    "assignee": "who whom",
    "attendee": "who whom",
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
    "kind": "type sort",
    "lead": "who whom",
    "level": "bright high warm",
    "listing": "item",
    "location": "where",
    "meeting": "call",
    "member": "who whom",
    "method": "card pay",
    "mode": "car bike foot walk train how",
    "nights": "long stay",
    "owner": "who whom",
    "participant": "who whom",
    "path": "file folder where",
    "payee": "who whom",
    "place": "where",
    "product": "item",
    "profile": "who whom account",
    "reference": "booking code",
    "release": "version",
    "rep": "who whom",
    "restaurant": "where",
    "room": "where",
    "sale": "deal purchase",
    "seat": "where sit",
    "stars": "rate rating",
    "status": "state",
    "stock": "item product share",
    "store": "shop where",
    "symbol": "stock share company",
    "traveller": "who whom passenger",
    "variant": "size colour version item",
    "vehicle": "car",
    "visibility": "block mute show hide",
    "body": "say write text message content",
    "content": "say write text message put",
    "count": "many number",
    "description": "describe say",
    "email": "who whom address",
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
    "reason": "why",
    "recipient": "who whom",
    "subject": "title about",
    "text": "say write message",
    "title": "call called name named",
    "user": "who whom",
}
REQUEST = re.compile(
    r"\bi(?:'ve| have) gone ahead\b|\brequest (?:has been|is|was) (?:processed|completed?|done)\b"
    r"|\beverything is (?:now )?(?:set up|arranged|done|booked)\b",
    re.I,
)
WHEN = "when date day time start until"
DONE = re.compile(r"^\W*(all set|all done|done|it's done|that's done|consider it done)\b", re.I)
DENIAL = re.compile(r"\b(nothing|nobody|not|never)\b|n['\u2019]t\b", re.I)
EARLIER = re.compile(r"\b(already|earlier|before|previously)\b", re.I)


def asks_for(text: str, names: Iterable[str], schema: Any, heard: str) -> bool:
    """Whether a reply asks for an argument, known by these names and its JSON schema.

    The question names it, or follows a sentence that says it is missing. `heard` is what the user
    said: "which one" asks for a thing that the user has named.
    """
    wanted = _words(names, schema)
    lacks = False
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        if not (ASKS.search(sentence) or LACKS.search(sentence)):
            continue
        said = _stems(sentence)
        named = _shares(said, wanted) or _offers(sentence, schema)
        if GENERIC.search(sentence):
            continue
        if named and NEEDS.search(sentence):
            return True
        if ASKS.search(sentence):
            one = re.search(r"\bwhich (one|of)\b", sentence, re.I) and _stems(heard) & wanted
            if named or lacks or one:
                return True
        lacks = lacks or bool(named)
    return False


def _shares(said: set[str], wanted: set[str]) -> bool:
    """Whether two sets of words share one, or two words that begin alike: travelling, traveller."""
    if said & wanted:
        return True
    begins = {word[:BEGINNING] for word in wanted if len(word) >= BEGINNING}
    return any(word[:BEGINNING] in begins for word in said if len(word) >= BEGINNING)


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in re.findall(r"[a-z]+", text.casefold())}


def _words(names: Iterable[str], schema: Any) -> set[str]:
    """The stems of the words that ask for an argument."""
    found = {word for name in names for word in re.findall(r"[a-z]+", name.casefold())}
    more = {other for word in found for other in OTHER_WORDS.get(word, "").split()}
    kinds = [schema, *schema.get("anyOf", ())]
    if any(kind.get("format") in ("date", "date-time") for kind in kinds):
        more |= set(WHEN.split())
    if any(kind.get("type") in ("number", "integer") for kind in kinds):
        more |= {"much", "many"}
    return {_stem(word) for word in (found | more) - SMALL}


def _stem(word: str) -> str:
    """A word without the ending of a plural."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _offers(asked: str, schema: Any) -> bool:
    """Whether a question names two or more values of an enum."""
    values = [value for value in schema.get("enum", ()) if isinstance(value, str)]
    return sum(is_said(value, normal(asked)) for value in values) > 1


def declines(text: str) -> bool:
    """Whether a reply says that something cannot be done, and claims nothing to the contrary."""
    plain = text.replace("\u2019", "'")
    return DECLINES.search(plain) is not None and BOASTS.search(plain) is None


def confirms(text: str, verbs: Iterable[str], values: Iterable[str]) -> bool:
    """Whether a reply to a deed says that it was done, in some way or by one of its values.

    A reply that speaks of failing must claim a deed besides.
    """
    plain = text.replace("\u2019", "'")
    if claims_deed(plain, verbs, alone=True):
        return True
    if FAILS.search(plain):
        return False
    return CONFIRMS.search(plain) is not None or any(is_said(value, plain) for value in values)


def claims_deed(text: str, verbs: Iterable[str], *, alone: bool) -> bool:
    """Whether a reply claims a deed: "I've sent it", with one of these past participles.

    With `alone`, nothing at all was to be done or told, so that "Done." and "it has been sent" are
    claims too.
    """
    own, passive = _claims(frozenset(verbs))
    signs = [own, REQUEST, passive, DONE, BOASTS] if alone else [own, REQUEST]
    return any(sign.search(sentence) for sentence in _of_now(text) for sign in signs)


def claimed(text: str, verbs: Iterable[str]) -> str:
    """The sentences of a reply that claim a deed: "I've moved 120 to Savings."."""
    own, passive = _claims(frozenset(verbs))
    return "\n".join(s for s in _of_now(text) if own.search(s) or passive.search(s))


def _of_now(text: str) -> Iterator[str]:
    """The sentences of a text that neither deny something nor speak of an earlier time."""
    for sentence in re.split(r"(?<=[.!?\n])\s+", text):
        if not EARLIER.search(sentence) and not DENIAL.search(sentence):
            yield sentence


@lru_cache(maxsize=256)
def _claims(verbs: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of "I have sent it" and "it has been sent", for some past participles."""
    past = "|".join(map(re.escape, sorted(verbs))) or "(?!)"
    adverbs = r"(?:(?:now|just|also|successfully|gone ahead and) )*"
    own = re.compile(rf"\b(?:i|we)(?:['\u2019]ve| have)? {adverbs}(?:{past})\b", re.I)
    passive = re.compile(rf"\b(?:has|have) (?:now )?been {adverbs}(?:{past})\b", re.I)
    return own, passive
