"""Clauses of a user's message: which of them ask for something, and which only state a fact.

The rules look at a few words only, as the lists in sense.toml give them. The text is masked: each
phrase of the plan is one character of a private Unicode area.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from provegym.teacher.vocabulary import function_words, lists, order_verbs, stem, straight, words

QUOTED = "\ue000"
FIRST_SLOT = 0xE001
SLOT = re.compile("[\ue000-\uf8ff]")
QUOTATION = re.compile(r'"([^"]*)"|“([^”]*)”|(?<!\w)\'([^\']* [^\']*)\'(?!\w)')
SENTENCES = re.compile(r"(?<=[.!?;\n])\s*")
CLAUSES = re.compile(r"[.!?;:,()\n]+|\s[-\u2013\u2014]+\s|\b(?:and|then|but|so|or|also)\b")
ENDINGS = ("ing", "ed", "ly")


def slot(number: int) -> str:
    """The character that stands for a phrase of the plan in a masked text."""
    return chr(FIRST_SLOT + number)


def masked(text: str, kept: Sequence[str]) -> str:
    """A text in small letters with one character for each kept phrase and each quotation.

    A quotation of nothing but kept phrases stays, so that one can see which phrases it holds.
    """
    text = straight(unicodedata.normalize("NFKC", text))
    phrases = sorted(enumerate(kept), key=lambda pair: len(pair[1]), reverse=True)
    for number, phrase in phrases:
        if phrase:
            whole = rf"(?<!\w){re.escape(phrase)}(?!\w)"
            text = re.sub(whole, slot(number), text, flags=re.IGNORECASE)
    return QUOTATION.sub(_mask_quotation, text).casefold()


def _mask_quotation(quotation: re.Match[str]) -> str:
    return QUOTED if words(SLOT.sub(" ", quotation[0])) else quotation[0]


def sentences(rest: str) -> list[str]:
    """The sentences of a masked text, each with the mark at its end."""
    return [part.strip() for part in SENTENCES.split(rest) if part.strip()]


def clauses(rest: str) -> list[str]:
    """The clauses of a masked text."""
    return [part.strip() for part in CLAUSES.split(rest) if part and part.strip()]


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The regular expressions of a word list as one."""
    return re.compile("|".join(lists()[name]))


def is_request(clause: str) -> bool:
    """Whether a clause asks for something: "please", "I need", "it should", or an imperative."""
    return bool(pattern("requests").search(clause) or imperative(clause))


def imperative(clause: str) -> str:
    """The verb that orders something at the start of a clause; empty if there is none.

    It is a verb of the list, or any word before an object: "water the plants".
    """
    found = [word for word in words(clause) if word not in lists()["connectives"]]
    verb = found[0] if found else ""
    if verb in order_verbs() or verb in lists()["plain_verbs"]:
        return verb
    has_object = len(found) > 1 and found[1] in lists()["objects"]
    is_other = stem(verb) in function_words() or verb in lists()["no_verbs"]
    return verb if has_object and not is_other and not verb.endswith(ENDINGS) else ""


def is_statement(clause: str) -> bool:
    """Whether a clause only says how things are: "it is off", "she agrees"."""
    return not is_request(clause) and bool(pattern("statements").search(clause))
