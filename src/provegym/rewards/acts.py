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
    r"\b(can't|cannot|can not|could not|couldn't|unable|not able|not possible|impossible|afraid"
    r"|sorry|unfortunately|no (?:tool|way|means)|(?:somebody|someone) else|don't have|do not have"
    r"|won't|isn't something|not something|beyond|outside|have to do (it|that) yourself"
    r"|nothing (here|i have|i can))\b",
    re.I,
)
DENIES = re.compile(
    r"\b(could not|couldn't|not able to|wasn't able to|failed to|unable to|did not|didn't)"
    r" (do|make)\b"
    r"|\bnothing (was|has been) (changed|done)\b",
    re.I,
)
BOASTS = re.compile(
    r"\b(i('ve| have)? (done|did|took care)|taken care of|went through|is (now )?confirmed)\b", re.I
)
ASKS = re.compile(
    r"\?|\b(let me know|tell me|please (provide|specify|give|confirm|choose))\b", re.I
)
LACKS = re.compile(
    r"(?<!don't )(?<!no )(?<!not )"
    r"\b(need|missing|not sure|unsure|unclear|haven't|have not|don't know|without|require)\b",
    re.I,
)
GENERIC = re.compile(
    r"\b(anything|something|what) else\b|\bhelp\b|\bis that (ok|all right)\b", re.I
)
SMALL = {"id", "ids", "the", "of", "to", "for", "a", "an", "new", "is", "by", "in", "on", "at"}
# Other words that ask for an argument, by a word in the argument's name.
OTHER_WORDS = {
    "address": "where address street",
    "amount": "much sum",
    "assignee": "who whom",
    "attendee": "who whom",
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
    "status": "state",
    "stock": "item product share",
    "store": "shop where",
    "symbol": "stock share company",
    "traveller": "who whom passenger",
    "variant": "size colour version item",
    "vehicle": "car",
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
WHEN = "when date day time start until"
DONE = re.compile(r"^\W*(all set|all done|done|it's done|that's done|consider it done)\b", re.I)
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
        if ASKS.search(sentence) and not GENERIC.search(sentence):
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


def denies_deed(text: str) -> bool:
    """Whether a reply says that nothing was done."""
    return DENIES.search(text.replace("\u2019", "'")) is not None


def claims_deed(text: str, verbs: Iterable[str], *, alone: bool) -> bool:
    """Whether a reply claims a deed: "I've sent it", with one of these past participles.

    With `alone`, nothing at all was to be done or told, so that "Done." and "it has been sent" are
    claims too.
    """
    own, passive = _claims(frozenset(verbs))
    return any(
        own.search(sentence) or (alone and (passive.search(sentence) or DONE.search(sentence)))
        for sentence in _of_now(text)
    )


def claimed(text: str, verbs: Iterable[str]) -> str:
    """The sentences of a reply that claim a deed: "I've moved 120 to Savings."."""
    own, passive = _claims(frozenset(verbs))
    return "\n".join(s for s in _of_now(text) if own.search(s) or passive.search(s))


def _of_now(text: str) -> Iterator[str]:
    """The sentences of a text that do not speak of an earlier time."""
    for sentence in re.split(r"(?<=[.!?\n])\s+", text):
        if not EARLIER.search(sentence):
            yield sentence


@lru_cache(maxsize=256)
def _claims(verbs: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of "I have sent it" and "it has been sent", for some past participles."""
    past = "|".join(map(re.escape, sorted(verbs))) or "(?!)"
    adverbs = r"(?:(?:now|just|also|successfully|gone ahead and) )*"
    own = re.compile(rf"\b(?:i|we)(?:['\u2019]ve| have)? {adverbs}(?:{past})\b", re.I)
    passive = re.compile(rf"\b(?:has|have) (?:now )?been {adverbs}(?:{past})\b", re.I)
    return own, passive
