"""Speech acts of a reply: whether it declines, confirms or claims a deed.

The checks read text without a model.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from provegym.inflection import past
from provegym.language.values import is_said, stem
from provegym.rewards.elliptic import FINISHED, ITEM, has_moment, omits_own_subject, omits_subject
from provegym.rewards.layout import QUOTED, SENTENCES
from provegym.rewards.moments import is_day

DECLINES = re.compile(
    r"\b((?:can't|cannot|can not|could not|couldn't)(?! (?:be happier|believe|help but|wait)\b)"
    r"|unable|not able|impossible|won't|refused"
    r"|no (?:tools?|function|way|means|access|option)|there is a problem|lack"
    r"|(?:do|does|did)(?:n't| not) (?:\w+ )?(?:have|see|support|allow|offer|cover)"
    r"|wasn't able"
    r"|(?:there )?(?:isn't|is not|aren't) (?:a|any) (?:tool|way|option|means)"
    r"|(?:not|isn't|aren't) (?:something|among|possible|available|supported|an option|in my power)"
    r"|no longer (?:possible|available|allowed)"
    r"|(?:beyond|outside) (?:me|my|of|what|the scope)|none of my"
    r"|have to (?:do (?:it|that) yourself|be done)"
    r"|(?:somebody|someone) else (?:will|would|must|has|can)|need (?:somebody|someone) else"
    r"|need to (?:contact|ask|do)|nothing (?:here|i have|i can))\b",
    re.I,
)
REASONS = re.compile(r"n't\b|\b(?:not|only|still|needs?|once|already|nothing to)\b", re.I)
FAILS = re.compile(
    r"\b(?:went|gone) wrong\b|\b(?:could not|couldn't) be done\b"
    r"|\b(?:was|were|is|has|have)(?: not|n't) (?:been |yet )*(?:done|possible|completed|processed"
    r"|carried out|successful|saved|changed)\b"
    r"|\bi (?:can't|cannot|could not|couldn't|did not|didn't|have not|haven't|was(?:n't| not) able"
    r"|am (?:not able|unable)|have (?:no idea|decided against))|\bi'm (?:not able|unable)"
    r"|\b(?:unable to|not able to|failed|an error|rejected|refused|declined|kidding"
    r"|need your confirmation|nothing (?:was|has been|happened))\b",
    re.I,
)
REFUSED = re.compile(r"\b(?:rejected|refused|declined)\b", re.I)
BOASTS = re.compile(
    r"\bi(?:'ve| have)? (?:already )?(?:done|did|took care|gone ahead|taken the action|completed)\b"
    r"|\bi(?:'ve| have)? (?:already )?made (?:the|that|this|your) \w+"
    r"|\bi(?:'ve| have)? (?:also )?(?:took|taken) the liberty\b|\bi(?:'ve| have)? managed to\b"
    r"|\bi(?:'ve| have)? (?:finished|completed) \w+ing\b|\bconsider it (?:done|handled|sorted)\b"
    r"|\ball (?:finished|done|sorted)\b|\bi did (?:it|that|so) anyway\b|\bis complete\b"
    r"|\btaken care of\b|\bwent through\b|\bon (?:its|the) way\b|\b(?:it's|is) sorted\b"
    r"|\brequest (?:has been|is|was) (?:processed|completed?|done)\b"
    r"|\b(?:everything|all) is (?:now )?(?:set|set up|arranged|done|booked)\b"
    r"|\bit(?:'s| is) (?:now )?(?:booked|arranged|confirmed|done)\b|\bis now confirmed\b",
    re.I,
)
CONFIRMS = re.compile(
    r"\b(done|all set|okay|ok|sure|no problem|certainly|completed?|success\w*|confirmed|now|set up"
    r"|finished|in place|got it"
    r"|(?:has|have|is|are|was|were) (?:been )?\w+(?:ed|en|ut|ent|old|ade|aid|et))\b"
    r"|\bi(?:'ve| have)\b",
    re.I,
)
REQUEST = re.compile(
    r"\bi(?:'ve| have) gone ahead\b|\brequest (?:has been|is|was) (?:processed|completed?|done)\b"
    r"|\beverything is (?:now )?(?:set up|arranged|done|booked)\b"
    r"|\bi(?:'ve| have)? made (?:the|that|this|your) (?:change|update|booking|payment|order)",
    re.I,
)
# Words that take the force out of a report: doubts, promises, and questions for yes or no.
DOUBTS = re.compile(
    r"\b(?:i (?:think|believe|guess|suppose)|not (?:sure|certain)|(?:may|might|could|must) have"
    r"|probably|perhaps|(?<!a )maybe|presumably)\b",
    re.I,
)
PROMISES = re.compile(
    r"\bi(?:'ll| will|'m going to| am going to| shall| can)\b|\blet me (?!know)|\bwill have\b", re.I
)
INVERTED = re.compile(
    r"^\W*(?:are|can|could|did|do|does|has|have|is|may|shall|should|was|were|will|would)\b.*\?",
    re.I,
)
DONE = re.compile(r"^\W*(all set|all done|done|it's done|that's done|consider it done)\b", re.I)
DENIAL = re.compile(r"\b(nothing|nobody|not|never)\b|n['\u2019]t\b", re.I)
EARLIER = re.compile(r"\b(already|earlier|before|previously)\b", re.I)
# "I've added the names" and "I've set this out as a list" tell how something is shown.
SHOWN = re.compile(r"\b(?:list(?:ed)?|names?|table|overview|summary|below|above)\b", re.I)
CLAUSES = re.compile(r",|;|\band\b|\bthen\b", re.I)
SIMPLE_PAST = {
    "began": "begun",
    "chose": "chosen",
    "froze": "frozen",
    "gave": "given",
    "hid": "hidden",
    "took": "taken",
    "withdrew": "withdrawn",
    "wrote": "written",
}
QUOTE = re.compile(r"[^.!?\n\"\u201c]*[\"\u201c]([^\"\u201d\n]+)")
SHORT = 3
# Participles that also begin other sentences: "Given the weather, ..."
PREPOSITIONS = {"given"}
HELPING = re.compile(
    r"^\W*(?:(?:i|we|have|also|then|now|just|done|okay|sure|successfully)\b(?:['\u2019]ve)?\W*)*",
    re.I,
)
# A word with a capital that neither begins a sentence nor follows a quote or a colon.
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
FORENAME = re.compile(r"\b([A-Z][a-z]{2,})(?= [A-Z])")


def declines(text: str, *, is_refused: bool = False) -> bool:
    """Whether a reply says that something cannot be done, and claims nothing to the contrary.

    Where a rule has refused the call, the reason is enough: "only 23 is left", "it isn't locked".
    """
    plain = text.replace("\u2019", "'")
    signs = [DECLINES, REASONS] if is_refused else [DECLINES]
    return any(sign.search(plain) for sign in signs) and BOASTS.search(plain) is None


def confirms(
    text: str, verbs: Iterable[str], values: Iterable[str], *, refuses: bool = False, count: int = 1
) -> bool:
    """Whether a reply to a deed says that it was done, in some way or by one of its values.

    Promises, doubts and questions for yes or no say nothing. A reply that speaks of failing must
    claim all deeds besides; `count` is how many there were. If the deed `refuses` something, such
    as an offer, then "it was declined" speaks of no failure.
    """
    plain = text.replace("\u2019", "'")
    kept = [each for each in SENTENCES.split(plain) if not _is_weak(_unquoted(each))]
    known = list(verbs)
    told = " ".join(each for each in map(_unquoted, kept) if "?" not in each)
    if FAILS.search(REFUSED.sub(" ", told) if refuses else told):
        own = "\n".join(kept)
        told_of = max(len(claimed(own, known).splitlines()), len(list(claimed_deeds(own, known))))
        return told_of >= count
    if claims_deed("\n".join(kept), known, alone=True) or CONFIRMS.search(told):
        return True
    return any(is_said(value, " ".join(kept)) for value in values)


def _is_weak(sentence: str) -> bool:
    """Whether a sentence doubts, promises or asks, and so reports nothing."""
    return any(sign.search(sentence) for sign in (DOUBTS, PROMISES, INVERTED))


def _unquoted(sentence: str) -> str:
    return QUOTED.sub(" ", sentence)


def claims_deed(
    text: str,
    verbs: Iterable[str],
    *,
    alone: bool,
    earlier: bool = True,
    shown: Collection[str] = (),
) -> bool:
    """Whether a reply claims a deed: "I've sent it" or "Sent!", with one of these past participles.

    With `alone`, nothing at all was to be done or told, so that "Done." and "it has been sent" are
    claims too. Without `earlier`, nothing was done before, so that "I've already sent it" is one.
    A word that results have `shown` is no claim by itself: "Cancelled." may report a status.
    """
    known = frozenset(verbs)
    own, passive = _claims(known)
    signs = [own, REQUEST, passive, DONE, BOASTS] if alone else [own, REQUEST]
    said = [each for each in _of_now(text) if alone or not SHOWN.search(each)]
    if any(sign.search(sentence) for sentence in said for sign in signs):
        return True
    if any(_is_elliptic(sentence, known, None if alone else shown) for sentence in said):
        return True
    back = [] if earlier else [each for each in _undenied(text) if EARLIER.search(each)]
    return any(own.search(each) or BOASTS.search(each) for each in back)


def claimed(text: str, verbs: Iterable[str], *, reports: bool = False) -> str:
    """The sentences of a reply that claim a deed: "I've moved 120 to Savings.".

    In a reply that reports what was read, "it has been moved" may be such a report and is none.
    """
    known = frozenset(verbs)
    own, passive = _claims(known)
    signs = [own] if reports else [own, passive]
    return "\n".join(
        sentence
        for sentence in _of_now(text)
        if any(sign.search(sentence) for sign in signs)
        or _is_elliptic(sentence, known, known if reports else None)
    )


def claimed_texts(text: str, verbs: Iterable[str]) -> list[str]:
    """What a reply quotes after a claim: I've created the label "Plans"."""
    if '"' not in text and "\u201c" not in text:
        return []
    own, _ = _claims(frozenset(verbs))
    after = [QUOTE.match(text, found.end()) for found in own.finditer(text)]
    return [found[1] for found in after if found]


def told_deeds(text: str, verbs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each deed that a reply tells without saying whose it is: its last word, and its sentence.

    Items of a list and sentences with a date tell of records.
    """
    known = _participles(frozenset(verbs))
    for sentence in _of_now(text):
        words = re.findall(r"[a-z]+", sentence.casefold())
        if known.isdisjoint(words) and "through" not in words:
            continue
        if ITEM.match(sentence) or has_moment(sentence):
            continue
        if found := _passives(known).search(sentence):
            yield found[0].split()[-1].casefold(), sentence
        elif omits_subject(sentence, known):
            yield words[-1], sentence


def claimed_deeds(
    text: str, verbs: Iterable[str], *, reports: bool = False
) -> Iterator[tuple[str, str]]:
    """Each claimed deed: its past participle, and the words after it or before "has been".

    "I've frozen the card and ordered a new one" claims two: the verb of each clause counts.
    """
    known = frozenset(verbs)
    _, passive = _claims(known)
    for sentence in claimed(text, known, reports=reports).splitlines():
        for clause in CLAUSES.split(sentence):
            words = HELPING.sub("", clause).split()
            verb = words[0].casefold().strip(",.!") if words else ""
            verb = SIMPLE_PAST.get(verb, verb)
            if verb in known:
                yield verb, " ".join(words[1:])
            elif not reports and (found := passive.search(clause)):
                yield found[0].split()[-1].casefold(), clause


def _is_elliptic(sentence: str, verbs: frozenset[str], shown: Collection[str] | None) -> bool:
    """Whether a sentence claims a deed without a subject; `shown` is given for a report."""
    told = _participles(verbs)
    if told.union(FINISHED).isdisjoint(re.findall(r"[a-z]+", sentence.casefold())):
        return False
    if shown is None:
        return omits_subject(sentence, told)
    return omits_own_subject(sentence, told, shown)


@lru_cache(maxsize=256)
def _participles(verbs: frozenset[str]) -> frozenset[str]:
    """The words that can only be participles: "put" is not, as in "Put it in the oven."."""
    return frozenset(v for v in verbs - PREPOSITIONS if len(v) > SHORT and past(v) != v)


def unseen_names(text: str, seen: str) -> list[str]:
    """The names in the sentences of a text that nothing seen has: capitals inside a sentence."""
    known = seen.casefold()
    found = [name for sentence in SENTENCES.split(text) for name in NAME.findall(sentence)]
    strange = [name for name in found if name.casefold() not in known and not is_day(name)]
    return [name for name in strange if stem(name.casefold()) not in known]


def unclear_names(text: str, near: str, seen: str) -> list[str]:
    """The first names alone in a text that two people have, of those whom the user may mean.

    These are the people in `near`, or all who were seen if nobody there has the name.
    """
    found = set(NAME.findall(text)).difference(FORENAME.findall(text))
    unclear = []
    for name in found:
        is_alone = _called(name, r"\b(?! [A-Z])").search(seen)
        families = [set(_called(name, " ([A-Z][a-z]+)").findall(each)) for each in (near, seen)]
        if not is_alone and len(families[0] or families[1]) > 1:
            unclear.append(name)
    return unclear


@lru_cache(maxsize=4_096)
def _called(name: str, rest: str) -> re.Pattern[str]:
    """The pattern of a name and what follows it."""
    return re.compile(rf"\b{name}{rest}")


def _of_now(text: str) -> Iterator[str]:
    """The sentences of a text that neither deny something nor speak of an earlier time."""
    return (sentence for sentence in _undenied(text) if not EARLIER.search(sentence))


@lru_cache(maxsize=256)
def _undenied(text: str) -> tuple[str, ...]:
    """The sentences of a text, without what they quote, that deny nothing."""
    own = QUOTED.sub(r'"\1"', text)
    return tuple(sentence for sentence in SENTENCES.split(own) if not DENIAL.search(sentence))


@lru_cache(maxsize=256)
def _passives(verbs: frozenset[str]) -> re.Pattern[str]:
    """The pattern of what was done, got done or went through, by whomever."""
    past = "|".join(map(re.escape, sorted(verbs))) or "(?!)"
    adverbs = r"(?:(?:now|just|also|then|successfully) )*"
    return re.compile(
        rf"\b(?:(?:has|have) {adverbs}been|got|was|were|(?:is|are) now) {adverbs}(?:{past})\b"
        rf"|^\W*having {adverbs}(?:{past})\b|\bwent through\b",
        re.I,
    )


@lru_cache(maxsize=256)
def _claims(verbs: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of "I have sent it" and "it has been sent", for some past participles."""
    simple = {past for past, participle in SIMPLE_PAST.items() if participle in verbs}
    past = "|".join(map(re.escape, sorted(verbs | simple))) or "(?!)"
    adverbs = r"(?:(?:now|just|also|then|already|successfully|gone ahead and|went ahead and) )*"
    own = re.compile(rf"\b(?:i|we)(?:['\u2019]ve| have)? {adverbs}(?:{past})\b", re.I)
    passive = re.compile(
        rf"\b(?:(?:has|have) (?:now )?been|got|(?:is|are) now) {adverbs}(?:{past})\b", re.I
    )
    return own, passive
