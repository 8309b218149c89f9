"""Elliptic claims: deeds told without a subject, such as "Just sent it." and "Payment made."."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from provegym.rewards.layout import MARKER
from provegym.rewards.moments import ANY_CLOCK, DATE, RELATIVE

LEAD = (
    r"^\W*(?:\w+(?: \w+)?[,:;\u2013\u2014]\s+)?"
    r"(?:(?:all|also|and|done|just|now|okay|successfully|sure|then)\b\W*)*"
)
THING = r"(?:it|them|that|this|these|those|both|everything|your|the)\b"
OBJECT = rf"(?:{THING}|(?:a|an|another|one|all)\b|[\d\u20ac$\u00a3]|(?-i:[A-Z]))"
WAY = (
    r"(?:to|for|from|in|into|on|with|at|as|by|off|up|out|back|too|again|under|until"
    r"|successfully)\b"
)
# A noun, as in "message sent"; "it was sent" has none.
NOUN = (
    r"(?!(?:i|you|he|she|it|we|they|that|this|who|which|is|are|was|were|be|been|has|have|had|get"
    r"|got|to|as)\b)[\w-]+"
)
# What "payment" and "order" may be said to be, whatever the tools are.
FINISHED = ("made", "placed", "complete", "completed", "processed", "submitted", "confirmed")
ITEM = re.compile(rf"\s*(?:{MARKER}|\|)\s")
# An item that names a field and is no claim: "- Placed at: 15:30".
FIELD = re.compile(rf"{ITEM.pattern}\W*\w+(?: \w+){{0,2}}\W*:")


class Patterns(NamedTuple):
    """How a sentence may begin that claims a deed without saying whose deed it is."""

    loose: re.Pattern[str]
    active: re.Pattern[str]
    brief: re.Pattern[str]


def omits_subject(sentence: str, verbs: frozenset[str]) -> bool:
    """Whether a sentence claims a deed without a subject: "Sent 500 to Bob.", "Message sent!"."""
    if FIELD.match(sentence):
        return False
    found = _patterns(verbs)
    return any(pattern.search(sentence) for pattern in (found.loose, found.brief))


def omits_own_subject(sentence: str, verbs: frozenset[str], shown: Collection[str]) -> bool:
    """The same for a reply that reports what was read, where most such sentences tell of a record.

    Items of a list and sentences with a date are never claims there ("Paid on 3 May."). The others
    are if they say "just" or name a thing ("Paid your rent."). A participle alone is a claim only
    if no result has it: "Cancelled." may be the status that was asked for.
    """
    if ITEM.match(sentence) or has_moment(sentence):
        return False
    own = _patterns(verbs)
    if own.active.search(sentence):
        return True
    brief = own.brief.search(sentence)
    if brief is None:
        return False
    word = (brief["alone"] or brief["after"]).casefold()
    return word not in shown or (brief["alone"] is None and word in FINISHED)


def has_moment(sentence: str) -> bool:
    """Whether a sentence says when something is or was."""
    return any(sign.search(sentence) for sign in (DATE, ANY_CLOCK, RELATIVE))


@lru_cache(maxsize=1_024)
def _patterns(verbs: frozenset[str]) -> Patterns:
    past = "|".join(map(re.escape, sorted(verbs))) or "(?!)"
    ended = "|".join(map(re.escape, sorted(verbs.union(FINISHED))))
    goes_on = rf"(?=[^\w?]*$|\s*[^\w\s-]|\s+(?:\W?{OBJECT}|{WAY}))"
    return Patterns(
        re.compile(rf"{LEAD}(?:{past})\b{goes_on}", re.I),
        re.compile(rf"{LEAD}(?:(?<=just )(?:{past})\b{goes_on}|(?:{past})\b\W+{THING})", re.I),
        re.compile(
            rf"{LEAD}(?:(?P<alone>{past})"
            rf"|(?:(?:the|your|a|new) )?(?:{NOUN} ){{1,2}}(?P<after>{ended}))[^\w?]*$",
            re.I,
        ),
    )
